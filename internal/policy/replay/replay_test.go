package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy"
)

func TestKind(t *testing.T) {
	person, rule := &hook.Approver{Kind: "device", Name: "phone"}, &hook.Approver{Kind: hook.KindRule, ID: "x"}
	for _, tt := range []struct {
		outcome hook.Outcome
		reason  string
		by      *hook.Approver
		edited  bool
		now     hook.Action
		want    string // empty: as it went
	}{
		{hook.Denied, "", person, false, hook.ActionAllow, "denied-now-allowed"},
		{hook.Denied, "", rule, false, hook.ActionAllow, "ruled-denied-now-allowed"},
		{hook.Expired, "deadline", nil, false, hook.ActionAllow, "open-now-allowed"},
		{hook.Withdrawn, hook.ReasonHangup, nil, false, hook.ActionAllow, "open-now-allowed"}, // perhaps a No in the terminal
		{hook.Withdrawn, hook.ReasonToolRan, nil, false, hook.ActionAllow, "allowed-now-allowed"},
		{hook.Allowed, "", person, false, hook.ActionAllow, "allowed-now-allowed"},
		{hook.Allowed, "", rule, false, hook.ActionAllow, ""},
		{hook.Allowed, "", person, false, hook.ActionDeny, "allowed-now-denied"},
		{hook.Allowed, "", rule, false, hook.ActionDeny, "allowed-now-denied"},
		{hook.Withdrawn, hook.ReasonToolRan, nil, false, hook.ActionDeny, "allowed-now-denied"},
		{hook.HandedBack, "", nil, false, hook.ActionDeny, "open-now-denied"},
		{hook.Denied, "", person, false, hook.ActionDeny, "denied-now-denied"},
		{hook.Denied, "", rule, false, hook.ActionDeny, ""},
		{hook.Allowed, "", person, false, hook.ActionAsk, ""},
		{hook.Denied, "", person, false, hook.ActionAsk, ""},
		{hook.Expired, "", nil, false, hook.ActionAsk, ""},
		{hook.Allowed, "", rule, false, hook.ActionAsk, "ruled-now-asked"},
		{hook.Denied, "", rule, false, hook.ActionAsk, "denied-now-asked"},
		{hook.Allowed, "", person, true, hook.ActionAllow, "changed-now-allowed"},
	} {
		t.Run(fmt.Sprintf("%s %s by %v, now %s", tt.outcome, tt.reason, tt.by, tt.now), func(t *testing.T) {
			got := ""
			if kind, ok := kindOf(&Past{Outcome: tt.outcome, Reason: tt.reason, By: tt.by, Edited: tt.edited}, tt.now); ok {
				got = Kinds[kind].Name
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func load(t *testing.T, text string) *policy.Set {
	t.Helper()
	set, err := policy.Load([]policy.Source{{Name: "rules.yaml", Layer: policy.User, Data: []byte("version: 1\n" + text)}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// past is a request to run a command in the repository at root, and how it ended.
func past(id, root, command string, outcome hook.Outcome, by *hook.Approver) *Past {
	input, _ := json.Marshal(map[string]string{"command": command}) // of texts: cannot fail
	p := &Past{Outcome: outcome, By: by, Summary: "Bash: " + command}
	p.ID, p.ToolName, p.ToolInput, p.Repo.Root = id, "Bash", input, root
	p.Call = policy.Call{Tool: "Bash", Input: input, Cwd: "/p", Shell: "bash"}
	return p
}

func TestJudge(t *testing.T) {
	person := &hook.Approver{Kind: "device", Name: "phone"}
	rules := map[string]Rules{
		"":        {Set: load(t, "allow: [\"Bash(ls)\", \"Bash(make)\"]\ndeny: [\"Bash(rm *)\"]\n")},
		"/strict": {Set: load(t, "deny: [\"Bash(ls)\"]\n")},
		"/broken": {Set: load(t, "allow: [\"Bash(ls)\"]\ndeny: [\"Bash(rm *)\"]\n"), Broken: true},
	}
	loads := map[string]int{}
	r := &Replay{OwnFiles: true, Load: func(root string) (Rules, error) {
		loads[root]++
		if _, known := rules[root]; !known {
			return Rules{}, errors.New("not readable")
		}
		return rules[root], nil
	}}
	elsewhere := past("elsewhere", "/strict", "ls", hook.Allowed, person)
	elsewhere.Call.Elsewhere = true
	question := past("question", "", "x", hook.Denied, person)
	question.ToolName, question.Call.Tool, question.Call.Input = "AskUserQuestion", "AskUserQuestion", json.RawMessage("{}")
	form := past("form", "", "rm x", hook.Allowed, person)
	form.Event = "Elicitation"
	for _, p := range []*Past{
		past("no", "", "ls", hook.Denied, person),
		past("no-again", "", "ls", hook.Denied, person),
		past("yes", "", "rm x", hook.Allowed, person),
		past("same", "", "cp a b", hook.Allowed, person),
		past("strict", "/strict", "ls", hook.Allowed, person),
		past("broken", "/broken", "ls", hook.Denied, person),
		past("broken-denied", "/broken", "rm x", hook.Expired, nil),
		elsewhere, question, form,
	} {
		if err := r.Judge(p); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for i, list := range r.Changed {
		for _, c := range list {
			got[c.Request] = c.Kind
			if c.Kind != Kinds[i].Name {
				t.Errorf("%s stands among %s", c.Kind, Kinds[i].Name)
			}
		}
	}
	want := map[string]string{
		"no": "denied-now-allowed", "no-again": "denied-now-allowed", "yes": "allowed-now-denied", "strict": "allowed-now-denied",
		"broken-denied": "open-now-denied", "elsewhere": "allowed-now-allowed",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || r.Judged != 9 || r.Same != 3 {
		t.Errorf("got %v of %d, %d the same; want %v of 9, 3 the same", got, r.Judged, r.Same, want)
	}
	if loads[""] != 1 || loads["/strict"] != 1 || loads["/broken"] != 1 {
		t.Errorf("got the loads %v, want one of each", loads)
	}
	c := r.Changed[0][0]
	if c.What != "Bash: ls" || c.Was != "denied" || c.By != "phone" || c.Verdict != hook.ActionAllow || c.Rule != "Bash(ls)" || c.File != "rules.yaml" {
		t.Errorf("got %+v", c)
	}
	if err := r.Judge(past("x", "/unreadable", "ls", hook.Denied, person)); err == nil {
		t.Error("rules that cannot be loaded are no error")
	}
	if lines := Fold(r.Changed[0]); len(lines) != 1 || lines[0].Times != 2 || lines[0].Request != "no" {
		t.Errorf("got %d lines", len(lines))
	}
}

// With a file of the user's choice, no repository's counts.
func TestOneFile(t *testing.T) {
	r := &Replay{Load: func(root string) (Rules, error) {
		if root != "" {
			t.Errorf("asked for the rules of %s", root)
		}
		return Rules{Set: load(t, "")}, nil
	}}
	if err := r.Judge(past("x", "/repo", "ls", hook.Denied, nil)); err != nil || r.Judged != 1 {
		t.Errorf("judged %d, %v", r.Judged, err)
	}
}

func TestWithoutPlainYes(t *testing.T) {
	for _, tt := range []struct {
		tool   string
		action hook.Action
		want   hook.Action
	}{
		{"AskUserQuestion", hook.ActionAllow, hook.ActionAsk},
		{"ExitPlanMode", hook.ActionAllow, hook.ActionAsk},
		{"AskUserQuestion", hook.ActionDeny, hook.ActionDeny},
		{"Bash", hook.ActionAllow, hook.ActionAllow},
	} {
		t.Run(tt.tool+" "+string(tt.action), func(t *testing.T) {
			v := hook.Verdict{Action: tt.action, Rule: "x", File: "f"}
			changed := WithoutPlainYes(&v, tt.tool)
			if v.Action != tt.want || changed != (tt.want != tt.action) || changed && v.Rule != "" {
				t.Errorf("got %+v, want %s", v, tt.want)
			}
		})
	}
}
