package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assent/internal/api"
	"assent/internal/store/kvmirror"
)

// Lease is after how long without a word of a host its agents are offline.
const Lease = 30 * time.Second

// Bounds of a registry.
const (
	hostsPrefix = "host."
	maxHosts    = 64
	maxAgents   = 32  // of a host
	maxWords    = 200 // bytes of a description, a tag, a version
	maxPlace    = 4 << 10
	// maxPullRequest bounds the address of one, in bytes.
	maxPullRequest = 1000
	maxTags        = 16
	// maxHostSessions bounds the sessions that an agent says it has.
	maxHostSessions = 32
	maxSessionID    = 256
)

// ErrNoAgent says that no host offers an agent of this name.
var ErrNoAgent = errors.New("no host that this broker knows offers this agent; assent agent list shows those that are")

// anAgent is how the name of a writer that is a host's agent begins.
const anAgent = "the agent "

// WriterError says that somebody else writes to a session. Two processes on one session silently lose turns.
type WriterError struct{ Who string }

func (e *WriterError) Error() string {
	how := ""
	if strings.HasPrefix(e.Who, anAgent) {
		how = " (assent agent prompt SESSION TEXT)"
	}
	return "this session has a writer: " + e.Who + "; send the text to it there" + how + ", or end it first"
}

// RegistryConfig is what a Registry needs. KV and Messages are required.
type RegistryConfig struct {
	KV       kvmirror.KV
	Messages *Store
	// Known reports whether a host's credential still holds; nil: all do.
	Known func(host string) bool
	// Shared says that other brokers have the same KV: hosts that are connected to them are here, too.
	Shared bool
	// Name is what people call this broker, for those of the others who look for a host that is connected to it.
	Name string
	Logf func(format string, args ...any)
}

// Registry keeps which hosts there are, and the agents that they offer. What a host offered last is kept, so
// that its agents are known while it is away; whether it is here is known by its connection to this broker, and, where
// RegistryConfig.Shared is set, by what others say of theirs.
// Make it with OpenRegistry. All methods may be called from any goroutine.
type Registry struct {
	cfg      RegistryConfig
	kv       *kvmirror.Mirror
	toForget *kvmirror.Mirror

	mu      sync.Mutex
	hosts   map[string]*hostEntry // guarded by mu
	news    uint64                // guarded by mu; counts changes
	changed func(api.Agent)       // guarded by mu
	told    map[string]string     // guarded by mu; the agents as they were told of, by name
	forgets map[string]toForget   // guarded by mu; by key
	forgot  func()                // guarded by mu

	run     string // names this registry among those of the KV
	came    chan struct{}
	here    *kvmirror.Mirror // nil unless RegistryConfig.Shared
	stop    context.CancelFunc
	beating sync.WaitGroup
	opened  bool              // guarded by mu; what stood in here is read
	closed  bool              // guarded by mu
	heard   map[string]*heard // guarded by mu; by host
}

// offered is what is kept of a host.
type offered struct {
	ID      string      `json:"id"`
	Host    string      `json:"host"`
	Version string      `json:"version,omitempty"`
	Agents  []api.Agent `json:"agents"`
	At      time.Time   `json:"at"`
}

type hostEntry struct {
	offered
	rev  uint64
	link *Link
	seen time.Time
}

// liveLocked reports whether a host was heard of, here or at another broker, within the lease.
func (r *Registry) liveLocked(h *hostEntry, now time.Time) bool {
	if e := r.heard[h.ID]; e != nil && now.Sub(e.at) < Lease {
		return true
	}
	return !h.seen.IsZero() && now.Sub(h.seen) < Lease
}

