package audit

import (
	"time"

	"assent/internal/api"
	"assent/internal/hook"
)

// MessageRowOf is the row of a message by its entries in the record; false where they do not say what was sent. Request is what the
// record calls the message, Asked when it was sent, Delivered when it was handed over, Settled when it was over, and who decided is who sent
// it. What is about a tool is empty.
func MessageRowOf(id string, records []api.Record) (Row, bool) {
	r := Row{Kind: MessageRow, Request: id}
	for i := range records {
		rec := &records[i]
		state, ok := rec.Step.Message()
		if !ok || rec.Message == nil {
			continue
		}
		s := rec.Message.Sent
		switch {
		case s == nil && r.Message == nil:
			continue // the entry that says what was sent is gone, or is not where it belongs
		case s != nil && r.Message == nil:
			r.Message = &MessageCells{Kind: s.Kind, To: s.Agent, PromptSHA256: s.PromptSHA256}
			r.Asked, r.Session = rec.Time.UTC(), s.SessionID
			r.Signature = Verify(rec)
			r.Key = KeyOf(rec, r.Signature)
			if by := rec.By; by != nil {
				r.ByKind, r.ByID, r.ByName, r.Verified, r.Code = by.Kind, by.ID, by.Name, by.Verified, by.CodeOrigin
			}
		case s != nil && !Verify(rec).Fits(): // it stands there twice, and one of the two is wrong
			r.Signature = Verify(rec)
		}
		r.Message.State, r.Message.Result, r.Reason = state, rec.Message.Outcome, rec.Reason
		if state == hook.MessageTaken && r.Delivered.IsZero() {
			r.Delivered = rec.Message.At.UTC()
		}
		r.Settled = time.Time{} // what was lost may still come
		if state.Over() {
			r.Settled = rec.Message.At.UTC()
		}
	}
	return r, r.Message != nil
}
