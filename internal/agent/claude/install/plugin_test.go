package install

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

const pluginHooks = "../../../../plugin/hooks/hooks.json"

// The plugin's hooks are those that an install would write for the oldest client: a plugin does not
// know which client reads it, and an event that one does not know may make it complain.
func TestPluginHooks(t *testing.T) {
	events, err := Events([]string{Oldest})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Command: []string{"${CLAUDE_PLUGIN_ROOT}/hooks/assent-hook"}}
	var b bytes.Buffer
	b.WriteString("{\n  \"description\": \"Hands every hook event to assent, which answers permission requests.\",\n  \"hooks\": {\n")
	for i, e := range events {
		b.WriteString("    " + quote(e) + `: [{"hooks": [` + o.handler(e).line() + "]}]")
		if i < len(events)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  }\n}\n")
	if !json.Valid(b.Bytes()) {
		t.Fatalf("not JSON:\n%s", b.Bytes())
	}
	if *update {
		if err := os.WriteFile(pluginHooks, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(pluginHooks); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s (%v) is not what go test ./internal/agent/claude/install -run Plugin -update writes:\n%s", pluginHooks, err, got)
	}
}
