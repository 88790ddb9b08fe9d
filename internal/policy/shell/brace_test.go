package shell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestShellsExpandBracesAlike lets bash and zsh print the arguments that they make of random words
// with braces and $'…' that are read as certain. Nothing but printf runs.
func TestShellsExpandBracesAlike(t *testing.T) {
	for _, shell := range []string{"bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not installed")
			}
			options := []string{"--norc", "--noprofile"}
			if shell == "zsh" {
				options = []string{"-f"}
			}
			texts, want := braceTexts(Options{Dir: "/p", Home: "/home/x", Zsh: shell == "zsh"})
			least := 2_000
			if testing.Short() {
				least /= 8
			}
			if len(texts) < least {
				t.Fatalf("only %d texts are certain: the test says little", len(texts))
			}
			// Each is tried by itself: what a shell refuses to read, it does not run either.
			var script strings.Builder
			script.WriteString("arguments() { printf '%s\\0' \"$#\" \"$@\"; }\n")
			for _, text := range texts {
				script.WriteString("eval '" + strings.ReplaceAll(text, "'", `'\''`) + "' 2>/dev/null || printf 'refused\\0'\n")
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "script")
			if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, append(options, file)...)
			cmd.Dir = filepath.Join(dir, "empty")
			if err := os.Mkdir(cmd.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd.Env = []string{"PATH=/nowhere", "HOME=/home/x", "LC_ALL=C.UTF-8"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %.300s", err, out)
			}
			got := strings.Split(string(out), "\x00")
			refused := 0
			for i, words := range want {
				if got[0] == "refused" {
					got, refused = got[1:], refused+1
					continue
				}
				expect := append([]string{fmt.Sprint(len(words))}, words...)
				if len(got) < len(expect) || strings.Join(got[:len(expect)], "\x00") != strings.Join(expect, "\x00") {
					t.Fatalf("%q: %s gives %.200q, we read %q", texts[i], shell, got[:min(len(got), len(expect)+2)], expect)
				}
				got = got[len(expect):]
			}
			if refused > len(texts)/5 {
				t.Errorf("%s refuses %d of %d texts: the test says little", shell, refused, len(texts))
			}
		})
	}
}

// braceTexts makes commands with braces of which every word is certain, and what they are.
func braceTexts(o Options) (texts []string, want [][]string) {
	rng := rand.New(rand.NewPCG(13, 1))
	tokens := []string{"{", "{", "{", "}", "}", "}", ",", ",", ",", "..", "a", "b", "C", "1", "3", "12", "-", "-2", "0", "{a,b}", "{1..3}", "{}", "~/", "/", "=", ".", "'{'", "'a,b'", `"}"`, `"x y"`, `\,`, `\{`, `\}`, `\;`, "''", "$'\\x41'", "$'\\t'", "$'a\\'b'", "$'\\101\\u0042'", "@", "é", " "}
	runs := 30_000
	if testing.Short() {
		runs /= 8
	}
	for range runs {
		var b strings.Builder
		b.WriteString("arguments ")
		for range rng.IntN(10) + 1 {
			b.WriteString(tokens[rng.IntN(len(tokens))])
		}
		s := Read(b.String(), o)
		if len(s.Doubts) > 0 || len(s.Units) != 1 || s.Units[0].Kind != Command || s.Units[0].Program != "arguments" {
			continue
		}
		var words []string
		static, special := true, strings.Contains(b.String(), "$'")
		for _, w := range s.Units[0].Argv[1:] {
			static = static && w.Static
			words = append(words, w.Text)
		}
		if static && (special || strings.Join(words, " ") != strings.TrimSpace(b.String()[len("arguments"):])) {
			texts, want = append(texts, b.String()), append(want, words)
		}
	}
	return texts, want
}

// TestBracesAreBounded: what would become too many words stays one that nobody knows.
func TestBracesAreBounded(t *testing.T) {
	for _, text := range []string{
		"a " + strings.Repeat("{b,c}", 30), "a {1..999999999}", "a " + strings.Repeat("{1..60}", 20), "a " + strings.Repeat("{b,", 40) + "c" + strings.Repeat("}", 40),
		"a {" + strings.Repeat("b,", 3000) + "c}", "a {" + strings.Repeat("b", 4000) + "," + strings.Repeat("c", 3000) + "}{1..60}",
	} {
		for _, u := range Read(text, here).Units {
			for _, w := range u.Argv[1:] {
				if w.Static {
					t.Errorf("%.60q: %.60q is said to be certain", text, w.Text)
				}
			}
		}
	}
}
