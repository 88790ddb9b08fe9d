package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
)

// commands reads one of the tables in testdata.
func commands(t *testing.T, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	if len(all) == 0 {
		t.Fatalf("testdata/%s is empty", name)
	}
	return all
}

// asksAll is that the set allows none of the commands in a file of testdata, and allowsAll that it allows all.
func asksAll(t *testing.T, set *Set, file string) {
	for _, c := range commands(t, file) {
		t.Run(c, func(t *testing.T) {
			if v := set.Eval(bashCall(c)); v.Action == hook.ActionAllow {
				t.Errorf("allowed by %s: %s", v.Rule, c)
			}
		})
	}
}

func allowsAll(t *testing.T, set *Set, file string) {
	for _, c := range commands(t, file) {
		t.Run(c, func(t *testing.T) {
			if v := set.Explain(bashCall(c)); v.Action != hook.ActionAllow {
				t.Errorf("%s: %s (%s)", c, v.Reason, miss(v))
			}
		})
	}
}

// No reading pack, and not all of them together, allows what writes, runs, connects elsewhere or
// shows secrets.
func TestPacksAsk(t *testing.T) {
	asksAll(t, readers(t), "packs-ask.txt")
}

// All reading packs together allow what people's agents do all day.
func TestPacksAllow(t *testing.T) {
	allowsAll(t, readers(t), "packs-allow.txt")
}

// Every pack loads, and says in its first lines what it promises.
func TestPacksLoad(t *testing.T) {
	for _, name := range Packs() {
		t.Run(name, func(t *testing.T) {
			if _, err := Load([]Source{{Name: "x", Data: []byte("version: 1\nuse: [" + name + "]\n")}}, LoadOptions{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			data, err := pack(name)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(data), "version:")
			want := "What is promised:"
			if runsProject(name) {
				want = "RUNS CODE OF THE PROJECT"
			}
			if !strings.HasPrefix(head, "# "+name+":") || !strings.Contains(head, want) {
				t.Errorf("%s does not say %q in front", name, want)
			}
		})
	}
}

// runsProject says whether a pack runs code of the project.
func runsProject(name string) bool {
	return strings.Contains(name, "project") || strings.Contains(name, "coding")
}

func BenchmarkPacks(b *testing.B) {
	set, err := Load([]Source{{Name: "x", Data: []byte("version: 1\nuse: [builtin/readonly@1, builtin/git-read@1]\n")}}, LoadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []string{"ls -la", "git status", "cat main.go | grep -n foo | head -5", "find . -name '*.go' -exec grep -l foo {} +", "sed -n 1,20p x"} {
		b.Run(c, func(b *testing.B) {
			call := bashCall(c)
			for b.Loop() {
				set.Eval(call)
			}
		})
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := Load([]Source{{Name: "x", Data: []byte("version: 1\nuse: [builtin/readonly@1, builtin/git-read@1]\n")}}, LoadOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
