package audit

import (
	"fmt"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
)

// longestMessage is how long a message may wait to be handed over: a broker takes none whose time is further ahead.
const longestMessage = 24 * time.Hour

const doSender = "ask who holds the device whether the message is theirs, and look at it with assent trace"

// sentBefore is wrong with a message that comes twice: an old one would reach the agent once more.
const sentBefore = "a message of this id was sent before"

// message follows a message to an agent.
func (v *verifier) message(l *line, state hook.MessageState) {
	leaf, rec := &l.leaf, &l.rec
	if _, ok := hook.MessageOfRecord(leaf.Request); !ok {
		v.findIn(l.n, leaf, "a request is said to be sent to an agent, or taken by one, as only a message can be: no broker writes that", doCompare)
		return
	}
	sent, open := v.messages[leaf.Request]
	here := place{v.line, l.n, leaf.Seq}
	switch {
	case state == hook.MessageSent && open:
		v.findIn(l.n, leaf, sentBefore, doCompare)
	case state == hook.MessageSent:
		v.messages[leaf.Request] = here
	case !open && v.start != 0 && !v.proofs:
		v.findIn(l.n, leaf, "the record does not have in front of it that this message was sent, or has that it was over", doSender)
	}
	if open && (state == hook.MessageEnded || state == hook.MessageRefused || state == hook.MessageExpired) { // what is lost may still come
		delete(v.messages, leaf.Request)
		v.keep(settlement{leaf.Request, sent, here, false})
	}
	if rec.RequestID == "" {
		return // it is not there, or cannot be read
	}
	switch m := rec.Message; {
	case m == nil, (state == hook.MessageSent) != (m.Sent != nil), m.Sent != nil && rec.By == nil:
		v.findIn(l.n, leaf, "it does not say what was sent, or by whom, or says it in the wrong place: no broker writes that", doCompare)
	case m.Sent != nil:
		v.rep.Messages++
		v.messageSigned(l)
		v.messageTime(l, m.Sent)
	}
}

// messageSigned looks at who signed what was sent.
func (v *verifier) messageSigned(l *line) {
	rec := &l.rec
	switch l.signed {
	case NoKey:
		v.findIn(l.n, &l.leaf, "a device is said to have sent it, and nothing is signed", doSender)
		return
	case Unsigned:
		if rec.By.Kind != hook.KindToken {
			return
		}
	case Bad, Unverified:
		v.findIn(l.n, &l.leaf, "the signature of "+signer(rec)+" does not fit the message", doSender)
		return
	default:
		v.rep.MessagesSigned++
	}
	key := ""
	if k := rec.Message.Sent.PublicKey; k != nil {
		key = auth.Thumbprint(*k)
	}
	v.signedWith(l, key)
}

// messageTime looks whether a message was sent while it could be. Its sender signed until when that is: an old message that is put
// in once more was sent later, and one that is dated back too early.
func (v *verifier) messageTime(l *line, s *hook.SentMessage) {
	at := l.leaf.Time
	until, err := time.Parse(time.RFC3339, s.ExpiresAt)
	switch {
	case err != nil:
		v.findIn(l.n, &l.leaf, "it does not say until when it may be handed over: no broker takes that", doSender)
	case at.IsZero():
	case at.After(until.Add(v.Skew)):
		v.findIn(l.n, &l.leaf, fmt.Sprintf("it was sent %s after its time was over, which its sender said to be %s", at.Sub(until).Round(time.Second), stamp(until.UTC())), doClock)
	case until.After(at.Add(longestMessage + v.Skew)):
		v.findIn(l.n, &l.leaf, fmt.Sprintf("it was sent more than a day before its time is over, %s: no broker takes that", stamp(until.UTC())), doClock)
	}
}

// verifySent verifies the signature of a message as it was sent.
func verifySent(requestID string, by *hook.Approver, s *hook.SentMessage) Signature {
	id, ok := hook.MessageOfRecord(requestID)
	device := by != nil && by.Kind == hook.KindDevice
	switch {
	case s.Signature == "" && s.PublicKey == nil && s.Verification == nil && device:
		return NoKey
	case s.Signature == "" && s.PublicKey == nil && s.Verification == nil:
		return Unsigned
	case !ok || !device && (by == nil || by.Kind != hook.KindToken) || !auth.VerifySent(id, *s):
		return Bad // also beside somebody who signs nothing
	case s.Verification == nil:
		return Good
	case !auth.VerifiedSent(id, *s):
		return Unverified
	}
	return Confirmed
}
