package broker

import (
	"context"
	"errors"
	"fmt"

	"assent/internal/hook"
)

// HandBack records that r was not held, and why (hook.ReasonTooLarge, hook.ReasonPaused, hook.ReasonNobody): its
// hook abstains. It is never shown as pending, by which r must come without its payload (Raw). It records both
// steps, the reason with each, so a request id that is already known with this payload is left as it is.
func (b *Broker) HandBack(ctx context.Context, r hook.Request, reason string) error {
	if err := complete(&r); err != nil {
		return err
	}
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return ErrStopping
	}
	e := b.entries[r.ID]
	if e != nil {
		same := e.PayloadSHA256 == r.PayloadSHA256
		b.mu.Unlock()
		if !same {
			return fmt.Errorf("request %s: %w", r.ID, ErrReused)
		}
		return nil
	}
	e = &entry{b: b, handingBack: true}
	e.Request = r
	b.entries[r.ID] = e
	b.linkLocked(e)
	b.mu.Unlock()

	actx, cancel := context.WithTimeout(b.ctx, askTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	asked := b.askedRecord(&r)
	asked.Reason = reason
	seq, err := b.cfg.Log.Append(actx, asked, 0)
	var f folded
	if errors.Is(err, ErrConflict) {
		f, err = b.read(actx, r.ID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.askedAt = max(seq, f.AskedSeq)
	switch {
	case f.AskedSeq > 0 && f.PayloadSHA256 != r.PayloadSHA256:
		err = fmt.Errorf("request %s: %w", r.ID, ErrReused)
	case e.asked() > 0 && f.State != Ended:
		b.endLocked(e, ending{outcome: hook.HandedBack, reason: reason})
		return nil
	case err != nil:
		err = b.unavailable("record request", r.ID, err)
	}
	e.askedAt = 0
	b.abandonLocked(e)
	return err
}

// HandBackWaiting ends a request that waits: a person leaves it to the agent's own prompt, which its hook
// abstains for. As with a decision the record says who was first, and the errors are those of Decide.
func (b *Broker) HandBackWaiting(id string, h hook.HandBack, by hook.Approver) (View, error) {
	_, f, err := b.settle(hook.Record{
		RequestID: id, Step: hook.StepEnded, Outcome: hook.HandedBack, Reason: hook.ReasonPerson, HandBack: &h, By: &by,
	}, h.InputSHA256)
	return f.View, err
}

// handBackReason is why a request was to be handed back whose end was not recorded: its broker was
// killed before. Records of earlier releases do not say; there, one that is too large has no input either.
func (e *entry) handBackReason() string {
	switch {
	case e.handBack != "":
		return e.handBack
	case len(e.ToolInput) > 0:
		return hook.ReasonPaused
	}
	return hook.ReasonTooLarge
}

// Abandon ends a request that waits because nobody can be told of it any more: its hook abstains, and the
// agent's own prompt decides. input is the request's digest; the errors are those of Decide.
func (b *Broker) Abandon(id, input string) error {
	_, _, err := b.settle(hook.Record{RequestID: id, Step: hook.StepEnded, Outcome: hook.HandedBack, Reason: hook.ReasonNobody}, input)
	return err
}
