package terminal

import (
	"strings"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

func TestDifference(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          []string
	}{
		{"a", "a", []string{"  a"}},
		{"a\nb\nc", "a\nB\nc\nd", []string{"  a", "− b", "+ B", "  c", "+ d"}},
		{"a\n", "a", []string{"  a", "− the line break at the end"}},
		{"a", "a\n", []string{"  a", "+ a line break at the end"}},
		{"", "x", []string{"− ", "+ x"}},
		{"--- a\n+++ b\n@@ x", "--- a\n@@ x", []string{"  --- a", "− +++ b", "  @@ x"}},
	} {
		var got []string
		for _, l := range Difference(c.before, c.after) {
			got = append(got, Plain(l))
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q → %q: %q, want %q", c.before, c.after, got, c.want)
		}
	}
	big := strings.Repeat("x\n", mostCompared)
	if n := len(Difference(big, "y")); n != mostCompared+2 {
		t.Errorf("%d lines of a large text", n)
	}
}

// request is one with a command.
func request(command string) *api.Request {
	r := &api.Request{Number: 417, State: "pending"}
	r.ID, r.CWD, r.ToolName = "6f1d7e0a-3b52-4c59-9a55-0d3a3f6b8c10", "/home/dev/shop", "Bash"
	r.CreatedAt = time.Now().Add(-12 * time.Second)
	r.Deadline = time.Now().AddDate(0, 0, 2)
	r.Shown = &show.Shown{Verb: "Run a command", Fields: []show.Field{{Name: "command", Text: show.Text(command), Kind: show.KindCode}}}
	r.Effects = &hook.Effects{Risk: hook.Normal, Sentence: "Writes x"}
	return r
}

func TestDetail(t *testing.T) {
	r := request("echo 😀 && rm -rf ~/" + strings.Repeat("\n", 71) + "ls")
	r.Effects = &hook.Effects{
		Risk: hook.Danger, Sentence: "Deletes ~/", RiskReason: "It cannot be undone.",
		Effects: []hook.Effect{{Text: "Deletes ~/", Outside: true, Risk: hook.Danger}, {Text: "Reads x", Risk: hook.Calm}}, MoreEffects: 3,
		Marks: []hook.RiskMark{{Start: 11, End: 20, Risk: hook.Danger}}, // in UTF-16: the smiley is two
	}
	text := strings.Join(Detail(r, "a rule wants you to decide", time.Now(), 0), "\n")
	for _, want := range []string{
		"#417 · shop · 12s ago · until " + time.Now().AddDate(0, 0, 2).Format("2006-01-02"),
		Strong.On("Deletes ~/"), Danger.On("!! Danger: It cannot be undone."), "a rule wants you to decide",
		"echo 😀 && " + Danger.On("rm -rf ~/"), "⟦70 empty lines⟧", "  ls", Danger.On("!!") + " Deletes ~/", "and 3 more",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	// Without effects it is as bad as can be.
	r.Effects = nil
	if text := strings.Join(Detail(r, "", time.Now(), 0), "\n"); !strings.Contains(text, "!! Danger") || RiskOf(r) != hook.Danger {
		t.Errorf("without effects: %q", text)
	}
}

func TestEditsAreDifferences(t *testing.T) {
	r := request("")
	r.Shown.Fields = []show.Field{
		{Name: "file_path", Text: "/home/dev/shop/a.js", Kind: show.KindPath},
		{Name: "old_string", Text: "a\nb", Kind: show.KindDiffOld}, {Name: "new_string", Text: "a\nc\nd", Kind: show.KindDiffNew},
	}
	text := Plain(strings.Join(Input(r), "\n"))
	if want := "file_path: /home/dev/shop/a.js\nold_string → new_string  +2 −1\n  a\n− b\n+ c\n+ d"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
