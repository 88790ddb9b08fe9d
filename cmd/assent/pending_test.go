package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"assent/internal/api"
)

// TestPendingOfALongDirectory: the name of one directory pushes nothing out of sight that any request would do.
func TestPendingOfALongDirectory(t *testing.T) {
	long := &api.Request{}
	long.ID, long.Number, long.CWD, long.ToolName, long.CreatedAt = "a", 1, "/home/dev/"+strings.Repeat("verylongname-", 15)+"end", "Bash", time.Now()
	short := &api.Request{}
	short.ID, short.Number, short.CWD, short.ToolName, short.CreatedAt = "b", 2, "/home/dev/shop", "Bash", time.Now()
	var out bytes.Buffer
	a := &app{out: &out, err: &out}
	a.printWaiting([]*api.Request{long, short})
	for line := range strings.Lines(out.String()) {
		if at := strings.Index(line, "Use Bash"); at < 0 && !strings.HasPrefix(line, "NUMBER") || at > 80 {
			t.Errorf("what it would do stands at %d of %q", at, line)
		}
	}
	if !strings.Contains(out.String(), "verylongname") || !strings.Contains(out.String(), "-end") {
		t.Errorf("neither end of the name is there: %s", out.String())
	}
	for _, width := range []int{20, 60, 80, 200} {
		if place := placeOf(long, false, width); len([]rune(place)) > max(width/4, 12)+3 {
			t.Errorf("at %d columns: %q", width, place)
		}
	}
}

// TestPendingOfAWideName: a name in characters of two columns takes no more of the line than another.
func TestPendingOfAWideName(t *testing.T) {
	r := &api.Request{}
	r.CWD = "/home/dev/" + strings.Repeat("漢字", 30)
	for _, columns := range []int{40, 80, 200} {
		if place := placeOf(r, false, columns); ansi.StringWidth(place) > max(columns/4, 12)+3 {
			t.Errorf("at %d columns %q takes %d", columns, place, ansi.StringWidth(place))
		}
	}
}
