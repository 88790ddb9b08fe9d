package kvmirror

import "sync"

// News tells one listener that what an owner of a Mirror keeps has changed. Its zero value has nobody to tell.
type News struct {
	mu sync.Mutex
	f  func() // guarded by mu
}

// Notify has f called at each change, in the place of whatever was to be called before.
func (n *News) Notify(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.f = f
}

// Tell calls it. No lock of the owner may be held that the listener wants, too.
func (n *News) Tell() {
	n.mu.Lock()
	f := n.f
	n.mu.Unlock()
	if f != nil {
		f()
	}
}
