package suggest

import (
	"maps"
	"slices"
	"testing"

	"assent/internal/policy/shell"
)

// The lists that the code asks for are there, and no others; those that say why no rule is made
// share no name.
func TestPrograms(t *testing.T) {
	want := []string{"file", "filter", "hooks", "interpreter", "project", "project subcommands", "runner", "shell", "subcommands", "wrapper"}
	if got := slices.Sorted(maps.Keys(programs())); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	stands := map[string]string{}
	for _, list := range []string{"shell", "interpreter", "wrapper", "file", "runner"} {
		for name := range programs()[list] {
			if other := stands[name]; other != "" {
				t.Errorf("%s stands in %q and %q", name, other, list)
			}
			stands[name] = list
		}
	}
}

func TestProjectCode(t *testing.T) {
	const files, hooks = "It does what files of the project say, which the agent can change.", "It runs the hooks of the repository."
	for _, tt := range []struct{ command, want string }{
		{"make", files}, {"cargo fmt", files}, {"npm run x", files}, {"go test ./...", files}, {"go version", ""}, {"go", ""},
		{"git commit -m x", hooks}, {"git status", ""}, {"ls", ""},
	} {
		t.Run(tt.command, func(t *testing.T) {
			script := shell.Read(tt.command, shell.Options{Dir: "/p", Project: "/p"})
			i := slices.IndexFunc(script.Units, func(u shell.Unit) bool { return !u.DenyOnly })
			if got := projectCode(&script.Units[i]); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
