package files

import (
	"slices"
	"strings"
	"time"

	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy"
)

// InForce says which rules are in force and what is wrong with their files.
func (b *Book) InForce() hook.InForce {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.state
	f.Files, f.Notices = slices.Clone(f.Files), slices.Clone(f.Notices)
	add := func(r policy.Info) {
		entry := hook.RuleInForce{
			ID: r.ID, File: r.File, Line: r.Line, Layer: string(r.Layer), Action: r.Action, Shadow: r.Shadow,
			Text: strings.TrimSpace(r.Text()),
		}
		if n := b.matches[ruleKey{r.File, r.ID}]; n != nil {
			entry.Matches, entry.LastMatch = n.n, n.last.UTC()
		}
		f.Rules = append(f.Rules, entry)
	}
	for _, r := range b.set.Rules() {
		add(r)
	}
	var roots []string
	for root := range b.repos {
		roots = append(roots, root)
	}
	slices.SortFunc(roots, strings.Compare)
	for _, root := range roots {
		r := b.repos[root]
		f.Files = append(f.Files, r.state)
		f.Notices = append(f.Notices, r.problems...)
		if r.set == nil {
			continue
		}
		for _, info := range r.set.Rules() {
			if info.Layer == policy.Repository {
				add(info)
			}
		}
	}
	for i := range f.Files {
		if s := f.Files[i].Signed; s != nil && signed.RulesOver(s, time.Now()) {
			f.Files[i].SignatureProblem = over(s)
		}
	}
	f.Notices = limited(f.Notices)
	return f
}

// Verification is for which allows people have to be verified, by the strictest file in force. Of an
// administrator's file of which nothing could be used nobody knows what it wants, so that is
// hook.VerifyDanger at least.
func (b *Book) Verification() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.set.Verification()
	for _, f := range b.state.Files {
		if f.Layer == string(policy.Managed) && f.State == hook.FileBroken {
			v = hook.StricterVerification(v, hook.VerifyDanger)
		}
	}
	return v
}
