package shell

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	mutantCount = flag.Int("mutants", 20_000, "how many mutants to compare with bash")
	mutantSeed  = flag.Uint64("mutant-seed", 1, "which mutants")
)

// TestBashReadsTheSame hands every mutant that is read without doubt to bash, which prints its
// own reading and runs nothing, and expects the same commands.
func TestBashReadsTheSame(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	var batch []string
	tried, certain, bad := 0, 0, 0
	flush := func() {
		certain += len(batch)
		for _, text := range disagreements(t, batch) {
			if bad++; bad <= 20 {
				t.Errorf("bash reads %q\nas          %q\nwe read     %q", text, pretty(t, text), Commands(text, Options{Dir: "/p", Home: "/h"}))
			}
		}
		batch = batch[:0]
	}
	for _, s := range seeds {
		batch = append(batch, certainOnly(strings.ReplaceAll(s, "⏎", "\n"))...)
	}
	flush()
	if certain < len(seeds)/2 {
		t.Errorf("only %d of %d plain commands are read without doubt", certain, len(seeds))
	}
	mutants(*mutantSeed, func(text string) bool {
		tried++
		if batch = append(batch, certainOnly(text)...); len(batch) >= 400 {
			flush()
		}
		return tried < *mutantCount
	})
	flush()
	t.Logf("%d mutants, %d without doubt, %d read differently", tried, certain, bad)
	if certain < tried/10 {
		t.Errorf("only %d of %d mutants are read without doubt: the comparison says little", certain, tried)
	}
}

func certainOnly(text string) []string {
	if len(Read(text, Options{Dir: "/p", Home: "/h"}).Doubts) > 0 || unprintable.MatchString(text) || controlled.MatchString(text) {
		return nil
	}
	return []string{text}
}

// bash prints $'…' decoded, control characters and all, which then are refused.
var controlled = regexp.MustCompile(`\$'[^']*\\[^nt\\']`)

// bash reads a list after a here-document well, and then prints it without its separators.
var unprintable = regexp.MustCompile(`<<[^<\n][^\n]*[;&]|(?s:<<[^<].*(?:esac|fi|done|[)}])[^\n]*[;&])`)

// disagreements returns the texts that bash reads differently. It asks about all at once, and
// about each only when that does not come out even.
func disagreements(t *testing.T, texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	var script strings.Builder
	for i, text := range texts {
		fmt.Fprintf(&script, ": mark%d\n%s\n", i, text)
	}
	fmt.Fprintf(&script, ": mark%d\n", len(texts))
	out, err := prettyPrint(t, script.String())
	if err == nil {
		at := 0
		var bad []string
		for i, text := range texts {
			head, next := fmt.Sprintf(": mark%d\n", i), fmt.Sprintf("\n: mark%d\n", i+1)
			if !strings.HasPrefix(out[at:], head) {
				bad = nil
				at = -1
				break
			}
			n := strings.Index(out[at+len(head)-1:], next)
			if n < 0 {
				at = -1
				break
			}
			from := at + len(head)
			to := at + len(head) - 1 + n
			at = to + 1
			if !alike(text, out[from:max(from, to)]) {
				bad = append(bad, text)
			}
		}
		if at >= 0 {
			return bad
		}
	}
	if len(texts) == 1 {
		return texts
	}
	half := len(texts) / 2
	return append(disagreements(t, texts[:half]), disagreements(t, texts[half:])...)
}

func alike(text, printed string) bool {
	o := Options{Dir: "/p", Home: "/h"}
	a, b := Commands(text, o), Commands(printed, o)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func prettyPrint(t *testing.T, script string) (string, error) {
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--norc", "--noprofile", "--pretty-print", file)
	cmd.Env = []string{"PATH=/nowhere", "LC_ALL=C.UTF-8"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), err
	}
	if errs.Len() > 0 {
		return out.String(), fmt.Errorf("%s", errs.String())
	}
	return out.String(), nil
}

func pretty(t *testing.T, text string) string {
	out, err := prettyPrint(t, text)
	if err != nil {
		return out + "; " + err.Error()
	}
	return out
}
