package shell

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// TestBashGivesTheSameArguments lets bash print the arguments that it makes of random words that
// are read as static, in an empty directory, with no program to run.
func TestBashGivesTheSameArguments(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	tokens := []string{"'", "'", `"`, `"`, `\`, `\`, "a", "b", "~", "~/", "/", "=", ":", "{", "}", ",", "..", "1", "*", "?", "[", "]", "!", "#", " ", " ", "\n", "\\\n", " \\\n", "^", "-", "%", "@", "+", ".", "é", "\t", "$", "''", `""`}
	runs := 120_000
	if testing.Short() {
		runs /= 8
	}
	var texts []string
	var want [][]Word
	o := Options{Dir: "/p", Home: "/home/x"}
	for range runs {
		var b strings.Builder
		for range rng.IntN(9) + 1 {
			b.WriteString(tokens[rng.IntN(len(tokens))])
		}
		text := "arguments " + b.String()
		s := Read(text, o)
		if len(s.Doubts) > 0 || len(s.Units) != 1 || s.Units[0].Kind != Command || s.Units[0].Program != "arguments" {
			continue
		}
		static := true
		for _, w := range s.Units[0].Argv {
			static = static && w.Static
		}
		if static {
			texts, want = append(texts, text), append(want, s.Units[0].Argv)
		}
	}
	if len(texts) < runs/10 {
		t.Fatalf("only %d of %d texts are static: the test says little", len(texts), runs)
	}
	bad := 0
	for len(texts) > 0 {
		n := min(2000, len(texts))
		script := "arguments() { printf '%s\\0' \"$#\" \"$@\"; }\n" + strings.Join(texts[:n], "\n") + "\n"
		cmd := exec.Command(bash, "--norc", "--noprofile", "-s")
		cmd.Stdin = strings.NewReader(script)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=/nowhere", "HOME=" + o.Home, "LC_ALL=C.UTF-8"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("bash: %v: %.300s", err, out)
		}
		got := strings.Split(string(out), "\x00")
		for i := range n {
			var expect []string
			for _, w := range want[i][1:] {
				expect = append(expect, w.Text)
			}
			if len(got) < len(expect)+1 || got[0] != fmt.Sprint(len(expect)) || strings.Join(got[1:len(expect)+1], "\x00") != strings.Join(expect, "\x00") {
				t.Errorf("%q: bash gives %.200q, we read %q", texts[i], got[:min(len(got), len(expect)+2)], expect)
				if bad++; bad > 10 {
					t.FailNow()
				}
				break
			}
			got = got[len(expect)+1:]
		}
		texts, want = texts[n:], want[n:]
	}
}
