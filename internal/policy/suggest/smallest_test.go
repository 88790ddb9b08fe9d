package suggest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"assent/internal/hook"
)

// settle is a past in which each command ended as the word before it says.
func (d *desk) settle(lines ...string) []Settled {
	var past []Settled
	for i, line := range lines {
		how, command, _ := strings.Cut(line, " ")
		req := d.call("Bash", map[string]any{"command": command})
		req.ID = fmt.Sprint("r", i)
		past = append(past, Settled{Request: req, Allowed: how == "allowed", Refused: how == "denied" || how == "edited"})
	}
	return past
}

func TestSmallest(t *testing.T) {
	for _, row := range []struct {
		name  string
		rules string
		past  []string
		want  []string // of each rule: how many it answers, and what stands in it
		not   []string // stands in none
		saved Set
	}{
		{
			name:  "one rule for many",
			past:  []string{"allowed go test ./a", "allowed go test ./b", "allowed go test ./a", "allowed go test ./c"},
			want:  []string{"4 go"},
			saved: Set{Examined: 4, Allowed: 4, Answered: 4},
		},
		{
			name:  "what was denied is not allowed by the wide one",
			past:  []string{"allowed go test ./a", "allowed go test ./a", "denied go test ./b"},
			want:  []string{"2 ./a"},
			not:   []string{"./b"},
			saved: Set{Examined: 3, Allowed: 2, Answered: 2},
		},
		{
			name:  "nor what was edited",
			past:  []string{"allowed go test ./a", "allowed go test ./a", "edited go test ./a"},
			saved: Set{Examined: 3, Allowed: 2},
		},
		{
			name:  "what was allowed once is not worth a rule",
			past:  []string{"allowed go test ./a", "withdrawn go vet ./a", "withdrawn go vet ./a"},
			saved: Set{Examined: 3, Allowed: 1},
		},
		{
			name:  "what the rules allow needs none",
			rules: "version: 1\nallow: [Bash(go test *)]\n",
			past:  []string{"allowed go test ./a", "allowed go test ./a", "allowed make x", "allowed make x"},
			want:  []string{"2 make"},
			saved: Set{Examined: 4, Allowed: 4, Already: 2, Answered: 2},
		},
		{
			name:  "interpreters get none",
			past:  []string{"allowed python3 x.py", "allowed python3 x.py", "allowed bash x.sh", "allowed bash x.sh"},
			saved: Set{Examined: 4, Allowed: 4},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, row.rules)
			set, err := d.Smallest(context.Background(), d.settle(row.past...), 2)
			if err != nil {
				t.Fatal(err)
			}
			got := set
			got.Rules = nil
			if fmt.Sprint(got) != fmt.Sprint(row.saved) {
				t.Errorf("found %+v, want %+v", got, row.saved)
			}
			if len(set.Rules) != len(row.want) {
				t.Fatalf("%d rules, want %d: %+v", len(set.Rules), len(row.want), set.Rules)
			}
			for i, want := range row.want {
				times, part, _ := strings.Cut(want, " ")
				if r := set.Rules[i]; fmt.Sprint(r.Answers) != times || !strings.Contains(r.Rule, part) || len(r.Requests) == 0 {
					t.Errorf("rule %d answers %d: %s", i, r.Answers, r.Rule)
				}
			}
			text, err := set.File()
			if err != nil {
				t.Error(err)
			}
			for _, not := range row.not {
				if strings.Contains(text, not) {
					t.Errorf("%s stands in\n%s", not, text)
				}
			}
			if (text == "") != (len(row.want) == 0) {
				t.Errorf("file: %q", text)
			}
		})
	}
}

// A rule that others answer for is left out in the end.
func TestSmallestLeavesOut(t *testing.T) {
	calls := []*asked{{&hook.Request{}, 3}, {&hook.Request{}, 3}, {&hook.Request{}, 2}, {&hook.Request{}, 2}}
	options := []option{{covers: []int{0, 1}, order: 1}, {covers: []int{0, 2}}, {covers: []int{1, 3}}}
	got := smallest(options, calls, 2)
	if len(got) != 2 || got[0].covers[1] != 2 || got[1].covers[1] != 3 {
		t.Errorf("chosen %+v", got)
	}
	if got := smallest(options, calls, 3); len(got) != 1 {
		t.Errorf("with at least 3 chosen %+v", got)
	}
}

func TestSmallestEnds(t *testing.T) {
	d := newDesk(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Smallest(ctx, d.settle("allowed make x"), 1); err == nil {
		t.Error("a search that was given up has no error")
	}
}
