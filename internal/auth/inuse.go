package auth

import "sync"

// inUse counts what is being done in the name of a credential that may still be recorded: when a key is said to be revoked, in
// the record, nothing that it signed may come behind that.
type inUse struct {
	mu    sync.Mutex
	acts  int           // guarded by mu, as all below
	over  bool          // none may begin
	ended chan struct{} // closed when over, and none is left
}

func newInUse() *inUse { return &inUse{ended: make(chan struct{})} }

// begin is false when the credential was revoked. Else the caller calls end, once.
func (u *inUse) begin() (end func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return nil, false
	}
	u.acts++
	return u.end, true
}

func (u *inUse) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.acts--
	u.closeIdle()
}

// finish lets none begin any more. What it returns is closed when those are over that had begun.
func (u *inUse) finish() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.over {
		u.over = true
		u.closeIdle()
	}
	return u.ended
}

func (u *inUse) closeIdle() {
	if u.over && u.acts == 0 {
		close(u.ended)
	}
}

// Begin says that something is done in p's name now that may be recorded with its signature; false where its credential was
// revoked. The caller calls end when that is recorded, or was refused.
func (p Principal) Begin() (end func(), ok bool) {
	if p.uses == nil { // the owner
		return func() {}, true
	}
	return p.uses.begin()
}
