package audit

import (
	"errors"
	"fmt"
	"time"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/store/tree"
)

// content looks at what a leaf is about.
func (v *verifier) content(l *line) {
	leaf := &l.leaf
	if leaf.Kind != tree.KindRecord {
		if l.entry != entryMissing {
			v.findIn(l.n, leaf, "something stands beside a leaf that is about no entry", doCompare)
		}
		return
	}
	v.clock(l)
	switch {
	case l.entry == entryMissing && v.proofs:
		v.findIn(l.n, leaf, "what the leaf is about is missing", doAgain)
		return
	case l.entry == entryMissing:
		v.missing[leaf.Seq] = gone{v.line, l.n, leaf.Request, v.time}
	case l.entry == entryOther:
		v.findIn(l.n, leaf, "the entry is not the one that was recorded: it was changed", doCompare)
		return
	default:
		v.rep.Entries++
	}
	v.step(l)
}

// step follows a request.
func (v *verifier) step(l *line) {
	leaf, rec := &l.leaf, &l.rec
	asked, waits := v.open[leaf.Request]
	here := place{v.line, l.n, leaf.Seq}
	switch leaf.Step {
	case hook.StepAsked:
		if waits { // else an old decision would fit it, or that of another input; of those that do not wait any more see twice
			v.findIn(l.n, leaf, askedBefore, doCompare)
		}
		w := waiting{place: here, time: leaf.Time}
		if rec.Request != nil {
			w.input = rec.Request.InputSHA256
		}
		v.open[leaf.Request] = w
		return
	case hook.StepDecided, hook.StepEnded:
		delete(v.open, leaf.Request)
		said := !waits && v.start == 1 && !v.proofs
		if said {
			v.findIn(l.n, leaf, didNotWait, doApprover)
		}
		v.keep(settlement{leaf.Request, asked.place, here, said})
	case hook.StepRevoked:
		v.keyRevoked(l)
		return
	default:
		if state, ok := leaf.Step.Message(); ok {
			v.message(l, state)
		}
		return
	}
	if rec.RequestID == "" {
		return // it is not there, or cannot be read
	}
	v.sound(l)
	digest := ""
	switch {
	case rec.Decision != nil:
		digest = rec.Decision.InputSHA256
	case rec.HandBack != nil:
		digest = rec.HandBack.InputSHA256
	default:
		return
	}
	v.rep.Decisions++
	if asked.input != "" && digest != asked.input {
		v.findIn(l.n, leaf, "the decision is about another input than the request's", doApprover)
	}
	v.signature(l)
	v.signedThen(l, asked.time)
}

// What is wrong with a request that comes twice.
const (
	askedBefore = "a request of this id was asked before"
	didNotWait  = "it settles a request that did not wait"
)

func (v *verifier) keep(s settlement) {
	if v.kept == nil { // else it cannot be said any more that nothing is wrong
		v.kept = v.once.add(s)
	}
}

// twice finds the requests that were settled, and asked or settled again, and messages that were sent again.
func (v *verifier) twice() error {
	for id, w := range v.open {
		v.keep(settlement{ID: id, Asked: w.place})
	}
	for id, sent := range v.messages {
		v.keep(settlement{ID: id, Asked: sent})
	}
	if v.kept != nil {
		return errors.Join(v.kept, v.once.close())
	}
	return v.once.again(func(s *settlement) {
		at, what, do := s.Asked, askedBefore, doCompare
		if s.Asked.Line == 0 {
			at, what, do = s.Settled, didNotWait, doApprover
		}
		if _, ok := hook.MessageOfRecord(s.ID); ok {
			what = sentBefore
		}
		if !s.Said {
			v.find(Finding{Line: at.Line, Leaf: &at.Leaf, Seq: at.Seq, Request: s.ID, What: what, Do: do})
		}
	})
}

// sound looks whether what settles a request says one thing in all its parts: the signature covers the decision, and what is
// told of it is the outcome.
func (v *verifier) sound(l *line) {
	rec := &l.rec
	if !rec.Sound() {
		v.findIn(l.n, &l.leaf, "it has another outcome than its decision, or none: no broker writes that", doCompare)
	}
	if rec.Decision == nil && rec.HandBack == nil {
		return
	}
	switch {
	case rec.By == nil:
		v.findIn(l.n, &l.leaf, "nobody is named who decided", doCompare)
	case rec.By.Kind != hook.KindDevice && rec.By.Kind != hook.KindToken && carriesSignature(rec.Decision, rec.HandBack):
		v.findIn(l.n, &l.leaf, "a signature stands beside a decision of somebody who signs nothing", doApprover)
	}
}

