package broker

import (
	"crypto/subtle"
	"time"

	"assent/internal/hook"
)

// Every submitter can name any session and any request id. So a request belongs to the submitter it
// came from: only their events settle it (acceptsEventsFrom), and only its own hook comes back to it (checkOwner).

// acceptsEventsFrom reports whether events of this submitter may settle the request. A request that an
// earlier version recorded without a submitter accepts events from everybody, as it did then.
func (f *folded) acceptsEventsFrom(submitter string) bool {
	return f.Submitter == "" || f.Submitter == submitter
}

// checkOwner says why r, which came under the request's id, may not wait for its answer; nil if it may.
//
// A hook proves with its secret that it comes back. One of the version before has none: it is taken
// for the one that asked if it has the same submitter, until the answer was delivered. A decision is
// given out until the hook's own time is up, and not later: nobody waits for it any more.
func (f *folded) checkOwner(r *hook.Request) error {
	if f.PayloadSHA256 != r.PayloadSHA256 {
		return ErrReused
	}
	over := f.State == Ended
	switch {
	case f.ReattachSHA256 != "":
		if !sameSecret(f.ReattachSHA256, r.ReattachSHA256) {
			return ErrStranger
		}
	case !f.acceptsEventsFrom(r.Submitter):
		return ErrStranger
	case over && f.Delivery != "" && f.Delivery != Recorded:
		return ErrStranger
	}
	if f.tooLate() {
		return ErrStranger
	}
	return nil
}

// tooLate reports whether the request was decided, and nobody can wait for that any more.
func (f *folded) tooLate() bool {
	return f.State == Ended && f.Decision != nil && time.Now().After(f.lastMoment())
}

// lastMoment is when the request's hook gives up by itself. The deadline lies a little before it.
func (f *folded) lastMoment() time.Time {
	last := f.Deadline
	if f.mayWaitUntil.After(last) {
		last = f.mayWaitUntil
	}
	return last.Add(2 * expiryTimeout(&f.Request))
}

// sameSecret compares two hashes of secrets.
func sameSecret(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
