// Package files knows which rules are in force: the files they stand in, whether those may be
// trusted, and what to do when they change.
//
// There are up to three files besides the packs that these use: the machine's, the person's, and
// one that assent itself writes. FILE.sig beside one of the first two may say who signed it. A repository may bring a fourth, which can only tighten. A file
// counts when it is whole: read in one piece, owned by who it should be, writable by nobody else,
// and without a mistake.
//
// A file that breaks while the broker runs leaves in force what it said before. While a file is
// there of which nothing could ever be used, no rule allows anything: nobody knows what that file
// would have denied.
//
// # Concurrency
//
// Eval, InForce and Reload may be called from any goroutine; as many Evals run at a time as there
// are cores. Run is called once and looks at the files until its context is done.
package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
)

// Config says where the files are. An empty path means that there is no such file.
type Config struct {
	// Managed is the administrator's file. It must belong to root.
	Managed string
	// User is the person's, and UserNamed says that it was asked for by name: then it is a
	// mistake when it is not there.
	User      string
	UserNamed bool
	// Own is what assent writes, and Saved returns the same from its source: a broker has Saved,
	// and the commands beside it Own.
	Own   string
	Saved func() []policy.Source
	// Published returns the rules that are in force for all brokers; ok is false if there are none. They take the
	// place of User where that is not there: a file of one's own counts instead of them.
	Published func() (source policy.Source, ok bool)
	// Outstanding returns further rules that are in force for one request only, by its id: grants
	// that were counted for it before the broker was killed.
	Outstanding func(requestID string) []policy.Source
	// Home is the home directory of the agents' user, Host the name of this machine; empty: ours.
	Home, Host string
	// Protected are files and directories of assent that no rule may let anybody touch.
	Protected []string
	// Infof hears when other rules come into force, Logf when a file breaks; nil discards it.
	Infof, Logf func(format string, args ...any)
}

// Book is the rules in force. Make it with Open.
type Book struct {
	cfg   Config
	slots chan struct{} // one element for each Eval that runs

	loading sync.Mutex // held while files are read; never taken with mu held
	files   []*file    // guarded by loading
	shared  file       // guarded by loading; what Config.Published said

	mu      sync.Mutex
	set     *policy.Set             // guarded by mu, as all below
	sources []policy.Source         // of set
	state   hook.InForce            // without the rules' counts and the repositories
	repos   map[string]*repo        // by root
	matches map[ruleKey]*matchCount // of the rules in set, and of repositories'
	follows Follows                 // what stands in the place of the person's file
	savedIn map[string]string       // where the rules of Config.Saved stand, by id
	signed  []hook.SignedRules      // those of sources that somebody signed
	alone   struct {                // the rules that Alone was asked about last
		text string
		set  *policy.Set
	}
}

// ruleKey names a rule.
type ruleKey struct{ file, id string }

type matchCount struct {
	n    int
	last time.Time
}

// maxCounted bounds the rules whose matches are counted.
const maxCounted = 50_000

// Open reads the files. It does not fail: what is wrong with them InForce says.
func Open(cfg Config) *Book {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Infof == nil {
		cfg.Infof = func(string, ...any) {}
	}
	if cfg.Home == "" {
		cfg.Home, _ = os.UserHomeDir() // without one, ~ is nobody's
	}
	if cfg.Host == "" {
		cfg.Host, _ = os.Hostname()
	}
	b := &Book{
		cfg: cfg, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), set: &policy.Set{},
		repos: map[string]*repo{}, matches: map[ruleKey]*matchCount{},
	}
	b.files = cfg.list()
	b.Reload()
	return b
}

// list is the files that cfg names, the one with the most authority first.
func (cfg Config) list() []*file {
	var list []*file
	for _, f := range []*file{
		{path: cfg.Managed, layer: policy.Managed, root: true},
		{path: cfg.User, layer: policy.User, named: cfg.UserNamed},
		{path: cfg.Own, layer: policy.Assent},
	} {
		if f.path != "" {
			if f.layer != policy.Assent { // what approvers saved nobody signs as a file
				f.signature = f.path + ".sig"
			}
			list = append(list, f)
		}
	}
	return list
}

// Eval says what the rules make of a request with this input.
func (b *Book) Eval(req *hook.Request, input hook.JSON) (v hook.Verdict) {
	trial := b.outstanding(req)
	leave, err := b.enter()
	if err != nil {
		return hook.Verdict{Action: hook.ActionAsk, Reason: err.Error()}
	}
	defer leave()
	defer func() {
		if p := recover(); p != nil { // the value could quote a command
			b.cfg.Logf("request %s: the rules failed on it (%T), so a person is asked", req.ID, p)
			v = hook.Verdict{Action: hook.ActionAsk, Reason: "the rules failed on this request"}
		}
	}()
	set, doubt := b.setFor(req)
	if trial != nil && doubt == "" {
		set = trial.set
	}
	var outer *policy.Set
	if root := b.around(req); root != "" && trial == nil {
		var why string
		if outer, why = b.repository(root); doubt == "" {
			doubt = why
		}
		if set == nil {
			set, outer = outer, nil
		}
	}
	if set == nil {
		return hook.Verdict{Action: hook.ActionAsk, Reason: doubt}
	}
	call := b.call(req, input)
	v = bounded(set.Eval(call))
	if outer != nil {
		v = stricter(v, bounded(outer.Eval(call)))
	}
	switch {
	case doubt == "":
	case v.Action == hook.ActionAllow:
		v = hook.Verdict{Action: hook.ActionAsk, Reason: doubt, Shadow: v.Shadow, Timeout: v.Timeout, OnTimeout: v.OnTimeout}
	case v.Action == hook.ActionAsk && v.Rule == "":
		v.Reason = doubt
	}
	b.count(&v)
	return v
}

