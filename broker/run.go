package broker

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// Broker holds the requests. Use New.
type Broker struct {
	cfg   Config
	epoch string

	ctx     context.Context // of everything the broker does by itself; ends late in Close
	cancel  context.CancelFunc
	stopped chan struct{} // closed when Close begins
	running sync.WaitGroup
	saved   chan struct{}  // closed when the saver has ended; the last checkpoint is Close's
	writing sync.WaitGroup // Decide calls that may be recording; Add under mu while !closing

	deciding      atomic.Int64  // decisions on their way to the log: follow-ups let them go first
	decisions     atomic.Uint64 // decisions that were
	decisionsSeen uint64        // decisions when last looked; owned by recordFollowUps
	followUps     *followUps

	mu        lock
	closing   bool              // guarded by mu, as all below
	ready     bool              // caught up: changes are shown
	entries   map[string]*entry // by request id
	ends      []*entry          // waiting for an ender; each entry stands here at most once
	endsReady sync.Cond         // with mu: ends grew, or closing
	unproven  *list.List        // settled entries that wait for proof, oldest first
	heldBytes int               // of their payloads
	sessions  map[string]*session
	idle      *list.List // sessions without requests, least recently used first
	feed      changes

	clockWarned bool // of a broker with another clock

	tailSeq  uint64              // newest record seen
	eventSeq uint64              // newest event observed
	used     map[uint64]struct{} // events that a record names as proof and that were not observed yet
	unsaved  int                 // steps since the checkpoint was taken
	saveSoon chan struct{}       // wakes the saver early
}

// lock is a mutex that lets the package's tests see the state just before it is released.
type lock struct {
	sync.Mutex
	releasing func() // nil but in tests; guarded by the mutex
}

func (l *lock) Unlock() {
	if l.releasing != nil {
		l.releasing()
	}
	l.Mutex.Unlock()
}

// New starts a broker on cfg.Log and returns when it knows every open request; ctx bounds only
// that. Requests that are open then wait for their hooks to come back: RestartGrace if
// cfg.SingleReplica, even beyond their deadline, which the clock may have jumped over; else until
// ElsewhereExpiry after it.
func New(ctx context.Context, cfg Config) (*Broker, error) {
	if cfg.Log == nil {
		return nil, errors.New("broker: Config.Log is required")
	}
	cfg = cfg.withDefaults()
	b := &Broker{
		cfg:      cfg,
		epoch:    uuid.NewString(),
		stopped:  make(chan struct{}),
		entries:  map[string]*entry{},
		unproven: list.New(),
		sessions: map[string]*session{},
		idle:     list.New(),
		used:     map[uint64]struct{}{},
		saveSoon: make(chan struct{}, 1),
		saved:    make(chan struct{}),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.endsReady.L = &b.mu
	b.followUps = newFollowUps()

	point, err := cfg.Log.Checkpoint(ctx)
	if err != nil {
		b.cancel()
		return nil, fmt.Errorf("broker: read the checkpoint: %w", err)
	}
	if err := b.load(ctx, point); err != nil {
		b.cancel()
		return nil, err
	}
	caughtUp := make(chan struct{})
	b.running.Go(func() { b.tail(point.Seq, sync.OnceFunc(func() { close(caughtUp) })) })
	select {
	case <-caughtUp:
	case <-ctx.Done():
		b.cancel()
		b.running.Wait()
		return nil, fmt.Errorf("broker: read the record from %d: %w", point.Seq, ctx.Err())
	}
	b.begin(point)
	for range enders {
		b.running.Go(b.runEnder)
	}
	if b.shares() {
		b.running.Go(b.watchReplicas)
	}
	b.running.Go(b.recordFollowUps)
	b.running.Go(b.runSaver)
	return b, nil
}

// begin turns what was read into the state of a broker that has just started.
func (b *Broker) begin(point Checkpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetProvenLocked(point)
	back := time.Now().Add(b.cfg.RestartGrace)
	for _, e := range b.entries {
		if !e.open() {
			continue
		}
		if e.handingBack {
			b.endLocked(e, ending{outcome: hook.HandedBack, reason: e.handBackReason()})
			continue
		}
		if e.awaitingRule {
			e.publishAt = time.Now().Add(ruleGrace)
		}
		if b.cfg.SingleReplica {
			e.Detached, e.resumed = true, true
			e.due, e.span = e.Deadline, e.Deadline.Sub(e.CreatedAt)
			e.lapsed = e.comesBack() && !time.Now().Before(e.Deadline)
			if e.withdrawAt = back; !e.comesBack() {
				e.withdrawAt = time.Time{}
				b.endLocked(e, ending{outcome: hook.Withdrawn, reason: hook.ReasonDetached})
			}
		} else {
			e.HeldElsewhere = true
		}
		e.armLocked()
	}
	b.ready = true
}

// Close lets every waiting hook and watcher go with ErrStopping and records no end for them,
// even if their connections close now: they come back to the next broker. Decisions that are
// being recorded are waited for, briefly. The server should call Close before it closes
// connections. Close may be called again; it then does nothing.
func (b *Broker) Close() error {
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return nil
	}
	b.closing = true
	close(b.stopped)
	for _, e := range b.entries {
		e.disarmLocked()
		for _, w := range e.waiters {
			w.wakeLocked()
		}
	}
	b.ends = nil
	b.endsReady.Broadcast()
	b.mu.Unlock()

	limit := time.AfterFunc(closeTimeout, b.cancel)
	b.writing.Wait()
	b.followUps.finish()
	<-b.followUps.drained
	<-b.saved
	limit.Stop()

	err := b.save(context.Background())
	b.cancel()
	b.running.Wait()
	return err
}

