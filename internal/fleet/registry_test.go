package fleet

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/api"
)

// FuzzOffered: whatever another release left in the KV of a host, only agents that a host may offer are shown, each name once,
// and none of a host that is not here passes for one that works.
func FuzzOffered(f *testing.F) {
	for _, agents := range [][]api.Agent{nil, {{Name: "coder", Status: api.AgentBusy, ActiveSessionID: "s", Sessions: []api.AgentSession{{SessionID: "s", Status: api.AgentBusy}}, Tags: []string{"x"}}}} {
		value, err := json.Marshal(offered{ID: "h1", Host: "lab", Agents: agents})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	for _, value := range []string{
		"", "null", "{}", `{"id":"h2"}`, `{"id":"h1","agents":[{"name":"../x"},{"name":"a"},{"name":"a"},{"name":"b","executor":{"kind":"x"}}]}`,
		`{"id":"h1","agents":[{"name":"a","sessions":[{"sessionId":""}]},{"name":"c","sessions":[null]}]}`, `{"id":"h1","agents":[null]}`,
	} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r := &Registry{
			cfg:   RegistryConfig{Known: func(string) bool { return true }, Logf: func(string, ...any) {}, Messages: &Store{}},
			hosts: map[string]*hostEntry{}, told: map[string]string{}, heard: map[string]*heard{},
		}
		told := map[string]bool{}
		r.Notify(func(a api.Agent) { told[a.Name] = true })
		if after := r.apply(hostsPrefix+"h1", value, 1); after != nil {
			after()
		}
		agents := r.Agents()
		seen := map[string]bool{}
		for _, a := range agents {
			if seen[a.Name] || !told[a.Name] || !agentName.MatchString(a.Name) || a.Status != api.AgentOffline || a.ActiveSessionID != "" || len(a.Sessions) > maxHostSessions {
				t.Errorf("shown is %+v", a)
			}
			seen[a.Name] = true
		}
		if len(agents) > maxAgents || len(told) != len(agents) {
			t.Errorf("%d agents, told of %d", len(agents), len(told))
		}
		if h := r.hosts["h1"]; h != nil {
			again, err := json.Marshal(h.offered)
			if err != nil {
				t.Fatal(err)
			}
			was := h.Agents
			r.apply(hostsPrefix+"h1", again, 2)
			if now := r.hosts["h1"].Agents; !equal(now, was) {
				t.Errorf("%s is read as %+v, not %+v", again, now, was)
			}
		}
	})
}

// Who may not write to a session reads how it is done where its writer is a host's agent.
func TestWriterErrorSaysWhatToDo(t *testing.T) {
	for who, hint := range map[string]bool{anAgent + "coder": true, "a terminal": false} {
		if text := (&WriterError{who}).Error(); !strings.Contains(text, who) || strings.Contains(text, "assent agent prompt") != hint {
			t.Errorf("%s: %s", who, text)
		}
	}
}
