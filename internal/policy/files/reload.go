package files

import (
	"cmp"
	"context"
	"slices"
	"time"

	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy"
)

const (
	// lookEvery is how often the files are looked at, and settle how long a changed one must stay
	// as it is before it is read: an editor may be writing it. A beginning of a file can be a
	// whole one, without the denials at its end.
	lookEvery = time.Second
	settle    = 200 * time.Millisecond
	// maxProblems bounds what is said about the files.
	maxProblems = 50
)

// Run looks for changes of the files until ctx is done, and calls changed after each.
func (b *Book) Run(ctx context.Context, changed func()) error {
	var before []seen
	for {
		wait := lookEvery
		now := b.look()
		switch {
		case b.current(now):
			before = nil
		case slices.Equal(before, now):
			b.Reload()
			changed()
			before = nil
		default:
			before, wait = now, settle
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil
		}
	}
}

// look returns what stands at the files' paths now.
func (b *Book) look() []seen {
	stamps := make([]seen, len(b.files)) // the list is never changed
	for i, f := range b.files {
		stamps[i] = f.look()
	}
	return stamps
}

// current reports whether the files were last read as they are now.
func (b *Book) current(now []seen) bool {
	b.loading.Lock()
	defer b.loading.Unlock()
	for i, f := range b.files {
		if f.seen != now[i] {
			return false
		}
	}
	return true
}

// candidate is a file while a set is being made.
type candidate struct {
	*file
	data   []byte               // what to load; nil: nothing
	signed *hook.RulesSignature // who signed data
	// unsigned says why a signature that stands beside the file does not count.
	unsigned string
	fresh    bool // data is what the file says now
	saved    bool // it comes from Config.Saved, and only allows
}

// name is where what is to be loaded stands.
func (c *candidate) name() string {
	if !c.fresh && c.goodPath != "" {
		return c.goodPath
	}
	return c.path
}

// Reload reads the files, and puts into force what can be used of them.
func (b *Book) Reload() {
	b.loading.Lock()
	defer b.loading.Unlock()
	var problems []hook.RuleProblem
	list := make([]candidate, len(b.files))
	for i, f := range b.files {
		f.seen = f.look()
		c := candidate{file: f, fresh: true}
		data, err := f.read()
		switch {
		case err != nil:
			problems = append(problems, f.problem(err))
			c.data, c.signed, c.fresh = f.good, f.goodSigned, false
		default:
			c.data = data // nil where there is no file
		}
		if data != nil {
			if c.signed, err = f.signedBy(data); err != nil {
				c.unsigned = clip(f.signature + ": " + policy.WithoutPath(err).Error())
				b.cfg.Logf("rules of %s count as rules that nobody signed: %s", f.path, c.unsigned)
			}
		}
		list[i] = c
		if f.layer == policy.User && c.data == nil && c.fresh && b.cfg.Published != nil {
			if f.good != nil {
				b.cfg.Logf("%s is gone, and its rules with it", f.path)
				f.good = nil
			}
			list[i] = b.published()
		}
	}
	if b.cfg.Published != nil && b.cfg.User == "" {
		list = append(list, b.published())
	}
	if b.cfg.Saved != nil {
		for _, source := range b.cfg.Saved() {
			list = append(list, candidate{file: &file{path: source.Name, layer: source.Layer}, data: source.Data, fresh: true, saved: true})
		}
	}
	set, sources := b.load(list, &problems)
	b.enforce(list, set, sources, problems)
}

// load makes a set of the candidates. A file with a mistake falls back to what it said before,
// and where that does not do either, it is left out.
func (b *Book) load(list []candidate, problems *[]hook.RuleProblem) (*policy.Set, []policy.Source) {
	for {
		sources := sourcesOf(list)
		set, err := policy.Load(sources, b.options())
		if err == nil {
			return set, sources
		}
		found := policy.Problems(err)
		blamed := false
		for i := range list {
			c := &list[i]
			if c.data == nil || !slices.ContainsFunc(found, func(p policy.Problem) bool { return p.File == c.name() }) {
				continue
			}
			blamed = true
			if c.fresh {
				for _, p := range found {
					if p.File == c.name() {
						*problems = append(*problems, problemOf(p))
					}
				}
				c.data, c.signed, c.unsigned, c.fresh = c.good, c.goodSigned, "", false
			} else {
				c.data = nil
			}
		}
		if !blamed { // nobody knows whose fault it is: then nothing counts
			*problems = append(*problems, hook.RuleProblem{File: "rules", Message: clip(err.Error())})
			for i := range list {
				list[i].data, list[i].fresh = nil, false
			}
		}
	}
}