// tail follows the record until the broker is closed.
func (b *Broker) tail(from uint64, caughtUp func()) {
	for n := 1; ; n++ {
		err := b.cfg.Log.Tail(b.ctx, from, b.apply, caughtUp)
		if b.ctx.Err() != nil {
			return
		}
		b.cfg.Logf("reading the record stopped: %v; trying again", err)
		if !b.pause(retryPause(n)) {
			return
		}
		b.mu.Lock()
		from = max(from, b.tailSeq)
		b.mu.Unlock()
	}
}

// pause reports whether d passed before the broker began to close.
func (b *Broker) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-b.stopped:
		return false
	case <-b.ctx.Done():
		return false
	}
}

// apply folds a record into its request, wakes who waits for it, and shows the change. The tail
// calls it, and before there is one load: nobody else folds records into what is in memory.
func (b *Broker) apply(rec hook.Record) {
	key := b.updatedKey(rec) // outside the lock: the input may be large
	b.mu.Lock()
	defer b.mu.Unlock()
	b.applyLocked(rec, key)
}

func (b *Broker) applyLocked(rec hook.Record, updatedKey string) {
	b.tailSeq = rec.Seq // lower than before where the log lost its end
	b.unsavedLocked()
	b.noteUsedLocked(rec)
	e := b.entries[rec.RequestID]
	if rec.Step == hook.StepAsked {
		if rec.Request == nil {
			return
		}
		if e == nil {
			e = &entry{b: b}
			b.entries[rec.RequestID] = e
		}
		b.admitLocked(e, rec)
		return
	}
	if e == nil || !e.folded.fold(rec) {
		return
	}
	switch rec.Step {
	case hook.StepDecided, hook.StepEnded:
		e.updatedKey = updatedKey
		b.settledLocked(e)
	default:
		if e.State == Ended && !e.unproven() { // of a request whose decision was lost there may be more to come
			b.forgetLocked(e)
		}
	}
	b.recordedLocked(rec.Step, e)
	if rec.Step == hook.StepOverruled && b.ready {
		what := "it was denied here, and its tool ran all the same (terminal)"
		if e.Outcome == hook.Allowed {
			what = "it was allowed as edited, and its tool ran as it was asked for"
		}
		b.cfg.Logf("request %s: OVERRULED: %s", e.ID, what)
	}
	e.movedLocked()
	b.showLocked(e)
	b.dropLocked(e)
}

