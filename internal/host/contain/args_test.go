package contain

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args string
		want Config
		err  string
	}{
		{"-- a b", Config{Project: "/here", Argv: []string{"a", "b"}}, ""},
		{"--project /p --read /a --read=/b --env X --env=Y -- a -- --read x", Config{Project: "/p", Read: []string{"/a", "/b"}, Env: []string{"X", "Y"}, Argv: []string{"a", "--", "--read", "x"}}, ""},
		{"--shell bash -- a", Config{Project: "/here", Shell: "bash", Argv: []string{"a"}}, ""},
		{"--project /p --project /q -- a", Config{}, "twice"},
		{"--project", Config{}, "needs a value"},
		{"--env X=1 -- a", Config{}, "takes a name"},
		{"--env --", Config{}, "no command"},
		{"a", Config{}, "unknown word"},
	} {
		got, err := Parse(strings.Fields(c.args), "/here")
		if c.err == "" && (err != nil || !reflect.DeepEqual(got, c.want)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %+v, %v; want %+v, %s", c.args, got, err, c.want, c.err)
		}
	}
}

// FuzzParse: what is not refused runs exactly what stands behind the first --.
func FuzzParse(f *testing.F) {
	f.Add("--project\n/p\n--\na")
	f.Add("--read=/x\n--shell\nsh\n--\na b")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		c, err := Parse(args, "/here")
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00\x1b") {
				t.Errorf("not one line: %q", err)
			}
			return
		}
		tail := args[len(args)-len(c.Argv):]
		if !slices.Equal(tail, c.Argv) || args[len(args)-len(c.Argv)-1] != "--" {
			t.Errorf("%q runs %q", args, c.Argv)
		}
		if c.Project[0] != '/' || len(c.Argv) == 0 {
			t.Errorf("%+v", c)
		}
	})
}

// TestEnvironment: by names that are allowed, and no others.
func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "HOME=/h", "API_KEY=x", "LC_TIME=C", "LD_PRELOAD=x", "BASH_ENV=x", "ENV=x", "GIT_DIR=x", "PATH=/evil", "TMPDIR=/x", "LC_ALL=() { echo; }", "LC_TOKEN=x", "=x", "x", "A=1", "GIT_CONFIG_GLOBAL=/g", "HOMEX=1"},
		[]string{"A", "GIT_CONFIG_GLOBAL", "MISSING"}, "/t")
	want := []string{"TMPDIR=/t", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "PATH=/bin", "HOME=/h", "LC_TIME=C", "A=1", "GIT_CONFIG_GLOBAL=/g"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
