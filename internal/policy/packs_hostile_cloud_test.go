package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/hook"
)

// All packs together ask about calls that show credentials, change something or connect to somewhere
// else by way of tools for clouds, containers and machines. A row that is JSON is a call of the
// agent's own tools: {"tool": NAME, "input": {…}}.
func TestPacksHostileCloud(t *testing.T) {
	every, err := Load([]Source{{Name: "packs.yaml", Data: []byte("version: 1\nuse: [" + strings.Join(Packs(), ", ") + "]\n")}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for class, rows := range classes(t, "packs-hostile-cloud.txt") {
		t.Run(class, func(t *testing.T) {
			for _, row := range rows {
				calls := []Call{bashCall(row), bashCall(row)}
				calls[1].Shell = ""
				if strings.HasPrefix(row, `{"tool"`) {
					var call struct {
						Tool  string
						Input map[string]any
					}
					if err := json.Unmarshal([]byte(row), &call); err != nil {
						t.Fatalf("%s: %v", row, err)
					}
					calls = []Call{toolCall(call.Tool, call.Input)}
				}
				for _, c := range calls {
					if v := every.Eval(c); v.Action == hook.ActionAllow {
						t.Errorf("allowed by %s (shell %q): %s", v.Rule, c.Shell, row)
					}
				}
			}
		})
	}
}
