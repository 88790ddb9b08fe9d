package policy

import (
	"testing"

	"assent/internal/hook"
)

func coding(t *testing.T) *Set {
	set, err := Load([]Source{{Name: "x.yaml", Data: []byte("version: 1\nuse: [builtin/coding@1, builtin/readonly@1]\n")}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// builtin/coding@1 allows what builds, tests, checks and formats the project.
func TestPackCodingAllows(t *testing.T) {
	set := coding(t)
	for _, c := range commands(t, "coding-allow.txt") {
		t.Run(c, func(t *testing.T) {
			if v := set.Explain(bashCall(c)); v.Action != hook.ActionAllow {
				t.Errorf("%s: %s (%s)", c, v.Reason, miss(v))
			}
		})
	}
}

// It allows nothing that publishes, installs, leaves the project or names another program.
func TestPackCodingAsks(t *testing.T) {
	set := coding(t)
	for _, c := range commands(t, "coding-ask.txt") {
		t.Run(c, func(t *testing.T) {
			if v := set.Eval(bashCall(c)); v.Action == hook.ActionAllow {
				t.Errorf("allowed by %s: %s", v.Rule, c)
			}
		})
	}
}