// busyTime is how long a request waits for its turn. A turn takes some milliseconds, unless a
// file system that it looks at does not answer.
const busyTime = 2 * time.Second

// enter returns when it is the caller's turn, who then calls leave.
func (b *Book) enter() (leave func(), err error) {
	select {
	case b.slots <- struct{}{}:
	default:
		t := time.NewTimer(busyTime)
		defer t.Stop()
		select {
		case b.slots <- struct{}{}:
		case <-t.C:
			return nil, errors.New("the rules are busy: too many requests, or a directory of one does not answer")
		}
	}
	return func() { <-b.slots }, nil
}

// setFor returns the rules for a request, nil where there are none, and why none of them may allow
// it: empty if they may.
func (b *Book) setFor(req *hook.Request) (set *policy.Set, doubt string) {
	b.mu.Lock()
	if len(b.sources) > 0 {
		set = b.set
	}
	allowing := b.state.Allowing
	b.mu.Unlock()
	if !allowing {
		doubt = "a file of rules is broken, and nothing is allowed by rule until it is fixed"
	}
	if root := req.Repo.Root; root != "" && b.here(req) {
		own, why := b.repository(root)
		if own != nil {
			set = own
		}
		if doubt == "" {
			doubt = why
		}
	}
	return set, doubt
}

// around is the project's directory where the agent stands in another repository, such as a
// submodule or one that it made itself; else empty. The project's own rules hold there too.
func (b *Book) around(req *hook.Request) string {
	dir := req.ProjectDir
	if dir == "" || dir == req.Repo.Root || !b.here(req) {
		return ""
	}
	return dir
}

// stricter is what two sets of rules say together.
func stricter(x, y hook.Verdict) hook.Verdict {
	rank := func(v *hook.Verdict) int {
		switch {
		case v.Action == hook.ActionDeny:
			return 4
		case v.Action == hook.ActionAsk && v.Rule != "":
			return 3
		case v.Action == hook.ActionAsk:
			return 2
		case v.Contain != "":
			return 1
		}
		return 0
	}
	if rank(&y) > rank(&x) {
		x, y = y, x
	}
	if y.Action == hook.ActionAsk {
		if y.Timeout > 0 && (x.Timeout == 0 || y.Timeout < x.Timeout) {
			x.Timeout = y.Timeout
		}
		if y.OnTimeout == hook.Deny {
			x.OnTimeout = hook.Deny
		}
	}
	return x
}

// here reports whether the request's files are those that the broker sees, as far as it can tell.
// They are not on another machine, in a container, or where only another user may look.
func (b *Book) here(req *hook.Request) bool {
	if req.Host == "" || req.Host != b.cfg.Host || !filepath.IsAbs(req.CWD) {
		return false
	}
	fi, err := os.Stat(req.CWD)
	return err == nil && fi.IsDir()
}

const (
	maxShadow = 16  // shadow verdicts kept of one request
	maxWords  = 400 // bytes of a reason
)

// bounded is a verdict as it is recorded and acted on: the shadows and the reason shortened, and
// what happens without an answer always said.
func bounded(v hook.Verdict) hook.Verdict {
	v.Reason = clip(v.Reason)
	v.Shadow = v.Shadow[:min(len(v.Shadow), maxShadow)]
	if v.OnTimeout != hook.Deny {
		v.OnTimeout = hook.Abstain
	}
	return v
}

// count notes that rules have matched.
func (b *Book) count(v *hook.Verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	one := func(file, id string) {
		k := ruleKey{file, id}
		f := b.matches[k]
		if f == nil && id != "" && len(b.matches) < maxCounted {
			f = &matchCount{}
			b.matches[k] = f
		}
		if f != nil {
			f.n++
			f.last = now
		}
	}
	one(v.File, v.Rule)
	for _, id := range v.Saved {
		if file := b.savedIn[id]; id != v.Rule && file != "" {
			one(file, id)
		}
	}
	for _, s := range v.Shadow {
		one(s.File, s.Rule)
	}
}

func clip(s string) string {
	if len(s) <= maxWords {
		return s
	}
	cut := maxWords
	for cut > 0 && s[cut]&0xc0 == 0x80 { // not within a character
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:cut], len(s))
}
