package broker

import (
	"context"
	"errors"
	"time"

	"assent/internal/hook"
)

// ruleGrace is how long a request that a rule answers is kept from approvers while the answer is
// not recorded: its broker was killed in between, or the record is not available. After that a
// person is asked.
const ruleGrace = 5 * time.Second

// AnswerByRule records a rule's answer to the request that x waits for; Wait then returns it. The
// request was asked with the rule's verdict, and no approver has seen it wait. An error means
// that the rule's answer was not recorded; approvers then see the request, unless it is over.
func (x *Waiting) AnswerByRule(d hook.Decision, by hook.Approver) error {
	recorded, cancel := context.WithCancel(context.Background())
	cancel() // the delivery is the caller's own next step, not to be waited for
	_, err := x.e.b.Decide(recorded, x.id, d, by)
	if err != nil && !errors.Is(err, ErrSettled) {
		b := x.e.b
		b.mu.Lock()
		defer b.mu.Unlock()
		b.publishLocked(x.e)
	}
	return err
}

// awaitRuleLocked keeps a request that a rule answers from approvers for a moment.
func (e *entry) awaitRuleLocked() {
	if e.Verdict.Decides() {
		e.awaitingRule = true
		e.publishAt = time.Now().Add(ruleGrace)
	}
}

// publishLocked shows a request to approvers that a rule was to answer.
func (b *Broker) publishLocked(e *entry) {
	if !e.awaitingRule {
		return
	}
	e.awaitingRule, e.publishAt = false, time.Time{}
	if e.open() {
		b.showLocked(e)
		e.armLocked()
	}
}
