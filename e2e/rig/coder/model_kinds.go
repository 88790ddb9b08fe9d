package coder

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The model in the words of Anthropic's Messages and of Gemini, which claude-agent-acp and Gemini CLI speak.

// messagesTurn reads a request of Anthropic's Messages. A message of the user that holds results may hold text of
// the agent's own, too.
func messagesTurn(body []byte) (t turn, stream bool) {
	var in struct {
		Stream   bool
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct{ Name string }
	}
	_ = json.Unmarshal(body, &in) // else nothing is offered, and it gets a word
	for _, x := range in.Tools {
		t.offered = append(t.offered, x.Name)
	}
	for _, m := range in.Messages {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(m.Content, &blocks) // a plain text has no results
		var results []string
		for _, b := range blocks {
			if b.Type == "tool_result" {
				results = append(results, textOf(b.Content))
			}
		}
		if m.Role == "user" && results == nil {
			t.results = nil
		}
		t.results = append(t.results, results...)
	}
	return t, in.Stream
}

func writeMessages(w http.ResponseWriter, id int, calls []Call, stream bool) {
	blocks, reason := []map[string]any{{"type": "text", "text": "done"}}, "end_turn"
	if len(calls) > 0 {
		blocks, reason = nil, "tool_use"
	}
	for i, c := range calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", id, i), "name": c.Tool, "input": c.Args})
	}
	whole := map[string]any{"id": fmt.Sprintf("msg_%d", id), "type": "message", "role": "assistant", "model": "mock", "content": blocks, "stop_reason": reason, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 1}}
	if !stream {
		answer(w, "application/json", toJSON(whole))
		return
	}
	var b strings.Builder
	event := func(kind string, v map[string]any) {
		v["type"] = kind
		b.WriteString("event: " + kind + "\ndata: " + toJSON(v) + "\n\n")
	}
	whole["content"], whole["stop_reason"] = []any{}, nil
	event("message_start", map[string]any{"message": whole})
	for i, x := range blocks {
		delta := map[string]any{"type": "text_delta", "text": x["text"]}
		start := map[string]any{"type": "text", "text": ""}
		if x["type"] == "tool_use" {
			delta = map[string]any{"type": "input_json_delta", "partial_json": toJSON(x["input"])}
			start = map[string]any{"type": "tool_use", "id": x["id"], "name": x["name"], "input": map[string]any{}}
		}
		event("content_block_start", map[string]any{"index": i, "content_block": start})
		event("content_block_delta", map[string]any{"index": i, "delta": delta})
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 5}})
	event("message_stop", map[string]any{})
	answer(w, "text/event-stream", b.String())
}

// geminiTurn reads a request of Gemini.
func geminiTurn(body []byte) (t turn) {
	var in struct {
		Contents []struct {
			Role  string
			Parts []struct {
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
		Tools []struct{ FunctionDeclarations []struct{ Name string } }
	}
	_ = json.Unmarshal(body, &in) // else nothing is offered, and it gets a word
	for _, x := range in.Tools {
		for _, f := range x.FunctionDeclarations {
			t.offered = append(t.offered, f.Name)
		}
	}
	for _, c := range in.Contents {
		var results []string
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				results = append(results, string(p.FunctionResponse.Response))
			}
		}
		if c.Role == "user" && results == nil {
			t.results = nil
		}
		t.results = append(t.results, results...)
	}
	return t
}

func writeGemini(w http.ResponseWriter, id int, calls []Call, stream bool) {
	parts := []any{map[string]any{"text": "done"}}
	if len(calls) > 0 {
		parts = nil
	}
	for i, c := range calls {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": fmt.Sprintf("fc-%d-%d", id, i), "name": c.Tool, "args": c.Args}})
	}
	whole := toJSON(map[string]any{"candidates": []any{map[string]any{"content": map[string]any{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "mock"})
	if stream {
		answer(w, "text/event-stream", "data: "+whole+"\r\n\r\n")
		return
	}
	answer(w, "application/json", whole)
}
