package coder

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Words are the prompt of every turn.
const Words = "please run it"

// Step is what the scripted model answers: calls of tools, or, without any, a word that ends the turn.
type Step struct{ Calls []Call }

// Call is a call of a tool. Patch, in the place of Args, is the input of Codex's free-form tool.
type Call struct {
	Tool      string
	Args      map[string]any
	Namespace string // of Codex's MCP tools
	Patch     string
	Force     bool // although the request does not offer the tool, as an agent may do later
}

// Model is a scripted model on loopback that speaks OpenAI's Responses and chat completions, Anthropic's
// Messages, and Gemini. Step n is
// served when n tool results follow the last words of the user, so that one script holds for every turn
// of a session. A request that does not offer the tool of its step is a side request of the agent, for a
// title perhaps, and gets a word. A subagent has a script of its own: it is known by its task.
//
// Its methods may be called from any goroutine.
type Model struct {
	server *http.Server
	url    string

	mu      sync.Mutex
	steps   []Step
	task    string   // the words of a subagent's task; empty: there is none
	sub     []Step   // what its model asks for
	results []string // what tools brought, in the order in which the model was told
	served  int      // turns that were ended by a word, after a result
	asked   int
}

// StartModel starts a model without a script.
func StartModel() (*Model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the model: %w", err)
	}
	m := &Model{url: "http://" + l.Addr().String()}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(l) }() // ends with Close
	return m, nil
}

// URL is where the model answers.
func (m *Model) URL() string { return m.url }

// Close ends the model.
func (m *Model) Close() error { return m.server.Close() }

// Script says what the model asks for from now on.
func (m *Model) Script(steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = steps
}

// Delegated says what the model of a subagent asks for from now on: of one whose task, its last words of the
// user, holds these words.
func (m *Model) Delegated(task string, steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.task, m.sub = task, steps
}

// Results are what tools brought so far, as the model read it.
func (m *Model) Results() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.results...)
}

// Asked is how often the model was asked for anything.
func (m *Model) Asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// Ended is how many turns with a call are over.
func (m *Model) Ended() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.served
}

// turn is what a request says.
type turn struct {
	user    string   // the last words of the user
	results []string // after them
	offered []string
}

// ServeHTTP answers as the script says.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || r.URL.Host != "" { // it is the agent's proxy, too: nothing leaves the machine
		http.Error(w, "no way out", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil || r.Method != http.MethodPost {
		answer(w, "application/json", `{"object":"list","data":[{"id":"mock-model","object":"model"}],"models":[]}`)
		return
	}
	switch path := r.URL.Path; {
	case strings.Contains(path, "ountTokens") || strings.HasSuffix(path, "/count_tokens"):
		answer(w, "application/json", `{"totalTokens":10,"input_tokens":10}`)
		return
	case strings.HasSuffix(path, "/messages"):
		t, stream := messagesTurn(body)
		calls, id := m.next(t)
		writeMessages(w, id, calls, stream)
		return
	case strings.Contains(path, "enerateContent"):
		calls, id := m.next(geminiTurn(body))
		writeGemini(w, id, calls, strings.Contains(path, "streamGenerateContent"))
		return
	}
	var in struct {
		Stream   *bool
		Model    string
		Input    json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct {
			Type, Name string
			Tools      []struct{ Name string }
			Function   struct{ Name string }
		}
	}
	if json.Unmarshal(body, &in) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	var t turn
	for _, x := range in.Tools {
		t.offered = append(t.offered, x.Name, x.Function.Name, x.Type)
		for _, y := range x.Tools {
			t.offered = append(t.offered, y.Name)
		}
	}
	responses := strings.HasSuffix(r.URL.Path, "/responses")
	if responses {
		var items []struct {
			Type, Role      string
			Content, Output json.RawMessage
		}
		_ = json.Unmarshal(in.Input, &items) // a plain text has no results
		for _, it := range items {
			switch {
			case it.Role == "user":
				t.user, t.results = textOf(it.Content), nil
			case strings.HasSuffix(it.Type, "_output"):
				t.results = append(t.results, textOf(it.Output))
			}
		}
	} else {
		for _, it := range in.Messages {
			switch it.Role {
			case "user":
				t.user, t.results = textOf(it.Content), nil
			case "tool":
				t.results = append(t.results, textOf(it.Content))
			}
		}
	}
	calls, id := m.next(t)
	stream := in.Stream == nil && responses || in.Stream != nil && *in.Stream
	if responses {
		writeResponses(w, id, calls, stream)
	} else {
		writeChat(w, id, calls, stream)
	}
}

