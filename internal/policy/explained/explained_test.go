package explained

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy"
)

func TestOf(t *testing.T) {
	set, err := policy.Load([]policy.Source{{Name: "r.yaml", Layer: policy.User, Data: []byte("version: 1\nallow: ['Bash(ls)', 'Bash(git status)']\ndeny: ['Bash(rm *)']\n")}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(command string) Document {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		call := policy.Call{Agent: "claude", Tool: "Bash", Input: input, Cwd: "/p"}
		v := set.Explain(call)
		return Of(call, &v)
	}
	if d := of("ls"); d.Verdict != hook.ActionAllow || d.Rule != "Bash(ls)" || d.File != "r.yaml" || len(d.Units) != 1 || d.Units[0].Text != "ls" || d.TimeoutMs != 0 {
		t.Errorf("allowed: %+v", d)
	}
	if d := of("ls && rm -rf x"); d.Verdict != hook.ActionDeny || len(d.Units) != 2 || d.Units[1].Verdict != hook.ActionDeny {
		t.Errorf("denied: %+v", d)
	}
	d := of("git push")
	if d.Verdict != hook.ActionAsk || len(d.Units) != 1 || len(d.Units[0].Misses) == 0 || d.Units[0].Misses[0].Rule != "Bash(git status)" {
		t.Errorf("asked: %+v", d)
	}
	// Lists that programs go through are there, also where they are empty.
	b, err := json.Marshal(d)
	if err != nil || !strings.Contains(string(b), `"refused":[]`) {
		t.Errorf("%s, %v", b, err)
	}
}