func sourcesOf(list []candidate) []policy.Source {
	var sources []policy.Source
	for i := range list {
		if c := &list[i]; c.data != nil {
			sources = append(sources, policy.Source{Name: c.name(), Layer: c.layer, Data: c.data, Signed: c.signed})
		}
	}
	return sources
}

func (b *Book) options() policy.LoadOptions {
	return policy.LoadOptions{Home: b.cfg.Home, Protected: b.cfg.Protected}
}

// enforce puts a set into force and says how the files stand.
func (b *Book) enforce(list []candidate, set *policy.Set, sources []policy.Source, problems []hook.RuleProblem) {
	now := time.Now().UTC()
	state := hook.InForce{Allowing: true}
	for i := range list {
		c := &list[i]
		was, wasSigned := c.good, c.goodSigned
		at := c.name()
		c.file.good, c.file.goodSigned, c.file.goodPath = c.data, c.signed, at
		entry := hook.RuleFile{Path: at, Layer: string(c.layer), State: hook.FileInForce, Signed: c.signed, SignatureProblem: c.unsigned}
		switch {
		case c.fresh && c.data != nil && c.saved:
			c.loadedAt = now
		case c.fresh && c.data != nil:
			c.loadedAt = now
			if !slices.Equal(was, c.data) || was == nil {
				b.cfg.Infof("rules of %s are in force", c.path)
			}
			if c.signed != nil && (wasSigned == nil || *wasSigned != *c.signed) {
				b.cfg.Infof("rules of %s are signed with device:%s", c.path, signed.Thumbprint(c.signed.PublicKey))
			}
		case c.data != nil:
			entry.State = hook.FileLastGood
		case c.saved: // what is left out would only have allowed
			entry.State = hook.FileBroken
		case !c.fresh:
			entry.State, state.Allowing = hook.FileBroken, false
		default: // not there
			if was != nil {
				b.cfg.Logf("%s is gone, and its rules with it", cmp.Or(c.path, at))
			}
			continue
		}
		if c.data != nil {
			entry.LoadedAt = c.loadedAt
		}
		state.Files = append(state.Files, entry)
	}
	for _, p := range problems {
		b.cfg.Logf("rules: %s", text(p))
	}
	if !state.Allowing {
		b.cfg.Logf("rules: nothing is allowed by rule until that is fixed")
	}
	state.Problems = limited(problems)
	for _, n := range set.Notices() {
		state.Notices = append(state.Notices, problemOf(n))
	}
	state.Notices = limited(state.Notices)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.set, b.sources, b.state, b.follows, b.signed = set, sources, state, b.followed(list, problems), signedIn(sources)
	clear(b.repos) // they were made with the files before
	known := map[ruleKey]bool{}
	b.savedIn = map[string]string{}
	for _, r := range set.Rules() {
		known[ruleKey{r.File, r.ID}] = true
		if r.Layer == policy.Assent {
			b.savedIn[r.ID] = r.File
		}
	}
	for k := range b.matches {
		if !known[k] {
			delete(b.matches, k)
		}
	}
}

func limited(list []hook.RuleProblem) []hook.RuleProblem {
	if n := len(list) - maxProblems; n > 0 {
		last := hook.RuleProblem{File: list[maxProblems].File, Message: "and more"}
		list = append(list[:maxProblems:maxProblems], last)
	}
	return list
}

func problemOf(p policy.Problem) hook.RuleProblem {
	return hook.RuleProblem{File: p.File, Line: p.Line, Column: p.Column, Message: clip(p.Message)}
}

func text(p hook.RuleProblem) string {
	return policy.Problem{File: p.File, Line: p.Line, Column: p.Column, Message: p.Message}.String()
}
