package intake

import (
	"context"
	"errors"
	"time"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// record makes req durable and lets its hook wait. about, unless nil, is what people are told beside it.
// If the rules decide it, their answer is recorded at once; allowed, unless nil, is what judge returned, and
// looked when that was called: what it found out of what is stopped is no older.
func (in *Intake) record(req *hook.Request, about *hook.Context, allowed func(), looked time.Time) (*Pending, error) {
	if err := in.enter(req.Channel); err != nil {
		if allowed != nil {
			allowed()
		}
		return nil, err
	}
	req.Pack() // nobody else has it yet
	early := in.tell(req, about)
	w, err := in.cfg.Broker.Ask(*req)
	in.told(req, about, w, early)
	in.calls.recorded(req) // a rule's answer takes its time to be recorded
	if err != nil {
		in.leave(req.Channel)
		if allowed != nil {
			allowed()
		}
		return nil, err
	}
	p := &Pending{in: in, req: req, waiting: w, allowed: allowed}
	// One that turned out to be a duplicate waits for the answer to the other one.
	p.answered = w.ID() == req.ID && req.Verdict.Decides() && (allowed == nil || in.stillAllows(looked)) && in.answerByRule(req, w)
	if !p.answered && allowed != nil { // people are asked
		p.allowed = nil
		allowed()
	}
	return p, nil
}

// tell keeps what people are told beside a new request, before anybody can see that, and reports whether
// it did. Of one that the broker holds already, somebody else might say anything under its id: that has to
// wait until the broker has found that it is the hook's own, see told.
func (in *Intake) tell(req *hook.Request, about *hook.Context) bool {
	return about != nil && !in.cfg.Broker.Waits(req.ID) && in.cfg.Contexts.Put(req.ID, *about)
}

// told is for when the broker has taken req, or has not: then w is nil. early is what tell said.
func (in *Intake) told(req *hook.Request, about *hook.Context, w *broker.Waiting, early bool) {
	if about == nil {
		return
	}
	if early && (w == nil || w.ID() != req.ID) {
		in.cfg.Contexts.Drop(req.ID)
	}
	if w == nil {
		return
	}
	late := !(early && w.ID() == req.ID) && in.cfg.Contexts.Put(w.ID(), *about)
	switch {
	case !in.cfg.Broker.Waits(w.ID()): // it came back to an answer
		in.cfg.Contexts.Drop(w.ID())
	case late:
		in.cfg.Broker.Show(w.ID())
	}
}

// wait lets the hook of a duplicate wait for the answer to the other request.
func (in *Intake) wait(req *hook.Request, w *broker.Waiting) (*Pending, error) {
	if err := in.enter(req.Channel); err != nil {
		gone, cancel := context.WithCancel(in.ctx)
		cancel()
		_, _ = w.Wait(gone)
		return nil, err
	}
	return &Pending{in: in, req: req, waiting: w}, nil
}

// enter counts one more hook that waits, unless too many do.
func (in *Intake) enter(channel hook.Channel) error {
	n := notLocal(channel)
	waiting, remote := in.waiting.Add(1), in.remote.Add(n)
	if waiting > int64(in.cfg.MaxWaiting) || n > 0 && remote > int64(in.cfg.MaxRemote) {
		in.leave(channel)
		in.cfg.Log.Warnw("too many hooks wait; one was sent away", "waiting", in.waiting.Load())
		return ErrTooMany
	}
	return nil
}

// leave counts one off.
func (in *Intake) leave(channel hook.Channel) {
	in.waiting.Add(-1)
	in.remote.Add(-notLocal(channel))
}

// notLocal is 1 for a hook that did not come on the unix socket.
func notLocal(channel hook.Channel) int64 {
	if channel == hook.ChannelSocket {
		return 0
	}
	return 1
}

// answerByRule records the verdict as the answer to a request, and reports whether that is over.
func (in *Intake) answerByRule(req *hook.Request, w *broker.Waiting) bool {
	by, outcome := req.Verdict.By(), hook.Allowed
	if req.Verdict.Action == hook.ActionDeny {
		outcome = hook.Denied
	}
	err := w.AnswerByRule(ruleDecision(req.Verdict, req), by)
	if errors.Is(err, broker.ErrSettled) {
		return true // its hook has gone, or it came back to an answer
	}
	if err != nil {
		in.cfg.Log.Warnw("a rule's answer was not recorded; people are asked", "id", req.ID,
			"rule", show.Logged(by.ID), "error", show.Logged(err.Error()))
		return false
	}
	in.cfg.Count.Decided(hook.KindRule)
	in.cfg.Log.Infow("decided", "id", req.ID, "outcome", string(outcome),
		"kind", by.Kind, "by", show.Logged(by.ID), "file", show.Logged(by.File))
	return true
}

// handBack records that a request is not held, and why, without its payload, and where it is too large
// without its input. Its hook gets no decision.
func (in *Intake) handBack(ctx context.Context, req *hook.Request, reason string) *Pending {
	bare := *req
	bare.Raw = nil
	if reason == hook.ReasonTooLarge {
		in.cfg.Count.TooLarge()
		in.cfg.Log.Warnw("a PermissionRequest is too large to be held; the agent's own prompt decides",
			"id", req.ID, "session", show.Logged(req.SessionID), "bytes", len(req.Raw), "limit", hook.MaxRequest)
		bare.ToolInput, bare.Suggestions = nil, nil
	}
	if err := in.cfg.Broker.HandBack(ctx, bare, reason); err != nil {
		in.cfg.Log.Warnw("handing back was not recorded", "id", req.ID, "error", show.Logged(err.Error()))
	}
	return &Pending{in: in, req: &bare, answered: true}
}
