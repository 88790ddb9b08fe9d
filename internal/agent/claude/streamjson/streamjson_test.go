package streamjson

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// recorded returns the lines of one recording.
func recorded(t testing.TB, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var noted struct {
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(text, &noted); err != nil {
		t.Fatal(err)
	}
	if noted.Payload == nil {
		return [][]byte{text}
	}
	var many []json.RawMessage
	if json.Unmarshal(noted.Payload, &many) != nil {
		return [][]byte{noted.Payload}
	}
	var lines [][]byte
	for _, m := range many {
		lines = append(lines, m)
	}
	return lines
}

func TestParseWhatWasRecorded(t *testing.T) {
	const session, prompt = "db06c035-cbe3-4095-b479-7e64c3dab856", "11111111-1111-4111-8111-111111111111"
	for name, want := range map[string][]Event{
		"out-command_lifecycle": {
			{Kind: Lifecycle, Session: session, Prompt: prompt, State: Queued}, {Kind: Lifecycle, Session: session, Prompt: prompt, State: Started},
			{Kind: Lifecycle, Session: session, Prompt: prompt, State: Completed}, {Kind: Lifecycle, Session: session, Prompt: "557af8ba-5d5d-48f6-b812-2bf662901be5", State: Cancelled}},
		"out-system-init": {{Kind: Init, Session: session, Mode: "default", Version: "2.1.329"}},
		"out-user-replay": {{Kind: Replay, Session: session, Prompt: prompt}},
	} {
		var got []Event
		for _, l := range recorded(t, name) {
			e, err := Parse(l)
			if err != nil {
				t.Error(err)
			}
			got = append(got, e)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if e, err := Parse(recorded(t, "out-assistant")[0]); err != nil || e.Kind != Says || !strings.HasPrefix(e.Text, "Mock heard: ") || e.Tool != "" {
		t.Errorf("%+v, %v", e, err)
	}
	for name, want := range map[string]Event{
		"result-success":     {Outcome: "success", CostUSD: 0.0016},
		"result-max-budget":  {Outcome: "error_max_budget_usd", Failed: true, CostUSD: 0.6012000000000001},
		"result-interrupted": {Outcome: "error_during_execution", Failed: true, CostUSD: 0.00202},
	} {
		e, err := Parse(recorded(t, name)[0])
		if err != nil || e.Kind != Result || e.Outcome != want.Outcome || e.Failed != want.Failed || e.CostUSD != want.CostUSD {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// Of a line that two readers could take for two things nothing is believed.
func TestParseExactly(t *testing.T) {
	for text, want := range map[string]Event{
		`{"TYPE":"result","subtype":"success"}`:                                                                                                                        {},
		`{"type":"result","subtype":"success","total_cost_usd":-1}`:                                                                                                    {Kind: Result, Outcome: Success},
		`{"type":"result","subtype":"success","is_error":true}`:                                                                                                        {Kind: Result, Outcome: Success, Failed: true},
		`{"type":"system","subtype":"status","status":null,"permissionMode":"auto"}`:                                                                                   {Kind: Mode, Mode: "auto"},
		`{"type":"system","subtype":"status","status":"compacting"}`:                                                                                                   {},
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"a":1}}}`:                                                             {Kind: Answer, Request: "r"},
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"session":{"total_cost_usd":0.014}}}}`:                                {Kind: Answer, Request: "r", Metered: true, CostUSD: 0.014},
		`{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"Unknown","response":{"session":{}}}}`:                                      {Kind: Answer, Request: "r", Failed: true},
		`{"type":"assistant","message":{"id":"msg_1","content":[]}}`:                                                                                                   {Kind: Says, Call: "msg_1"},
		`{"type":"system","subtype":"init","permissionMode":7}`:                                                                                                        {Kind: Init},
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","id":"t","input":{"command":"ls"}},{"type":"tool_use","name":"Read","input":7}]}}`: {Kind: Says, Tool: "Bash", Commands: []Command{{"t", "ls"}}},
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"a","Command":"b"}},{"type":"tool_use","name":"Bash"}]}}`:       {Kind: Says, Tool: "Bash"},
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__github__create_pull_request","id":"t","input":{"title":"x"}}]}}`:                    {Kind: Says, Tool: "mcp__github__create_pull_request", Tools: []Command{{"t", "mcp__github__create_pull_request"}}},
		`{"type":"user","message":{"content":"hello"}}`:                                                                                                                {Kind: Did},
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a\nb"},{"type":"tool_result","tool_use_id":"u","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"v","content":[{"type":"text","text":"c"},{"type":"image"}]}]}}`: {Kind: Did, Results: []Command{{"t", "a\nb"}, {"v", "c\n"}}},
	} {
		if e, err := Parse([]byte(text)); err != nil || !reflect.DeepEqual(e, want) {
			t.Errorf("%s: %+v, %v", text, e, err)
		}
	}
	for _, text := range []string{
		"", "[]", `{"type":"result"}{}`, `{"type":"result","Type":"system"}`, `{"type":"system","subtype":"init","permissionMode":"default","permissionMode":"auto"}`,
		`{"type":"assistant","message":{"content":[],"CONTENT":[]}}`, `{"type":"user","message":{"content":[{"type":"tool_result","content":[7]}]}}`,
		`{"type":"control_response"}`, "{\"type\":\"\xff\"}",
	} {
		if e, err := Parse([]byte(text)); err == nil || !reflect.DeepEqual(e, Event{}) {
			t.Errorf("%q: %+v", text, e)
		}
	}
}

// A prompt is written as it was recorded, on one line whatever it holds.
func TestPrompt(t *testing.T) {
	var got, want any
	if err := json.Unmarshal(Prompt("11111111-1111-4111-8111-111111111111", "SESSION", "text, or content blocks (an image block reached the model)"), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(recorded(t, "in-user-message")[0], &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	for _, l := range [][]byte{Prompt("u", "s", "a\nb\r\u2028{"), Interrupt("x\n"), Usage("x\n")} {
		if strings.IndexByte(string(l), '\n') != len(l)-1 || !json.Valid(l) {
			t.Errorf("%q", l)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"out-command_lifecycle", "out-system-init", "result-success", "out-assistant"} {
		f.Add(recorded(f, name)[0])
	}
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","id":"t","input":{"command":"ls"}}]}}`))
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"c"}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, err := Parse(text); err != nil && !reflect.DeepEqual(e, Event{}) {
			t.Errorf("%+v, %v", e, err)
		}
	})
}
