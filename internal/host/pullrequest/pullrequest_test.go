package pullrequest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/api"
)

func TestOpens(t *testing.T) {
	for command, want := range map[string]bool{
		"gh pr create --draft --fill":                              true,
		"cd app && git push -u origin HEAD && gh pr create -t 'x'": true,
		"gh pr --repo o/r create":                                  true,
		"GH_TOKEN=x /usr/bin/gh pr new":                            true,
		"glab mr create --yes":                                     true,
		"gh pr view 7 --template create":                           false,
		"gh pr comment 7 -b create":                                false,
		"gh pr createx":                                            false,
		"gh  pr\tcreate":                                           true,
		"gh pr view 7":                                             false,
		"gh pr list; make create":                                  false,
		"gh issue create":                                          false,
		"tough pr create":                                          false,
		"git push":                                                 false,
		"":                                                         false,
	} {
		if got := Opens(command); got != want {
			t.Errorf("%q: %t", command, got)
		}
	}
}

func TestFind(t *testing.T) {
	for output, want := range map[string]api.AgentPR{
		"\nCreating draft pull request for x into main in o/r\n\nhttps://github.com/o/r/pull/42\n":                                         {URL: "https://github.com/o/r/pull/42", Number: 42},
		"remote: Create a pull request for 'x' by visiting:\n https://github.com/o/r/pull/new/x\nhttps://github.com/o/r/pull/7/files":      {URL: "https://github.com/o/r/pull/7", Number: 7},
		"!9 x (y)\n https://gitlab.example.com:8443/group/sub/r/-/merge_requests/9\n":                                                      {URL: "https://gitlab.example.com:8443/group/sub/r/-/merge_requests/9", Number: 9},
		"https://git.example.net/o/r/pulls/3 https://git.example.net/o/r/pulls/4.":                                                         {URL: "https://git.example.net/o/r/pulls/4", Number: 4},
		"http://github.com/o/r/pull/1 https://github.com/pull/1 https://github.com/o/r/issues/1 https://u:p@github.com/o/r/pull/1 nothing": {},
		"https://github.com/o/r/pull/0 https://github.com/o/r/pull/12345678901":                                                            {},
		"https://github.com/" + strings.Repeat("a", 600) + "/r/pull/1":                                                                     {},
		"": {},
	} {
		if got, ok := Find(output); got != want || ok != (want.URL != "") {
			t.Errorf("%.80q: %+v, %t", output, got, ok)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("https://github.com/o/r/pull/42")
	f.Add("https://a/b/c/-/merge_requests/9")
	f.Fuzz(func(t *testing.T, output string) {
		pr, ok := Find(output)
		if !ok {
			return
		}
		if !strings.HasPrefix(pr.URL, "https://") || !strings.Contains(output, pr.URL) || pr.Number < 1 || strings.ContainsAny(pr.URL, "\"'<> \n\x1b@") {
			t.Errorf("%+v", pr)
		}
	})
}

// gh is believed where nobody but the person can have put it there, and only on the very pull request.
func TestKnown(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "project")
	bin := func(where, script string) string {
		t.Helper()
		where = filepath.Join(dir, where)
		if err := os.MkdirAll(where, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(where, "gh"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return "PATH=" + where
	}
	pr := api.AgentPR{URL: "https://github.com/o/r/pull/42", Number: 42}
	knows := `[ "$*" = "pr view https://github.com/o/r/pull/42 --json url,number" ] && echo '{"number":42,"url":"https://github.com/o/r/pull/42"}'`
	open := bin("open", knows)
	if err := os.Chmod(filepath.Join(dir, "open", "gh"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		want bool
	}{
		"it knows it":                     {bin("good", knows), true},
		"it does not":                     {bin("bad", "echo no such pull request >&2; exit 1"), false},
		"it knows another":                {bin("other", `echo '{"number":43,"url":"https://github.com/o/r/pull/43"}'`), false},
		"it prints something else":        {bin("odd", "echo hello"), false},
		"it prints without end":           {bin("endless", "while echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; do :; done"), false},
		"the agent may have put it there": {bin("project/bin", knows), false},
		"anybody may have":                {open, false},
		"there is none":                   {"PATH=" + dir, false},
		"a directory of the moment":       {"PATH=good", false},
	} {
		if got := Known(t.Context(), []string{c.path}, dir, project, pr); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
