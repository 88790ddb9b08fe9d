package files

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"assent/internal/hook"
	"assent/internal/text/show"
)

func read(t *testing.T, command string) (*hook.Reading, func(start, end int) string) {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	r := Reading("/home/dev")(&hook.Request{ToolName: "Bash", CWD: "/srv/shop", ToolInput: input})
	shown := utf16.Encode([]rune(show.Text(command)))
	return r, func(start, end int) string { return string(utf16.Decode(shown[start:end])) }
}

// TestReadingMarksWhatIsShown: every place is in the text that a person looks at.
func TestReadingMarksWhatIsShown(t *testing.T) {
	r, at := read(t, "cd /tmp && echo \"\u202e ä😀\" $HOME | tee -a out.txt; X=1 timeout 5 bash -c 'git push'")
	var got []string
	for _, u := range r.Units {
		line := u.Kind + " " + u.Text + ": " + at(u.Start, u.End)
		for _, w := range u.Words {
			line += " [" + w.Kind + " " + at(w.Start, w.End) + "]"
		}
		got = append(got, strings.TrimSpace(line+" "+strings.Join(u.Via, ",")+" "+u.Dir))
	}
	want := []string{
		"command cd /tmp: cd /tmp [program cd]",
		"command echo ⟦U+202E⟧ ä😀 /home/dev: echo \"⟦U+202E⟧ ä😀\" $HOME [program echo] [expansion $HOME]  /tmp",
		"command tee -a out.txt: tee -a out.txt [program tee] [flag -a]  /tmp",
		"assign X=1: X=1",
		"command git push: 'git push' timeout,bash -c",
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("units\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, line := range got[len(want):] {
		if strings.Contains(line, "[") {
			t.Errorf("a guess is coloured: %s", line)
		}
	}
}

func TestReadingIsOfShellCommandsOnly(t *testing.T) {
	for _, req := range []hook.Request{
		{ToolName: "Edit", ToolInput: hook.JSON(`{"command":"ls"}`)},
		{ToolName: "Bash", ToolInput: hook.JSON(`{"command":7}`)},
		{ToolName: "Bash", ToolInput: hook.JSON(`{"command":"ls","COMMAND":"rm"}`)},
		{ToolName: "Bash", ToolInput: hook.JSON(`{"command":"ls"}`), Uninspectable: "why"},
		{ToolName: "Bash"},
	} {
		if r := Reading("")(&req); r != nil {
			t.Errorf("%s %s: %+v", req.ToolName, req.ToolInput, r)
		}
	}
}

func TestReadingIsBounded(t *testing.T) {
	r, _ := read(t, strings.Repeat("a -b $c; ", 1000)+strings.Repeat("x", 1000))
	words := 0
	for _, u := range r.Units {
		words += len(u.Words)
	}
	if len(r.Units) != maxUnits || r.MoreUnits != 1001-maxUnits || words > maxUnitWords || len(r.Doubts) > maxDoubts {
		t.Errorf("%d units, %d more, %d words, %d doubts", len(r.Units), r.MoreUnits, words, len(r.Doubts))
	}
	b, err := json.Marshal(r)
	if err != nil || len(b) > 64<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if r, _ := read(t, strings.Repeat("y", 1000)); len([]rune(r.Units[0].Text)) != maxUnitText+1 {
		t.Errorf("the text of a unit has %d characters", len([]rune(r.Units[0].Text)))
	}
}

func TestReadingSaysWhyItDoubts(t *testing.T) {
	r, at := read(t, "ls\u200b; eval \"$x\"")
	if len(r.Doubts) == 0 || at(r.Doubts[0].Start, r.Doubts[0].End) != "⟦U+200B⟧" || r.Doubts[0].Why == "" {
		t.Errorf("doubts %+v", r.Doubts)
	}
}

// TestReadingIsRemembered: what is remembered is what would be said anew, whatever differs between two requests.
func TestReadingIsRemembered(t *testing.T) {
	of := Reading("/home/dev")
	base := hook.Request{ToolName: "Bash", CWD: "/srv/shop", ToolInput: hook.JSON(`{"command":"cd .. && make -C ~/x && ./build.sh > out"}`)}
	vary := map[string]func(*hook.Request){
		"nothing": func(*hook.Request) {},
		"command": func(q *hook.Request) { q.ToolInput = hook.JSON(`{"command":"rm -rf /"}`) },
		"cwd":     func(q *hook.Request) { q.CWD = "/srv/shop/web" },
		"no cwd":  func(q *hook.Request) { q.CWD = "" },
		"project": func(q *hook.Request) { q.ProjectDir = "/srv" },
		"root":    func(q *hook.Request) { q.Repo.Root = "/srv/shop" },
		"tool":    func(q *hook.Request) { q.ToolName = "Edit" },
		"two":     func(q *hook.Request) { q.Uninspectable = "case" },
	}
	for range 2 {
		for name, change := range vary {
			q := base
			change(&q)
			if got, want := of(&q), Reading("/home/dev")(&q); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
	if first, second := of(&base), of(&base); first != second {
		t.Error("a command is read twice")
	}
}
