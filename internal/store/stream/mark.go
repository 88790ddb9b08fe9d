package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
	"assent/internal/store/integrity"
)

// recordAge is how long a record is kept.
const recordAge = 90 * 24 * time.Hour

// The streams of the record, as its mark numbers them.
const (
	approvals = iota
	states
)

// recordStore says where the record of the embedded engine and its mark are.
func recordStore(dir string) integrity.Store {
	engine := filepath.Join(dir, "nats", "record")
	streams := filepath.Join(engine, "jetstream", "$G", "streams")
	return integrity.Store{State: dir, Engine: engine, Sources: []integrity.Source{
		approvals: {Name: RecordStream, Dir: filepath.Join(streams, RecordStream), MaxAge: recordAge, Settle: settleLost},
		states:    {Name: kvStream, Dir: filepath.Join(streams, kvStream), LastOnly: true},
	}}
}

// openMark compares the record with its mark, before the engine opens it, and returns the directory
// that the engine may open: the record's, or what is left of a damaged one.
func (s *Stream) openMark() (dir string, err error) {
	store := recordStore(s.cfg.Dir)
	found, err := store.Check(s.lock.kept)
	if err != nil {
		return "", err
	}
	if found.Err() != nil && s.cfg.Repair {
		if s.repair, err = repair(found, s.lock); err != nil {
			return "", err
		}
		for _, d := range s.repair.Damages {
			s.logf("repaired: %s", d)
		}
		s.logf("repaired the record: %d keys given up, %d requests ended; the files as they were: %s", len(s.repair.GivenUp), len(s.repair.Ended), strings.Join(s.repair.Copies, ", "))
		if found, err = store.Check(s.lock.kept); err != nil {
			return "", err
		}
	}
	if s.damage = found.Err(); s.damage != nil {
		for _, d := range found.Damages[:min(len(found.Damages), 20)] {
			s.logf("record: %s", d)
		}
		s.logf("record: %v", s.damage)
		view, err := found.View()
		if err != nil {
			return "", fmt.Errorf("%w; and what is left of it cannot be shown: %w", s.damage, err)
		}
		return view, nil
	}
	if found.Adopted {
		s.logf("record: it comes from a release that kept no mark of it; it is taken as it is")
	}
	if s.mark, err = found.Open(); err != nil {
		return "", err
	}
	return store.Engine, s.lock.keep(s.mark.Count())
}

// guardRecord enters messages in the mark before anybody is notified of them.
func (s *Stream) guardRecord() {
	s.record.refuse = s.damage
	if s.mark == nil {
		return
	}
	s.record.entries = s.mark.Count
	s.record.enter = func(ctx context.Context, stream string, m rawMessage) error {
		source := approvals
		switch stream {
		case kvStream:
			source = states
		case AuditStream, textsStream:
			return nil // one has its own signatures, and the state has the digests of the other
		}
		err := s.mark.Ensure(ctx, source, m.seq, m.subject, func() integrity.Hash {
			return integrity.Leaf(m.seq, m.subject, m.header, m.body)
		})
		return s.markFailed(err)
	}
	s.record.prepare = func() error {
		// What the failed server wrote may be in the memory of the kernel only.
		store := recordStore(s.cfg.Dir)
		if err := store.Settle(); err != nil {
			return err
		}
		if err := s.mark.Fix(); err != nil {
			return err
		}
		found, err := store.Check(integrity.Kept{Marks: true, Count: s.mark.Count()})
		if err != nil {
			return err
		}
		return found.Err()
	}
}

// markFailed passes err on, and stops writing if the mark takes no entries any more.
func (s *Stream) markFailed(err error) error {
	if err != nil && s.mark.Failed() != nil {
		s.record.fail(err, true)
	}
	return err
}

// Damage is nil, or says what is wrong with the record: it is shown then, and takes nothing.
func (s *Stream) Damage() error { return s.damage }

// store publishes a message of the record, and returns when the mark has it.
func (e *engine) store(ctx context.Context, stream string, msg *nats.Msg, opts ...jetstream.PublishOpt) (seq uint64, err error) {
	if e.entries != nil {
		msg.Header.Set(integrity.HeaderMark, strconv.FormatUint(e.entries(), 10))
	}
	ack, err := e.js.PublishMsg(ctx, msg, append(opts, jetstream.WithExpectStream(stream))...)
	if err != nil {
		return 0, err
	}
	if e.enter != nil {
		err = e.enter(ctx, stream, rawMessage{seq: ack.Sequence, subject: msg.Subject, header: msg.Header, body: msg.Data})
	}
	return ack.Sequence, err
}

// agingStep is how often followAging looks.
const agingStep = 30 * time.Second

