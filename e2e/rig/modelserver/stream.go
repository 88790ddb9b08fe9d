package modelserver

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
)

// writeMessage answers with the model's turn, whole or as server-sent events, as the client
// asked.
func writeMessage(w http.ResponseWriter, r request, t turn) {
	blocks := []map[string]any{{"type": "text", "text": t.text}}
	stop := "end_turn"
	for _, u := range t.uses {
		stop = "tool_use"
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": "toolu_" + rand.Text(), "name": u.Name, "input": u.Input})
	}
	model := r.Model
	if model == "" {
		model = "script"
	}
	msg := map[string]any{
		"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": 100, "output_tokens": t.tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
	w.Header().Set("Request-Id", "req_"+rand.Text())
	if !r.Stream {
		writeJSON(w, http.StatusOK, msg)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)

	msg["content"], msg["stop_reason"] = []any{}, nil
	event(w, "message_start", map[string]any{"message": msg})
	for i, b := range blocks {
		start := map[string]any{"type": "text", "text": ""}
		delta := map[string]any{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			start = map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}
			input, err := json.Marshal(b["input"])
			if err != nil {
				input = []byte("{}")
			}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
		}
		event(w, "content_block_start", map[string]any{"index": i, "content_block": start})
		event(w, "content_block_delta", map[string]any{"index": i, "delta": delta})
		event(w, "content_block_stop", map[string]any{"index": i})
	}
	event(w, "message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": t.tokens},
	})
	event(w, "message_stop", map[string]any{})
}

// event writes one server-sent event. A write error means that the client has gone, which the
// next read of its connection tells net/http.
func event(w http.ResponseWriter, kind string, data map[string]any) {
	data["type"] = kind
	b, err := json.Marshal(data)
	if err != nil {
		return
	}
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
