package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/klauspost/compress/s2"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// writer folds steps and stores the rows they make. Between begin and commit its memory is
// ahead of the file; after an error it is of no use any more. It belongs to the goroutine of
// Run.
type writer struct {
	d          *db
	cfg        Config
	bad        map[step]bool // not to be folded
	cursor     cursor
	states     states
	gaps       []gap
	loggedFull bool
	begun      bool               // a transaction
	sessions   map[int64]*session // changed since begin
	bytes      int                // stored since begin
	texts      []idText           // of feed events since begin, to be indexed
	news       []News
	requests   requests
	do         statements
}

// idText is the text of a feed event.
type idText struct {
	id   int64
	text string
}

// unfitError says that the fold failed on a step.
type unfitError struct {
	step  step
	panic any
	stack []byte
}

func (e *unfitError) Error() string {
	return fmt.Sprintf("%s cannot be folded: %v\n%s", e.step, e.panic, e.stack)
}

func newWriter(d *db, cfg Config) (*writer, error) {
	w := &writer{d: d, cfg: cfg, sessions: map[int64]*session{}}
	w.states.init()
	w.requests.init()
	if err := w.do.prepare(d.conn); err != nil {
		return nil, fmt.Errorf("open %s: %w", d.path, err)
	}
	if err := w.loadCursor(); err != nil {
		return nil, fmt.Errorf("open %s: %w", d.path, err)
	}
	return w, w.readGaps()
}

// shrinkMemory gives back the memory that only work needs.
func (w *writer) shrinkMemory() error {
	w.states.init()
	w.requests.init()
	w.texts, w.news = nil, nil
	clear(w.sessions)
	return w.wrap(w.d.exec("PRAGMA shrink_memory"))
}

func (w *writer) close() { w.do.close() }

func (w *writer) begin() error {
	clear(w.sessions)
	w.requests.begin()
	w.bytes, w.texts, w.news, w.begun = 0, w.texts[:0], nil, true
	return w.wrap(w.d.exec("BEGIN IMMEDIATE"))
}

func (w *writer) end() error {
	if err := w.d.exec("COMMIT"); err != nil {
		return w.wrap(err)
	}
	w.begun = false
	return nil
}

// commit stores the states and the cursor, and returns what is new to watchers.
func (w *writer) commit() ([]News, error) {
	for _, s := range w.sessions {
		if err := w.saveSession(s); err != nil {
			return nil, err
		}
	}
	if err := w.saveRequests(); err != nil {
		return nil, err
	}
	if err := w.saveCursor(); err != nil {
		return nil, err
	}
	// All of them together, and last: some statements make FTS5 write out what it has, which is
	// far slower in small pieces.
	for _, x := range w.texts {
		if err := w.run(w.do.text, x.id, x.text); err != nil {
			return nil, err
		}
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	w.states.shrink()
	return w.news, nil
}

func (w *writer) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("write %s: %w", w.d.path, err)
	}
	return nil
}

func (w *writer) run(s *sql.Stmt, args ...any) error {
	_, err := s.ExecContext(context.Background(), args...)
	return w.wrap(err)
}

// event folds an event.
func (w *writer) event(e hook.Event) error {
	if e.Seq > w.cursor.event+1 && w.cursor.event > 0 {
		if err := w.noteGap(e.Seq); err != nil {
			return err
		}
	}
	if e.Seq <= w.cursor.event {
		w.cfg.Logf("history: the event stream goes on with %d after %d: it lost its end", e.Seq, w.cursor.event)
	}
	w.cursor.event = e.Seq
	w.cursor.clock = max(w.cursor.clock, e.Stored.UnixMilli())
	at := step{event: e.Seq}
	if w.bad[at] {
		return nil
	}
	var p hook.Payload
	var d hook.Detail
	if err := fold(at, func() { p, d = w.cfg.Decode(e.Agent, e.Type, e.Raw) }); err != nil {
		return err
	}
	s, err := w.session(feed.SessionID(p))
	if err != nil {
		return err
	}
	if err := w.run(w.do.event, e.Seq, s.key); err != nil {
		return err
	}
	var evs []feed.Event
	if err := fold(at, func() {
		if n := w.lostBetween(s.event, e.Seq); n > 0 {
			evs = s.fold.Lost(n)
		}
		evs = append(evs, s.fold.Event(e, p, d)...)
	}); err != nil {
		return err
	}
	s.event = e.Seq
	w.touch(s)
	for i := range evs {
		text := searchText(&evs[i], nil, nil)
		if len(evs[i].Raw) > 0 {
			text = searchText(&evs[i], &p, &d)
		}
		if err := w.add(s, &evs[i], text, prompterOf(&e)); err != nil {
			return err
		}
	}
	return nil
}