// followAging enters in the mark what the engine removes for its age, before it does so if the clock
// goes as it should.
func (s *Stream) followAging(js jetstream.JetStream) {
	tick := time.NewTicker(agingStep)
	defer tick.Stop()
	first := s.enterAged(s.ctx, js, 0)
	for {
		select {
		case <-tick.C:
			first = s.enterAged(s.ctx, js, first)
		case <-s.ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), readTimeout)
			defer cancel()
			s.enterAged(ctx, js, first)
			return
		}
	}
}

// enterAged returns the first sequence that is there. before is what it returned before, or 0.
func (s *Stream) enterAged(ctx context.Context, js jetstream.JetStream, before uint64) uint64 {
	state, err := s.record.streamState(ctx, js, RecordStream)
	if err != nil || ctx.Err() != nil {
		return before
	}
	horizon := recordStore(s.cfg.Dir).Horizon(recordAge)
	moved := before != 0 && state.FirstSeq > before
	if !moved && (state.Msgs == 0 || state.FirstTime.After(horizon)) {
		return state.FirstSeq
	}
	if err := s.mark.Aged(ctx, approvals, horizon, state.FirstSeq); err != nil {
		_ = s.markFailed(err)
		return before
	}
	return state.FirstSeq
}

// closeMark ends the mark and notes how long it is.
func (s *Stream) closeMark(clean bool) error {
	if s.mark == nil {
		return nil
	}
	err := s.mark.Close(clean)
	if err != nil {
		return err
	}
	return s.lock.keep(s.mark.Count())
}

// cleanEvents leaves out of the streams of events what is no message. They have no mark: a power cut
// takes their end.
func (s *Stream) cleanEvents() error {
	store := integrity.Store{State: s.cfg.Dir, Engine: s.engineDir("events")}
	for _, stream := range [][2]string{{coreAccount, EventsStream}, {readersAccount, HookEvents}} {
		store.Sources = append(store.Sources, integrity.Source{
			Name: stream[1], Dir: filepath.Join(store.Engine, "jetstream", stream[0], "streams", stream[1]),
		})
	}
	found, err := store.Clean()
	for _, d := range found {
		s.logf("events: %s; what stood there is lost", d)
	}
	return err
}

// ErrNoState says that no broker has kept a record in a directory.
var ErrNoState = errors.New("no broker has kept a record in this directory")

// Repair fixes the record in a state directory that no broker uses. Where no broker ever used the
// directory, it returns ErrNoState and makes no file there.
func Repair(dir string) (integrity.Report, error) {
	store := recordStore(dir)
	if err := anyExists(filepath.Join(dir, "lock"), filepath.Join(dir, integrity.FileName), store.Engine); err != nil {
		return integrity.Report{}, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return integrity.Report{}, err
	}
	var rep integrity.Report
	found, err := store.Check(lock.kept)
	if err == nil {
		rep, err = repair(found, lock)
	}
	if releaseErr := lock.release(); err == nil {
		err = releaseErr
	}
	return rep, err
}

// anyExists is nil if at least one of the paths exists, and ErrNoState if none does.
func anyExists(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return ErrNoState
}

func repair(found *integrity.Result, lock *dirLock) (integrity.Report, error) {
	rep, err := found.Repair()
	if err == nil && rep.Count > 0 {
		err = lock.keep(rep.Count)
	}
	return rep, err
}

// ReasonDamaged is why a request ended whose records are lost.
const ReasonDamaged = "its records were damaged"

// settleLost ends requests that seem pending but lost some of their records: they may have been
// decided, and must not be decided twice.
func settleLost(kept []integrity.Message, lost []integrity.Entry, all bool) []integrity.Message {
	hit := map[string]bool{}
	for _, e := range lost {
		hit[e.Subject] = true
	}
	var open []string // subjects, in the order in which they were asked
	waits := map[string]bool{}
	for _, m := range kept {
		rec, err := messageRecord(m.Header, m.Body, m.Seq)
		if err != nil || !all && !hit[m.Subject] {
			continue
		}
		switch rec.Step {
		case hook.StepAsked:
			if !waits[m.Subject] {
				waits[m.Subject] = true
				open = append(open, m.Subject)
			}
		case hook.StepDecided, hook.StepEnded:
			waits[m.Subject] = false
		}
	}
	var ends []integrity.Message
	for _, subject := range open {
		if !waits[subject] {
			continue
		}
		id := strings.TrimPrefix(subject, "approvals.")
		// The same each time: a repair that was cut short is done again.
		text, err := json.Marshal(hook.Record{
			ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("damaged "+id)).String(), RequestID: id,
			Step: hook.StepEnded, Time: time.Now(), Outcome: hook.HandedBack, Reason: ReasonDamaged,
		})
		if err != nil {
			panic(err) // texts and a time always encode
		}
		ends = append(ends, integrity.Message{Subject: subject, Body: text})
	}
	return ends
}
