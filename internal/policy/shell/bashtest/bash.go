// Package bashtest asks bash itself how it reads a command. bash --pretty-print FILE prints its own
// reading and runs nothing. It is for tests.
package bashtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Printable says whether bash prints a text so that it can be read again.
func Printable(text string) bool {
	return !unprintable.MatchString(text) && !controlled.MatchString(text) && !translated.MatchString(text) && !escaped.MatchString(text)
}

// bash prints $'…' decoded, control characters and all, which then are refused.
var controlled = regexp.MustCompile(`\$'[^']*\\[^nt\\']`)

// bash reads a list after a here-document well, and then prints it without its separators; so with
// one in a condition, and with a list after a pipe that goes on behind the here-document.
var unprintable = regexp.MustCompile(`(?:^|[^<])<<[^<\n][^\n]*(?:[;&]|\|\|)|\b(?:if|elif|while|until)\b[^\n]*[^<]<<[^<]|(?s:(?:^|[^<])<<[^<].*(?:esac|fi|done|[)}])[^\n]*[;&])|(?:^|[^<])<<[^<\n][^\n]*\|[&\s]*(?:#[^\n]*)?\n(?s:.*)[;&]`)

// bash prints $"x" as "x". What is known of a word is what a loop and a case are read by, so that those differ.
var translated = regexp.MustCompile(`(?s)\b(?:for|case|select)\b.*\$"`)

// bash takes the & at the end of a condition that ends in \& for one that needs no ; behind it, and prints none. It runs a
// program whose name is &.
var escaped = regexp.MustCompile(`(?s)\b(?:if|elif|while|until)\b.*\\&[ \t]*[;\n]\s*(?:then|do)\b`)

// Differences returns the texts of which bash reads other commands than the given function does. It asks about all at once, and
// about each only when that does not come out even.
func Differences(t *testing.T, commands func(string) []string, texts []string) []string {
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
			if !alike(commands, text, out[from:max(from, to)]) {
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
	return append(Differences(t, commands, texts[:half]), Differences(t, commands, texts[half:])...)
}

func alike(commands func(string) []string, text, printed string) bool {
	a, b := commands(text), commands(printed)
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

// Pretty is how bash reads a text.
func Pretty(t *testing.T, text string) string {
	out, err := prettyPrint(t, text)
	if err != nil {
		return out + "; " + err.Error()
	}
	return out
}