// record folds a record that stands behind event after.
func (w *writer) record(r hook.Record, after uint64) error {
	w.cursor.record, w.cursor.after = r.Seq, after
	at := step{record: r.Seq}
	if r.ID == "" || r.Step == hook.StepRevoked || r.Step == hook.StepShown || w.bad[at] { // a key is no session's, and who looked changes nothing in it
		return nil
	}
	if state, ok := r.Step.Message(); ok {
		return w.message(&r, state)
	}
	s, err := w.requestSession(&r)
	if err != nil {
		return err
	}
	if s == nil { // a session of an older fold
		return nil
	}
	var evs []feed.Event
	if err := fold(at, func() { evs = s.fold.Record(r) }); err != nil {
		return err
	}
	w.touch(s)
	for i := range evs {
		if err := w.add(s, &evs[i], searchText(&evs[i], nil, nil), ""); err != nil {
			return err
		}
		if d, ok := evs[i].Data.(*feed.PermissionDecisionData); ok {
			if err := w.allowed(r.RequestID, d, evs[i].Body); err != nil {
				return err
			}
		}
	}
	return nil
}

// message notes which session a message was sent to and when, for Forget and Sent. What the session's feed says of it came with its events.
func (w *writer) message(r *hook.Record, state hook.MessageState) error {
	if _, ok := hook.MessageOfRecord(r.RequestID); !ok || state != hook.MessageSent || r.Message == nil || r.Message.Sent == nil {
		return nil
	}
	return w.run(w.do.message, r.RequestID, r.Message.Sent.SessionID, w.cursor.clock, r.Time.UnixMilli())
}

// reasonContained is the reason of a decision that let a command run contained. Others have none.
const reasonContained = "contained"

// allowed keeps what was allowed of a request where it is not what was asked for; changes are the lines
// that say how it differs.
func (w *writer) allowed(id string, d *feed.PermissionDecisionData, changes string) error {
	if !d.Edited && len(d.Answers) == 0 {
		return nil
	}
	var given []string
	for _, a := range d.Answers {
		given = append(given, show.Join(a))
	}
	answers := clipped(strings.Join(given, " · "), 2*maxSummary)
	summary := show.Short(settledArg(d.Tool, d.Summary), maxSummary)
	text, changes := findable(d.Summary, answers), firstLines(changes, maxChanges)
	if row := w.requests.rows[id]; row != nil {
		row.allow(d.Edited, answers, summary, text, changes)
		return nil
	}
	return w.run(w.do.allowed, d.Edited, answers, summary, text, changes, id)
}

// touch notes that a step of a session was folded.
func (w *writer) touch(s *session) {
	s.at = w.cursor.clock
	w.sessions[s.key] = s
}

// fold runs f, which reads what an agent sent, and makes an *unfitError of a panic in it: nothing that an
// agent sent may end the broker, and that again after every restart.
func fold(at step, f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &unfitError{at, p, debug.Stack()}
		}
	}()
	f()
	return nil
}

