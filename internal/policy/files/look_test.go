package files

import (
	"os"
	"slices"
	"strings"
	"testing"

	"assent/internal/policy"
)

func TestLookAt(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	s.put("work/.assent/rules.yaml", denyRm)
	s.put("new.yaml", allowTwo)
	s.put("broken.yaml", broken)
	s.put("large.yaml", strings.Repeat("#", maxFile+1))
	cfg := Config{User: s.path("user.yaml"), Own: s.path("own.yaml"), Home: s.dir}
	inRepository := Config{User: s.path("work/.assent/rules.yaml"), Home: s.dir}
	type found struct {
		name  string
		layer policy.Layer
		there bool
	}
	for _, row := range []struct {
		what, name, root string
		cfg              Config
		want             []found
		rules            int
		problem          string
	}{
		{what: "the broker's", cfg: cfg, want: []found{{"user.yaml", policy.User, true}, {"own.yaml", policy.Assent, false}}, rules: 1},
		{what: "and a repository's", cfg: cfg, root: s.path("work"), want: []found{{"user.yaml", policy.User, true}, {"own.yaml", policy.Assent, false}, {"work/.assent/rules.yaml", policy.Repository, true}}, rules: 2},
		{what: "a repository without", cfg: cfg, root: s.path("elsewhere"), want: []found{{"user.yaml", policy.User, true}, {"own.yaml", policy.Assent, false}, {"elsewhere/.assent/rules.yaml", policy.Repository, false}}, rules: 1},
		{what: "one that is named", cfg: cfg, name: s.path("new.yaml"), root: s.path("work"), want: []found{{"new.yaml", policy.User, true}}, rules: 2},
		{what: "a repository's that is named", cfg: inRepository, name: s.path("work/.assent/rules.yaml"), want: []found{{"work/.assent/rules.yaml", policy.Repository, true}}, rules: 1},
		{what: "with a mistake", cfg: cfg, name: s.path("broken.yaml"), want: []found{{"broken.yaml", policy.User, true}}, problem: "allwo"},
	} {
		t.Run(row.what, func(t *testing.T) {
			l, err := LookAt(row.cfg, row.name, row.root)
			if err != nil {
				t.Fatal(err)
			}
			var got []found
			for _, f := range l.Files {
				got = append(got, found{strings.TrimPrefix(f.Name, s.dir+"/"), f.Layer, f.There})
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("looked at %v, want %v", got, row.want)
			}
			set, problems := l.Load(false)
			switch {
			case row.problem != "":
				if set != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, row.problem) {
					t.Errorf("problems %v, want one of %q", problems, row.problem)
				}
			case len(problems) > 0:
				t.Errorf("problems %v", problems)
			case len(set.Rules()) != row.rules:
				t.Errorf("%d rules, want %d", len(set.Rules()), row.rules)
			}
		})
	}
	if _, err := LookAt(cfg, s.path("large.yaml"), ""); err == nil || !strings.Contains(err.Error(), "is larger than 1048576 bytes") {
		t.Errorf("one that is too large: %v", err)
	}
	if _, err := LookAt(cfg, s.path("none.yaml"), ""); err == nil || !strings.HasPrefix(err.Error(), "read rules: ") || !strings.Contains(err.Error(), "name a file that is there") {
		t.Errorf("none: %v", err)
	}
	// What the broker would not trust is a problem here too.
	if err := os.Chmod(s.path("user.yaml"), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := LookAt(cfg, "", "")
	if err != nil || len(l.Problems) != 1 || l.Problems[0].File != s.path("user.yaml") {
		t.Errorf("one that others can write: %v, %v", l, err)
	}
	if set, problems := l.Load(true); set != nil || len(problems) != 1 {
		t.Errorf("loaded all the same: %v", problems)
	}
}