// admitLocked adds a request whose asked record the tail has read.
func (b *Broker) admitLocked(e *entry, rec hook.Record) {
	local := e.Request
	waiting := e.AskedSeq == 0 && local.ID != "" // registered by our own Ask or HandBack
	if !e.folded.fold(rec) {
		return
	}
	ours := waiting && local.PayloadSHA256 == e.PayloadSHA256
	if ours {
		// The server holds the same bytes; keep one copy. Never those of another
		// payload: what approvers see must be what was recorded.
		e.Raw, e.ToolInput, e.Suggestions = local.Raw, local.ToolInput, local.Suggestions
		e.NoDedup = local.NoDedup // not recorded
		e.ShareTexts(&local)
	} else {
		e.Pack()
	}
	if ours {
		// By our own clock, from the hook's own words.
		e.CreatedAt, e.Deadline, e.mayWaitUntil = local.CreatedAt, local.Deadline, time.Time{}
	} else if !e.mayWaitUntil.IsZero() {
		e.othersLocked()
		b.warnOfClockLocked(e)
	}
	e.shortenLocked()
	if e.announced { // its hook came here before the record did
		e.heldBy = b.self()
	}
	if !waiting {
		e.NoDedup = e.ToolUseID == "" // NoDedup itself is not recorded
		e.awaitRuleLocked()
	}
	b.linkLocked(e)
	e.sess.pending++
	// Handed back; if its end is missing, a broker was killed before it. What we wanted to hand back
	// ourselves under this id says nothing about another request.
	e.handingBack = len(e.Raw) == 0
	switch {
	case !b.ready || len(e.waiters) > 0:
	case e.handingBack && !waiting:
		b.endLocked(e, ending{outcome: hook.HandedBack, reason: e.handBackReason()})
	case !e.handingBack:
		// Another replica's, or one whose hook left before the record came.
		switch {
		case b.cfg.SingleReplica || ours:
			b.leftLocked(e, e.Channel)
		case b.shares() && rec.Broker == b.self() && e.comesBack():
			b.awayLocked(e) // its hook was told that nobody knows, and to come again
		default:
			e.HeldElsewhere = true
		}
	}
	if b.ready {
		e.armLocked()
	}
	b.queueEndLocked(e)
	b.recordedLocked(rec.Step, e)
	b.showLocked(e)
}

// warnOfClockLocked tells the operator, once, of a broker whose clock is wrong.
func (b *Broker) warnOfClockLocked(e *entry) {
	if !clockWrong(e.clockApart) || !b.ready || b.clockWarned {
		return
	}
	b.clockWarned = true
	b.cfg.Logf("request %s: the broker that recorded it has a clock %v from ours; deadlines are counted from when the record took it, but set the clocks",
		e.ID, e.clockApart.Round(time.Second))
}

// recordedLocked reports a step to Config.Recorded, unless it is one of an earlier run.
func (b *Broker) recordedLocked(step hook.Step, e *entry) {
	if b.cfg.Recorded != nil && b.ready {
		b.cfg.Recorded(step, &e.View)
	}
}

// settledLocked ends the wait of a request that has just been settled by a record.
func (b *Broker) settledLocked(e *entry) {
	e.disarmLocked()
	e.end, e.Detached = nil, false
	b.unannounceLocked(e)
	e.withdrawAt, e.answerUnrecordedAt, e.retryAt, e.publishAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	e.answered += len(e.waiters)
	if e.answeredUnrecorded && e.Decision != nil {
		b.cfg.Logf("request %s: %s was recorded after its hook had to be answered without a record", e.ID, e.Outcome)
	}
	e.answerLocked(e.answer())
	if e.sess != nil {
		e.sess.pending--
	}
	switch {
	case !e.unproven():
		b.forgetLocked(e)
	case e.usedBy > 0: // the tool ran, as it was asked for, before the record came: now we know what that proves
		e.ranAsAsked = e.edited()
		b.provenLocked(e, e.usedBy)
	case e.turnOver > 0: // nothing more can come
		b.forgetLocked(e)
	default:
		b.awaitProofLocked(e)
	}
}

// dropLocked lets a forgotten entry leave memory once the last follow-up about it has come back.
func (b *Broker) dropLocked(e *entry) {
	if e.sess == nil && !e.open() && e.followUpsDue == 0 && e.LastSeq >= e.followUpSeq && b.entries[e.ID] == e {
		delete(b.entries, e.ID)
	}
}
