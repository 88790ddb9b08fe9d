package report

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata anew")

// sample is a run with one request of each kind.
func sample() Run {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	exit := 0
	return Run{
		Version: "v1.0.0", ClientVersion: "2.1.329", Command: []string{"claude", "-p", "fix the tests"}, Broker: "https://box.example.net",
		StartedAt: at, EndedAt: at.Add(372 * time.Second), Timeout: 300, Exit: 86, AgentExit: &exit,
		Problems: []Problem{{Key: "newer-version", Text: "Claude Code is newer than what was tried"}, {Key: "no-hooks", Text: "no hook asked", Error: true}},
		Requests: []Request{
			{ID: "1", Tool: "Bash", Summary: "go test ./...", Text: "go test ./...", CreatedAt: at, LatencyMS: 3, Verdict: Allowed, By: By{Kind: Rule, Name: "go-test", File: "/ci/rules.yaml"}},
			{ID: "2", Tool: "Write", Summary: "/w/a|b.go", Text: "/w/a|b.go", CreatedAt: at, LatencyMS: 41_200, Verdict: Allowed, By: By{Kind: Person, Name: "Eva's phone"}},
			{ID: "3", Tool: "Bash", Summary: "npm run build⏎npm publish", Text: "npm run build\nnpm publish", CreatedAt: at, LatencyMS: 299_041, Verdict: Denied, By: By{Kind: Timeout}, Message: "Nobody answered.",
				Proposals: []Proposal{{Sentence: "Run `npm run build`", Warnings: []string{"scripts change"}, Rule: "  - action: allow\n    match: {command: {program: npm}}\n"}, {Sentence: "Run more", Rule: "  - action: allow\n"}}},
			{ID: "4", Tool: "Bash", Summary: "curl x", Text: "curl x", CreatedAt: at, LatencyMS: 1, Verdict: Denied, By: By{Kind: Failure}, Reason: "HTTP 500", Message: "Could not ask.", NoProposal: "no rule is narrow enough"},
			{ID: "5", Tool: "Bash", Summary: "sleep 1", CreatedAt: at, LatencyMS: 1, Verdict: Withdrawn, By: By{Kind: Agent}},
		},
	}
}

func TestForms(t *testing.T) {
	run := sample()
	x, err := JUnit(run)
	if err != nil {
		t.Fatal(err)
	}
	j, err := JSON(run)
	if err != nil {
		t.Fatal(err)
	}
	for ext, got := range map[string][]byte{".md": Markdown(run), ".xml": x, ".json": j} {
		file := filepath.Join("testdata", "report"+ext)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s (%v) is now\n%s", file, err, got)
		}
	}
}

func TestFailed(t *testing.T) {
	for name, tt := range map[string]struct {
		run  Run
		want bool
	}{
		"nothing asked":   {Run{}, false},
		"all allowed":     {Run{Requests: []Request{{Verdict: Allowed}, {Verdict: Withdrawn}}}, false},
		"one denied":      {Run{Requests: []Request{{Verdict: Allowed}, {Verdict: Denied}}}, true},
		"a note":          {Run{Problems: []Problem{{Key: "n"}}}, false},
		"a problem":       {Run{Problems: []Problem{{Key: "n", Error: true}}}, true},
		"more than shown": {Run{Omitted: 1}, true},
	} {
		if got := tt.run.Failed(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	if err := Writable(filepath.Join(path, "below")); err == nil {
		t.Error("a directory that is not there can be written to")
	}
	if err := Writable(path); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, sample()); err != nil {
		t.Fatal(err)
	}
	for _, ext := range extensions {
		if fi, err := os.Stat(path + ext); err != nil || fi.Size() == 0 || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", ext, fi, err)
		}
	}
}

// hostile is a run whose agent put this text everywhere it can.
func hostile(text string) Run {
	run := sample()
	run.Command = []string{text}
	run.Problems = []Problem{{Key: "k", Text: text}}
	for i := range run.Requests {
		r := &run.Requests[i]
		r.Tool, r.Summary, r.Text, r.Message, r.Reason, r.NoProposal, r.By.Name, r.By.File = text, text, text, text, text, text, text, text
		r.Proposals = []Proposal{{Sentence: text, Warnings: []string{text}, Rule: text}}
	}
	return run
}

// outside is what of Markdown is neither in a block of code nor in a code span.
func outside(t *testing.T, md string) string {
	var b strings.Builder
	fence := ""
	for _, line := range strings.Split(md, "\n") {
		row := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if len(row) >= len(fence) && strings.TrimSpace(line[len(row):]) == "" {
				fence = ""
			}
		case len(row) >= 3 && !strings.Contains(line[len(row):], "`"):
			fence = row
		default:
			b.WriteString(spans(t, line) + "\n")
		}
	}
	if fence != "" {
		t.Errorf("a block of code has no end in\n%s", md)
	}
	return b.String()
}

// spans takes the code spans out of a line: a row of backticks ends at the next row of its length.
func spans(t *testing.T, line string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			return b.String() + line
		}
		b.WriteString(line[:i])
		line = line[i:]
		n := len(line) - len(strings.TrimLeft(line, "`"))
		line = line[n:]
		for end := false; !end; {
			j := strings.IndexByte(line, '`')
			if j < 0 {
				t.Errorf("a code span has no end: %q", line)
				return b.String()
			}
			line = line[j:]
			m := len(line) - len(strings.TrimLeft(line, "`"))
			line, end = line[m:], m == n
		}
	}
}

func FuzzForms(f *testing.F) {
	for _, s := range []string{"EVIL", "`EVIL`", "``` \nEVIL", "````\nEVIL", "|EVIL|", "<b>EVIL</b>", "]]>EVIL", "![EVIL](http://x)", "\\`EVIL", "`\n# EVIL", "EVIL\x00\x1b\uFFFE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		run := hostile("EVIL" + s + "EVIL")
		if left := outside(t, string(Markdown(run))); strings.Contains(left, "EVIL") {
			t.Errorf("%q stands outside of code:\n%s", s, left)
		}
		x, err := JUnit(run)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for d := xml.NewDecoder(strings.NewReader(string(x))); ; {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, x)
			}
			if e, ok := tok.(xml.StartElement); ok && !slices.Contains(names, e.Name.Local) {
				names = append(names, e.Name.Local)
			}
		}
		if got := strings.Join(names, " "); got != "testsuites testsuite testcase system-out failure skipped" {
			t.Errorf("elements %s", got)
		}
		j, err := JSON(run)
		if err != nil || !json.Valid(j) {
			t.Errorf("%v in %s", err, j)
		}
	})
}