// next is the step of a turn, and a number for it.
func (m *Model) next(t turn) (calls []Call, id int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	steps := m.steps
	switch {
	case m.task == "":
	case strings.Contains(t.user, m.task):
		steps = m.sub
	case !strings.Contains(t.user, Words): // the agent tells what became of a subagent
		steps = nil
	}
	at, n := 0, 0
	for ; at < len(steps); at++ {
		if len(t.results) < n+len(steps[at].Calls) {
			break
		}
		n += len(steps[at].Calls)
	}
	if at < len(steps) {
		for _, c := range steps[at].Calls {
			offered := c.Force && len(t.offered) > 0
			for _, name := range t.offered {
				offered = offered || name == c.Tool
			}
			if !offered {
				return nil, m.asked
			}
		}
		calls = steps[at].Calls
	}
	if len(t.results) > 0 {
		m.results = append(m.results, t.results[len(t.results)-1:]...)
		if calls == nil {
			m.results = append(m.results[:len(m.results)-1], t.results...)
			m.served++
		}
	}
	return calls, m.asked
}

// textOf is the text of a message, which may come in parts.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts) // else there is no text
	for _, p := range parts {
		s += p.Text
	}
	return s
}

func answer(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, text) // an agent that has gone reads nothing
}

func toJSON(v any) string {
	b, _ := json.Marshal(v) // maps of texts and numbers
	return string(b)
}

func writeResponses(w http.ResponseWriter, id int, calls []Call, stream bool) {
	items := []any{}
	for i, c := range calls {
		name := fmt.Sprintf("%d_%d", id, i)
		if c.Patch != "" {
			items = append(items, map[string]any{"type": "custom_tool_call", "id": "ctc_" + name, "call_id": "call_" + name, "name": c.Tool, "input": c.Patch, "status": "completed"})
			continue
		}
		item := map[string]any{"type": "function_call", "id": "fc_" + name, "call_id": "call_" + name, "name": c.Tool, "arguments": toJSON(c.Args)}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		items = append(items, map[string]any{"type": "message", "id": fmt.Sprintf("msg_%d", id), "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": "done", "annotations": []any{}}}})
	}
	usage := map[string]any{"input_tokens": 10, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 5, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 15}
	whole := map[string]any{"id": fmt.Sprintf("resp_%d", id), "object": "response", "status": "completed", "output": items, "usage": usage, "model": "mock-model"}
	if !stream {
		answer(w, "application/json", toJSON(whole))
		return
	}
	var b strings.Builder
	event := func(kind string, v map[string]any) {
		v["type"] = kind
		b.WriteString("event: " + kind + "\ndata: " + toJSON(v) + "\n\n")
	}
	event("response.created", map[string]any{"response": map[string]any{"id": whole["id"], "object": "response", "status": "in_progress", "output": []any{}}})
	for i, it := range items {
		event("response.output_item.added", map[string]any{"output_index": i, "item": it})
		event("response.output_item.done", map[string]any{"output_index": i, "item": it})
	}
	event("response.completed", map[string]any{"response": whole})
	answer(w, "text/event-stream", b.String())
}

func writeChat(w http.ResponseWriter, id int, calls []Call, stream bool) {
	message, reason := map[string]any{"role": "assistant", "content": "done"}, "stop"
	if len(calls) > 0 {
		var list []any
		for i, c := range calls {
			list = append(list, map[string]any{"index": i, "id": fmt.Sprintf("call_%d_%d", id, i), "type": "function", "function": map[string]any{"name": c.Tool, "arguments": toJSON(c.Args)}})
		}
		message, reason = map[string]any{"role": "assistant", "content": nil, "tool_calls": list}, "tool_calls"
	}
	base := func(kind string, choices []any) map[string]any {
		return map[string]any{"id": fmt.Sprintf("c%d", id), "created": time.Now().Unix(), "model": "mock-model", "object": kind, "choices": choices,
			"usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
	}
	if !stream {
		answer(w, "application/json", toJSON(base("chat.completion", []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}})))
		return
	}
	var b strings.Builder
	for _, c := range []map[string]any{
		base("chat.completion.chunk", []any{map[string]any{"index": 0, "delta": message, "finish_reason": nil}}),
		base("chat.completion.chunk", []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}}),
	} {
		b.WriteString("data: " + toJSON(c) + "\n\n")
	}
	answer(w, "text/event-stream", b.String()+"data: [DONE]\n\n")
}