// verifyRecord verifies the signature of a record as it is stored.
func verifyRecord(rec *hook.Record) Signature {
	step := api.Record{Record: *rec}
	if d := rec.Decision; d != nil && len(d.UpdatedInput)+len(d.UpdatedPermissions) > 0 {
		step.Signed = &api.Signed{UpdatedInput: string(d.UpdatedInput), UpdatedPermissions: string(d.UpdatedPermissions)}
	}
	return Verify(&step)
}

func (v *verifier) signature(l *line) {
	rec := &l.rec
	if rec.By == nil {
		return
	}
	switch l.signed {
	case NoKey: // whoever decided in a tree had to sign
		v.findIn(l.n, &l.leaf, "a device is said to have decided, and nothing is signed", doApprover)
		return
	case Unsigned:
		if rec.By.Kind != hook.KindToken {
			return
		}
	case Bad, Unverified:
		what := "the signature of " + signer(rec) + " does not fit the decision"
		if rec.Decision != nil && rec.Decision.Rules != nil {
			what = "the signature of the rules that decided does not fit"
		}
		v.findIn(l.n, &l.leaf, what, doApprover)
		return
	case Rules:
		v.signedRules(l, rec.Decision.Rules)
		return
	case RulesOver: // as good as none
		v.rep.RulesOver++
		return
	case Good, Confirmed:
		v.rep.Signed++
	}
	key := ""
	if rec.Decision != nil && rec.Decision.PublicKey != nil {
		key = auth.Thumbprint(*rec.Decision.PublicKey)
	} else if rec.HandBack != nil && rec.HandBack.PublicKey != nil {
		key = auth.Thumbprint(*rec.HandBack.PublicKey)
	}
	v.signedWith(l, key)
}

// signedWith looks whether the key that signed a record, "" for none, is the one that whom it names has, and was not revoked.
func (v *verifier) signedWith(l *line, key string) {
	rec := &l.rec
	v.revoked(l, key)
	who := rec.By.Kind + " " + rec.By.ID // a token is bound to its key for good, as a device is
	before, ok := v.keys[who]
	switch {
	case !ok:
		v.keys[who] = key
	case before != key && key == "":
		v.findIn(l.n, &l.leaf, signer(rec)+" signs nothing here, and did before", doApprover)
	case before != key:
		v.findIn(l.n, &l.leaf, signer(rec)+" signs with another key than before", doApprover)
	}
}

// keyRevoked takes the entry of a key. What its leaf says suffices: the entry itself grows too old for the record.
func (v *verifier) keyRevoked(l *line) {
	leaf, rec := &l.leaf, &l.rec
	key, ok := hook.KeyOfEntry(leaf.Request)
	if !ok {
		v.findIn(l.n, leaf, "a request is said to be revoked, as only a key can be: no broker writes that", doCompare)
		return
	}
	told := RevokedKey{Key: key, Time: leaf.Time.UTC(), Seq: leaf.Seq}
	_, again := v.over[key]
	if !again {
		v.over[key] = leaf.Seq // from the first on
	}
	if rec.RequestID != "" {
		if rec.Revoked == nil || rec.By == nil || auth.Thumbprint(rec.Revoked.PublicKey) != key {
			v.findIn(l.n, leaf, "it does not say whose key was revoked, or by whom: no broker writes that", doCompare)
			return
		}
		told.By, told.Device = rec.By.Who(), rec.Revoked.DeviceName
	}
	if !again {
		v.rep.RevokedKeys = append(v.rep.RevokedKeys, told)
	}
}

// revoked looks whether the key that signed had been revoked by then: by the record, in which its entry comes first, or by the word
// of who verifies. Of the latter both times count: a thief sets the device's clock, and who has the broker's key that of the record.
func (v *verifier) revoked(l *line, key string) {
	if seq, ok := v.over[key]; ok {
		v.findIn(l.n, &l.leaf, fmt.Sprintf("the key that signed it, device:%s, was revoked before, by entry %d", key, seq), doRevoked)
		return
	}
	since, ok := v.Revoked[key]
	if !ok {
		return
	}
	later := l.leaf.Time.IsZero() || !l.leaf.Time.Before(since)
	if d := l.rec.Decision; d != nil && d.SignedAt != "" && !later {
		at, err := time.Parse(time.RFC3339, d.SignedAt)
		later = err != nil || !at.Before(since)
	}
	if later {
		v.findIn(l.n, &l.leaf, "the key that signed it, device:"+key+", was revoked by then", doRevoked)
	}
}

// signer is who signed a record, in words.
func signer(rec *hook.Record) string {
	if rec.By.Kind == hook.KindToken {
		return "the token"
	}
	return "the device"
}
