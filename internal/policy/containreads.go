package policy

import (
	"path"
	"slices"
	"strings"

	secretfiles "assent/internal/policy/secrets"
)

// systemRoots are directories of the system that every contained command may read, in whole or in part.
var systemRoots = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/etc"} // read-only

// mayReadGuarded says whether a contained command could read a file about which a rule denies or asks: the
// kernel knows nothing of rules, and a program may well read what its words do not name. Files that the list
// of secrets keeps away, and what lies elsewhere, it cannot.
func (s *Set) mayReadGuarded(e *scope, also []string) bool {
	roots := slices.Concat([]string{e.project, e.cwd}, also, systemRoots)
	for _, r := range s.guardFiles {
		m := r.match.file
		if r.shadow || m.ops&opRead == 0 {
			continue
		}
		for i := range m.paths {
			if !e.spend(10) || e.shownContained(&m.paths[i], roots) {
				return true
			}
		}
	}
	return false
}

// shownContained says whether some file that a pattern means may be read by who reads all below some
// directories but secrets.
func (e *scope) shownContained(p *pathPattern, roots []string) bool {
	if p.inner {
		return false // what lies in a directory that has the name of a file, beside the file itself
	}
	if base := e.base(p); base != "" {
		place := path.Join(base, fixedPart(p.below.src))
		if !slices.ContainsFunc(roots, func(root string) bool { return lies(root, place) || lies(place, root) }) {
			return false
		}
	}
	parts := strings.Split(p.below.src, "/")
	if slices.ContainsFunc(parts, secretfiles.Directory) {
		return false
	}
	last := parts[len(parts)-1]
	if p.all || strings.ContainsAny(last, "[{\\") || strings.Trim(last, "*?") == "" {
		return true
	}
	// All that it means are secrets if those are that say least of one: source has no secrets.
	return slices.ContainsFunc([]string{"x", "x.go", "x.txt"}, func(some string) bool {
		return !secretfiles.Name(strings.NewReplacer("**", some, "*", some, "?", "x").Replace(last))
	})
}
