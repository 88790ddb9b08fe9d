package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"assent/internal/host/regular"
	"assent/internal/policy"
)

// Look is the files of rules at which somebody looks who is no broker.
type Look struct {
	Files    []Found
	Problems []policy.Problem // of files that cannot be read, or that the broker would not trust
	Options  policy.LoadOptions
}

// Found is one of them.
type Found struct {
	policy.Source
	There bool
}

// LookAt reads the file of this name, or if that is empty those that the broker of cfg would load for an
// agent in the repository at root.
func LookAt(cfg Config, name, root string) (*Look, error) {
	l := &Look{Options: policy.LoadOptions{Home: cfg.Home, Protected: cfg.Protected}}
	if name != "" {
		data, err := ReadNamed(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; name a file that is there, or none: those in force are looked at then", err)
		}
		if err != nil {
			return nil, err
		}
		source := policy.Source{Name: name, Layer: policy.User, Data: data}
		if strings.HasSuffix(cfg.User, "/.assent/rules.yaml") {
			source.Layer = policy.Repository
		}
		l.Files = []Found{{source, true}}
		return l, nil
	}
	sources, problems := Read(cfg)
	for _, p := range problems {
		l.Problems = append(l.Problems, policy.Problem{File: p.File, Line: p.Line, Column: p.Column, Message: p.Message})
	}
	for _, s := range []policy.Source{{Name: cfg.Managed, Layer: policy.Managed}, {Name: cfg.User, Layer: policy.User}, {Name: cfg.Own, Layer: policy.Assent}} {
		there := false
		for _, found := range sources {
			if found.Name == s.Name {
				s, there = found, true
			}
		}
		if s.Name != "" {
			l.Files = append(l.Files, Found{s, there})
		}
	}
	if root == "" {
		return l, nil
	}
	source, there, err := ReadRepository(root)
	if err != nil {
		l.Problems = append(l.Problems, policy.Problem{File: source.Name, Message: policy.WithoutPath(err).Error()})
		there = false
	}
	l.Files = append(l.Files, Found{source, there})
	return l, nil
}

// ReadNamed reads a file of rules that a person named. It may be a pipe: they wait for it.
func ReadNamed(name string) ([]byte, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	defer in.Close()
	b, err := regular.All(in, maxFile)
	if errors.Is(err, regular.ErrLarge) {
		return nil, fmt.Errorf("read rules: %s is larger than %d bytes", name, maxFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return b, nil
}

// Load compiles the files. The problems are all that is wrong with any of them; the set is nil
// when there are some.
func (l *Look) Load(skipTests bool) (*policy.Set, []policy.Problem) {
	o := l.Options
	o.SkipTests = skipTests
	var sources []policy.Source
	for _, s := range l.Files {
		if s.There {
			sources = append(sources, s.Source)
		}
	}
	set, err := policy.Load(sources, o)
	problems := append([]policy.Problem(nil), l.Problems...)
	if found := policy.Problems(err); found != nil {
		problems = append(problems, found...)
	} else if err != nil {
		problems = append(problems, policy.Problem{File: "rules", Message: err.Error()})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return set, nil
}