// requestSession stores what a record says about its request, and returns the session it is of;
// nil if that was folded by another version and is not folded again.
func (w *writer) requestSession(r *hook.Record) (*session, error) {
	if r.Request != nil {
		if old, err := w.sessionOf(r.RequestID); err != nil || old != nil && old.fold == nil {
			return nil, err
		}
		s, err := w.session(feed.SessionID(hook.Payload{SessionID: r.Request.SessionID}))
		if err != nil {
			return nil, err
		}
		summary, text := "", ""
		if err := fold(step{record: r.Seq}, func() { summary, text = summaryOf(w.cfg.Detail, r.Request) }); err != nil {
			return nil, err
		}
		w.bytes += len(inputOf(r.Request)) + len(text) // they are in memory until commit
		w.requests.ask(r.RequestID, &requestRow{
			session: s.key, event: r.Request.EventSeq, tool: r.Request.ToolName, asked: r.Time.UnixMilli(), at: w.cursor.clock, repo: where(r.Request),
			summary: summary, text: text, unattended: r.Request.Attended == hook.AttendedNo, input: append([]byte{}, inputOf(r.Request)...),
		})
		return s, nil
	}
	var by hook.Approver
	if r.By != nil {
		by = *r.By
	}
	message := ""
	if r.Decision != nil {
		message = r.Decision.Message
	} else if r.Failure != "" {
		message = r.Failure
	}
	reason := r.Reason
	if r.Decision != nil && r.Decision.Contain != "" {
		reason = reasonContained
	}
	if err := w.run(w.do.decision, r.RequestID, r.Seq, r.Step, r.Time.UnixMilli(), by.Kind, by.Who(), r.Outcome, reason, message); err != nil {
		return nil, err
	}
	if r.Step == hook.StepDecided || r.Step == hook.StepEnded {
		if err := w.settle(r, by); err != nil {
			return nil, err
		}
	}
	s, err := w.sessionOf(r.RequestID)
	switch {
	case err != nil:
		return nil, err
	case s == nil: // what was asked is not in the streams any more
		return w.session(feed.NoSession)
	case s.fold == nil:
		return nil, nil
	}
	return s, nil
}

// prompterOf is who handed a prompt in, if the agent's own hook did, when it was made; else nothing.
func prompterOf(e *hook.Event) string {
	if e.Type != hook.EventUserPromptSubmit || e.Spooled || e.Emitted || e.Source != "" {
		return ""
	}
	return e.Submitter
}

// add stores one event of a session's feed. submitter goes with its payload.
func (w *writer) add(s *session, ev *feed.Event, text, submitter string) error {
	raw := ev.Raw
	ev.Raw = nil
	body, err := json.Marshal(ev)
	if err != nil {
		return fmt.Errorf("encode feed event %s: %w", ev.EventID, err)
	}
	s.pos = ev.Pos
	packed := pack(body)
	res, err := w.do.feed.ExecContext(context.Background(), s.key, ev.Pos, w.cursor.event, w.cursor.clock, text, packed)
	if err != nil {
		return w.wrap(err)
	}
	id, err := res.LastInsertId()
	if err != nil {
		return w.wrap(err)
	}
	if text != "" {
		w.texts = append(w.texts, idText{id, text})
	}
	if len(raw) > 0 && len(raw) <= maxRaw {
		raw = pack(raw)
		w.bytes += len(raw)
		if err := w.run(w.do.raw, id, raw, submitter); err != nil {
			return err
		}
	}
	w.bytes += len(packed) + 2*len(text) + 256
	w.news = append(w.news, News{Session: s.id, Event: Event{ID: uint64(id), Pos: ev.Pos, JSON: body}})
	return nil
}

// maxRaw is the largest payload that is kept. The stream has larger ones, for a while.
const maxRaw = hook.MaxRequest

// packFrom is the size in bytes from which it is worth compressing.
const packFrom = 512

// pack compresses b. The first byte of what it returns says how.
func pack(b []byte) []byte {
	if len(b) >= packFrom {
		out := make([]byte, 1+s2.MaxEncodedLen(len(b)))
		out[0] = packedS2
		if n := len(s2.Encode(out[1:], b)); n < len(b) {
			return out[:1+n]
		}
	}
	return append([]byte{packedPlain}, b...)
}

const (
	packedPlain = 0
	packedS2    = 1
)

var errPacked = errors.New("packed bytes are damaged")

func unpack(b []byte) ([]byte, error) {
	switch {
	case len(b) > 0 && b[0] == packedPlain:
		return b[1:], nil
	case len(b) > 0 && b[0] == packedS2:
		out, err := s2.Decode(nil, b[1:])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errPacked, err)
		}
		return out, nil
	}
	return nil, errPacked
}
