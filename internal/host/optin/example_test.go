package optin

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// The example is a file that can be used as it stands, and says what holds where a line is left out.
func TestExample(t *testing.T) {
	const print = "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s"
	for _, a := range []Agent{
		{Name: "coder", Project: "/home/dev/app", CLI: "/usr/bin/claude", Worktree: true},
		{Name: "a", Project: "/home/dev/über the: \"top\" #1/{x}", CLI: "/home/dev/it's/claude"},
	} {
		for _, devices := range [][]Device{nil, {{"phone\n\u202e #", print}}} {
			text := Example(a, devices)
			if first, _, _ := strings.Cut(text, "\n"); len(first) > 100 {
				t.Errorf("%d columns: %q", len(first), first)
			}
			file, problems := parse([]byte(text))
			want := a
			want.Mode, want.BudgetUSD, want.Timeout, want.Sessions = "default", 5, 2*time.Hour, 1
			if len(problems) > 0 || !reflect.DeepEqual(file.Agents, []Agent{want}) || len(file.Accept) != len(devices) {
				t.Errorf("%s%v %+v", text, problems, file)
			}
		}
	}
}

// An empty file, as it is left where nothing could be printed into it, says how it is written.
func TestEmptyFile(t *testing.T) {
	if _, problems := parse(nil); len(problems) != 1 || !strings.Contains(problems[0].Message, "assent agent example") {
		t.Errorf("%v", problems)
	}
}