// OpenRegistry reads what hosts offered. ctx bounds the reading only.
func OpenRegistry(ctx context.Context, cfg RegistryConfig) (*Registry, error) {
	if cfg.Known == nil {
		cfg.Known = func(string) bool { return true }
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	r := &Registry{cfg: cfg, hosts: map[string]*hostEntry{}, told: map[string]string{}, forgets: map[string]toForget{}, news: 1, run: rand.Text(), came: make(chan struct{}, 1), heard: map[string]*heard{}}
	var err error
	if r.kv, err = kvmirror.Open(ctx, kvmirror.Config{KV: cfg.KV, Prefix: hostsPrefix, Apply: r.apply, What: "hosts", Logf: cfg.Logf}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if r.toForget, err = kvmirror.Open(ctx, kvmirror.Config{KV: cfg.KV, Prefix: forgetPrefix, Apply: r.applyForget, What: "what hosts are to forget", Logf: cfg.Logf}); err != nil {
		r.kv.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if cfg.Shared {
		if err := r.openHere(ctx); err != nil {
			r.Close()
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return r, nil
}

// Close ends the mirror. It may be called more than once.
func (r *Registry) Close() error {
	r.closeHere()
	r.kv.Close()
	r.toForget.Close()
	return nil
}

func (r *Registry) apply(key string, value []byte, rev uint64) func() {
	id := strings.TrimPrefix(key, hostsPrefix)
	var o offered
	if value != nil && (json.Unmarshal(value, &o) != nil || o.ID != id) {
		r.cfg.Logf("a host in the store is unreadable, and left alone: %s", id)
		return nil
	}
	o.Agents = sound(o.Agents)
	r.mu.Lock()
	defer r.mu.Unlock()
	if value == nil {
		delete(r.hosts, id)
		return r.tell
	}
	h := r.hosts[id]
	if h == nil {
		h = &hostEntry{}
		r.hosts[id] = h
	}
	h.offered, h.rev = o, rev
	return r.tell
}

// sound are those of a host's agents that it may offer to this release of a broker; another one kept them.
func sound(agents []api.Agent) []api.Agent {
	var some []api.Agent
	for _, a := range agents {
		if len(some) < maxAgents && checkAgent(&a) == "" {
			some = append(some, a)
		}
	}
	return some
}

// Notify has f called with each agent that changed, in any order.
func (r *Registry) Notify(f func(api.Agent)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = f
}

// tell tells of the agents that changed.
func (r *Registry) tell() {
	agents := r.Agents()
	r.mu.Lock()
	var news []api.Agent
	gone := r.told
	r.told = map[string]string{}
	for _, a := range agents {
		text, err := json.Marshal(a)
		if err != nil {
			continue // a number that JSON does not have is not taken in
		}
		if gone[a.Name] != string(text) {
			news = append(news, a)
		}
		delete(gone, a.Name)
		r.told[a.Name] = string(text)
	}
	f := r.changed
	if len(news)+len(gone) > 0 {
		r.news++
	}
	r.mu.Unlock()
	if f == nil {
		return
	}
	for _, a := range news {
		f(a)
	}
	for name := range gone {
		f(api.Agent{Name: name, Status: api.AgentOffline})
	}
}

// News is the number of the last change.
func (r *Registry) News() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.news
}

// Agents are those of all hosts, by name.
func (r *Registry) Agents() []api.Agent {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []api.Agent{}
	for _, h := range r.inOrderLocked(now) {
		for _, a := range h.Agents {
			if !slices.ContainsFunc(list, func(b api.Agent) bool { return a.Name == b.Name }) {
				list = append(list, r.shownLocked(h, a, now))
			}
		}
	}
	slices.SortFunc(list, func(a, b api.Agent) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// inOrderLocked are the hosts, those that are here first, and then those that were here last.
func (r *Registry) inOrderLocked(now time.Time) []*hostEntry {
	var hosts []*hostEntry
	for id, h := range r.hosts {
		if r.cfg.Known(id) {
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, func(a, b *hostEntry) int {
		if x, y := r.liveLocked(a, now), r.liveLocked(b, now); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
	})
	return hosts
}

// shownLocked is an agent of h as others see it now.
func (r *Registry) shownLocked(h *hostEntry, a api.Agent, now time.Time) api.Agent {
	a.Hostname, a.Sessions = h.Host, r.sessionsLocked(h, a.Sessions)
	if !r.liveLocked(h, now) {
		a.Status, a.ActiveSessionID = api.AgentOffline, ""
	}
	return a
}

// Agent is the agent of this name, and the host that offers it. ErrNoAgent.
func (r *Registry) Agent(name string) (a api.Agent, host string, err error) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.inOrderLocked(now) {
		for _, a := range h.Agents {
			if a.Name == name {
				return r.shownLocked(h, a, now), h.ID, nil
			}
		}
	}
	return api.Agent{}, "", ErrNoAgent
}

// Offers reports whether an agent is one of the host's.
func (r *Registry) Offers(host, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosts[host]
	return h != nil && slices.ContainsFunc(h.Agents, func(a api.Agent) bool { return a.Name == name })
}
