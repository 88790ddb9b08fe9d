package auth

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"assent/internal/hook"
	"assent/internal/store/retry"
)

// Record is the record of requests, as far as revoked keys stand in it.
type Record interface {
	// Records returns what stands in it under an id, the oldest first.
	Records(ctx context.Context, id string) ([]hook.Record, error)
	// Append adds rec behind what has the sequence after under its id, 0 for nothing, and fails where that is not the last.
	Append(ctx context.Context, rec hook.Record, after uint64) (seq uint64, err error)
}

const (
	// othersSettle is when other brokers, too, have heard that a key was revoked, and have recorded what it signed before: a
	// decision takes ten seconds at most, a stop of everything two times fifty.
	othersSettle = 2 * time.Minute
	// recordTime bounds one try.
	recordTime = 30 * time.Second
)

func (a *Auth) wakeRecorder() {
	select {
	case a.toRecord <- struct{}{}:
	default:
	}
}

// recordRevocations writes the entries of keys that were revoked, until ctx is done. What fails is tried again for as long as
// that takes, at most once a minute; what a broker left when it ended, the next one does. Where several brokers share the record
// each of them tries, and the record takes the first: there is one entry at most under the id of a key.
func (a *Auth) recordRevocations(ctx context.Context) {
	retry.Loop(ctx, a.toRecord, a.recordDue, func(err error) {
		a.cfg.Logf("auth: that a key was revoked is in force, and could not be recorded yet; trying again: %v", err)
	})
}

// recordDue does what can be done now. wait is when there will be more, 0 where nothing is left.
func (a *Auth) recordDue(ctx context.Context) (wait time.Duration, err error) {
	var errs []error
	for _, thumbprint := range a.unfinished() {
		more, err := a.recordOne(ctx, thumbprint)
		errs = append(errs, err)
		if more > 0 && (wait == 0 || more < wait) {
			wait = more
		}
	}
	return wait, errors.Join(errs...)
}

// unfinished are the thumbprints of the keys of which something is left to do.
func (a *Auth) unfinished() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for thumbprint, x := range a.revoked {
		if x.rev == 0 || x.Recorded == 0 && a.cfg.Record != nil || len(x.leftover) > 0 {
			list = append(list, thumbprint)
		}
	}
	return list
}

// recordOne keeps a revocation in the store, takes out what that has left of the key, and records it.
func (a *Auth) recordOne(ctx context.Context, thumbprint string) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	a.mu.Lock()
	x := *a.revoked[thumbprint]
	a.mu.Unlock()
	if x.rev == 0 {
		rev, err := a.keepRevocation(ctx, &x.storedRevocation)
		if err != nil {
			return 0, err
		}
		x.rev = rev
		a.offerRevocation(&x.storedRevocation, rev)
	}
	for _, key := range x.leftover {
		if err := a.revoke(ctx, key); err != nil {
			return 0, err
		}
	}
	a.mu.Lock()
	if now := a.revoked[thumbprint]; len(now.leftover) >= len(x.leftover) {
		now.leftover = now.leftover[len(x.leftover):]
	}
	a.mu.Unlock()
	if x.Recorded > 0 || a.cfg.Record == nil {
		return 0, nil
	}
	if a.cfg.Shared {
		if wait := time.Until(x.heard.Add(othersSettle)); wait > 0 {
			return wait, nil
		}
	}
	a.mu.Lock()
	ending := a.ending[thumbprint]
	a.mu.Unlock()
	for _, ended := range ending {
		select {
		case <-ended:
		case <-ctx.Done():
			return 0, errors.New("what was begun in its name is not over")
		}
	}
	if x.Recorded, err = a.recordEntry(ctx, x.Entry); err != nil {
		return 0, err
	}
	value, err := json.Marshal(x.storedRevocation)
	if err != nil {
		return 0, err
	}
	key := revokedPrefix + thumbprint
	rev, err := a.cfg.KV.Update(ctx, key, value, x.rev)
	if err != nil { // another broker may have said so already
		if value, rev, err = a.cfg.KV.Get(ctx, key); err != nil {
			return 0, err
		}
	}
	a.kv.Offer(key, value, rev)
	a.mu.Lock()
	delete(a.ending, thumbprint)
	a.mu.Unlock()
	return 0, nil
}

// recordEntry is where the entry of a key stands in the record, in which it is from now on.
func (a *Auth) recordEntry(ctx context.Context, entry hook.Record) (seq uint64, err error) {
	last, err := a.entryOf(ctx, entry.RequestID)
	if err != nil || last > 0 {
		return last, err
	}
	entry.Time = time.Now().UTC()
	seq, err = a.cfg.Record.Append(ctx, entry, 0)
	if err != nil { // another broker may have been first
		if last, lookErr := a.entryOf(ctx, entry.RequestID); lookErr == nil && last > 0 {
			return last, nil
		}
	}
	return seq, err
}

func (a *Auth) entryOf(ctx context.Context, id string) (seq uint64, err error) {
	records, err := a.cfg.Record.Records(ctx, id)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	return records[0].Seq, nil
}
