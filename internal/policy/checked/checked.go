// Package checked says what is wrong with files of rules, and what they do that their author may not know.
package checked

import (
	"slices"
	"strings"

	"assent/internal/auth/signed"
	"assent/internal/policy"
	"assent/internal/policy/files"
	"assent/internal/policy/importer"
)

// Report is what assent rules check says as JSON.
type Report struct {
	OK       bool             `json:"ok"`
	Files    []File           `json:"files"`
	Problems []policy.Problem `json:"problems"`
	Notices  []policy.Problem `json:"notices"`
}

// File is one file of rules.
type File struct {
	Path  string   `json:"path"`
	Layer string   `json:"layer"`
	State string   `json:"state"` // OK, Broken, Absent
	Rules int      `json:"rules"`
	Tests int      `json:"tests"`
	Packs []string `json:"packs,omitempty"`
	// SignedBy is the key that signed the file, if its signature counts: device: and a thumbprint.
	SignedBy string `json:"signedBy,omitempty"`
}

// States of a File.
const (
	OK     = "ok"
	Broken = "broken"
	Absent = "absent"
)

// Check looks at the files of f, which were found by cfg: at the one that a person named, or at all of them if name is empty.
func Check(cfg files.Config, f *files.Look, name string) (r Report) {
	_, r.Problems = f.Load(false)
	r.OK = len(r.Problems) == 0
	if name != "" {
		if err := files.Trust(name); err != nil {
			r.Notices = append(r.Notices, policy.Problem{File: name, Message: "as your own file the broker would refuse it: " + policy.WithoutPath(err).Error()})
		}
	}
	for _, file := range f.Files {
		c := File{Path: file.Name, Layer: string(file.Layer), State: OK}
		switch {
		case slices.ContainsFunc(r.Problems, func(p policy.Problem) bool { return p.File == file.Name }):
			c.State = Broken
		case !file.There:
			c.State = Absent
		default:
			r.Notices = append(r.Notices, c.count(file, f.Options)...)
		}
		if file.There {
			signature, problem := files.Signature(cfg, file.Source)
			if problem != "" {
				r.Notices = append(r.Notices, policy.Problem{File: file.Name + ".sig", Message: "this signature does not count, so nobody signed " + file.Name + ": " + problem})
			} else if signature != nil {
				c.SignedBy = "device:" + signed.Thumbprint(signature.PublicKey)
			}
		}
		r.Files = append(r.Files, c)
	}
	return r
}

// Add puts what other says behind what r says.
func (r *Report) Add(other Report) {
	r.OK = r.OK && other.OK
	r.Files = append(r.Files, other.Files...)
	r.Problems = append(r.Problems, other.Problems...)
	r.Notices = append(r.Notices, other.Notices...)
}

// count looks at one file without the others, and returns its notices.
func (c *File) count(file files.Found, o policy.LoadOptions) []policy.Problem {
	o.SkipTests = true
	set, err := policy.Load([]policy.Source{file.Source}, o)
	if err != nil {
		return nil // it was loaded before
	}
	for _, r := range set.Rules() {
		if r.Layer != policy.Builtin {
			c.Rules++
		} else if !slices.Contains(c.Packs, r.File) {
			c.Packs = append(c.Packs, r.File)
		}
	}
	c.Tests = len(set.Test())
	notices := append(set.Notices(), set.Mistakes()...)
	for _, r := range set.Rules() {
		text, ok := strings.CutPrefix(r.Text(), "allow: ")
		if meaning := importer.RunsAnything(text); ok && r.Layer != policy.Builtin && meaning != "" {
			notices = append(notices, policy.Problem{File: r.File, Line: r.Line, Message: text + " allows " + meaning})
		}
	}
	return notices
}
