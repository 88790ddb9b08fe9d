package broker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// agentPayload is what an agent's real program gave to its hook.
type agentPayload struct{ agent, event, data string } // event is the agent's own name

// agentPayloads returns every recorded payload of the other agents: of those that assent answers, and of
// some whose hooks it only streams.
func agentPayloads(t *testing.T) map[string]agentPayload {
	t.Helper()
	all := map[string]agentPayload{}
	for _, dir := range []string{"../../internal/agent/agents/testdata/*/*.json", "testdata/agents/*/*.json"} {
		files, err := filepath.Glob(dir)
		if err != nil || len(files) < 35 {
			t.Fatalf("%d payloads in %s, %v", len(files), dir, err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			if name == "golden" {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			event, _, _ := strings.Cut(name, "-")
			all[file] = agentPayload{filepath.Base(filepath.Dir(file)), event, string(b)}
		}
	}
	return all
}

// Whatever an agent's hook brings is on the stream, byte for byte, under the agent's own name of the event
// and with the agent's name.
func TestEveryAgentsPayloadComesOutWithTheSameBytes(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	c := rig.Consume(t, d)
	left := map[agentPayload]string{}
	var waiting []*rig.HookRun
	for file, p := range agentPayloads(t) {
		var says struct {
			Event string `json:"hook_event_name"`
		}
		_ = json.Unmarshal([]byte(p.data), &says) // what is no JSON says nothing
		args := []string{"--timeout", "1s"}
		if p.agent == "copilot-via-claude" { // its hooks are those of Claude Code, and are not told whose they are
			if p.event == "PermissionRequest" {
				p.agent, p.event = "copilot", "permissionRequest"
			} else {
				p.agent = "claude"
			}
		} else {
			args = append(args, "--agent", p.agent)
			if says.Event == "" || p.agent == "copilot" { // as assent install writes it
				args = append(args, "--event", p.event)
			}
		}
		left[p] = file
		h := d.Hook([]byte(p.data), args...)
		if strings.Contains(file, "ermissionRequest") { // it waits, and another may end it
			waiting = append(waiting, h)
		} else if out := h.Wait(); out != "" {
			t.Errorf("%s: printed %q", file, out)
		}
	}
	for _, h := range waiting {
		if out := h.Wait(); out != "" {
			t.Errorf("printed %q though nobody answered", out)
		}
	}
	var odd []rig.Message
	rig.Eventually(t, rig.Soon, "all payloads out of the stream", func() bool {
		for _, m := range c.Take() {
			p := agentPayload{m.Agent, strings.TrimPrefix(m.Subject, "hooks."), m.Data}
			if _, known := left[p]; !known {
				odd = append(odd, m)
			}
			delete(left, p)
		}
		return len(left)+len(odd) == 0 || len(odd) > 0 && len(odd) == len(left)
	})
	for _, m := range odd {
		t.Errorf("of %s came on %s:\n%s", m.Agent, m.Subject, m.Data)
	}
	for p, file := range left {
		t.Errorf("not so on the stream: %s of %s, hooks.%s:\n%s", file, p.agent, p.event, p.data)
	}
}
