package policy_test

import (
	"strings"
	"testing"

	"assent/internal/policy"
)

// What a list of rules shows is made when it is asked for, from the bytes that the set was made of.
func TestTextOfARuleIsWhatItsFileSays(t *testing.T) {
	const file = `version: 1
# About both rules.
rules:
  # A heading.
  - id: first
    action: deny
    message: no # said to the agent
    match: {command: {program: rm}}
  - id: second
    action: ask
    match:
      tool: [Write]
allow:
  - Bash(npm test:*)
`
	set, err := policy.Load([]policy.Source{{Name: "rules.yaml", Layer: policy.User, Data: []byte(file)}}, policy.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"id: first\naction: deny\nmessage: no # said to the agent\nmatch: {command: {program: rm}}\n",
		"id: second\naction: ask\nmatch:\n    tool: [Write]\n",
		"allow: Bash(npm test:*)",
	}
	rules := set.Rules()
	if len(rules) != len(want) {
		t.Fatalf("%d rules, want %d", len(rules), len(want))
	}
	for i, r := range rules {
		if r.Text() != want[i] {
			t.Errorf("rule %s: %q, want %q", r.ID, r.Text(), want[i])
		}
	}
}

// Each rule of each pack has its own text, whatever stands before it in the file.
func TestTextsOfPacksNameTheirRules(t *testing.T) {
	for _, name := range policy.Packs() {
		set, err := policy.Load([]policy.Source{{Name: "r", Layer: policy.User, Data: []byte("version: 1\nuse: [" + name + "]\n")}}, policy.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range set.Rules() {
			if !textNames(r.Text(), r.ID) {
				t.Errorf("%s: the text of %s is %q", name, r.ID, r.Text())
			}
		}
	}
}

func textNames(text, id string) bool {
	line, _, _ := strings.Cut(text, "\n")
	line, _, _ = strings.Cut(line, " #")
	return line == "id: "+id || strings.HasSuffix(line, ": "+id) // of a rule string, as "allow: "
}
