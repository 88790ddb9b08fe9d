package modelserver

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// request is the part of a Messages API request that the script needs.
type request struct {
	Model        string    `json:"model"`
	Stream       bool      `json:"stream"`
	Messages     []message `json:"messages"`
	Tools        []tool    `json:"tools"`
	OutputFormat any       `json:"output_format"`
	OutputConfig struct {
		Format any `json:"format"`
	} `json:"output_config"`
}

type tool struct {
	Name string `json:"name"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a message's or a tool result's content: the API takes a string or blocks.
type content []block

type block struct {
	Type      string  `json:"type"`
	Text      string  `json:"text"`
	ID        string  `json:"id"`          // tool_use
	Name      string  `json:"name"`        // tool_use
	ToolUseID string  `json:"tool_use_id"` // tool_result
	Content   content `json:"content"`     // tool_result
	IsError   bool    `json:"is_error"`    // tool_result
}

func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	if err := json.Unmarshal(b, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}

func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (c content) hasResult() bool {
	for _, b := range c {
		if b.Type == "tool_result" {
			return true
		}
	}
	return false
}

// lastResults returns the tool results since the model last spoke, with the names of the tools
// they answer. The client may add messages of its own after them.
func (r request) lastResults() []Result {
	names := map[string]string{}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				names[b.ID] = b.Name
			}
		}
	}
	var out []Result
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			out = nil
		}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				out = append(out, Result{Tool: names[b.ToolUseID], Content: b.Content.text(), IsError: b.IsError})
			}
		}
	}
	return out
}

// turn is what the model does next: it says text, or calls tools.
type turn struct {
	call Call
	text string
	uses []Use
	// tokens is how many it says the answer has, which the client counts the cost by.
	tokens int
}

var (
	stepsPattern = regexp.MustCompile(`STEPS64=([A-Za-z0-9+/=]+)`)
	toolPattern  = regexp.MustCompile(`\bTOOL=([A-Za-z0-9_]+)`)
	planPattern  = regexp.MustCompile(`(/[^\s"'\x60\\]*/plans/[^\s"'\x60\\]+\.md)`)
)

// play finds the script in the conversation and its next turn.
func (s *Server) play(r request, body []byte) turn {
	say := func(text string) turn { return turn{call: Call{Turn: -1}, text: text} }
	if r.OutputFormat != nil || r.OutputConfig.Format != nil {
		return say(`{"title":"A test","isNewTopic":false}`) // the client names its session
	}
	if len(r.Tools) == 0 {
		return say("Nothing to add.") // a side question of the client's own
	}
	at, script, problem := s.script(r)
	if problem != "" {
		return say(problem)
	}
	done, spoke := 0, true                // a turn's results may come in several messages
	for _, m := range r.Messages[at+1:] { // results in the script's own message are of the turn before
		switch {
		case m.Role == "assistant":
			spoke = true
		case spoke && m.Content.hasResult():
			done, spoke = done+1, false
		}
	}
	if done >= len(script) {
		t := say(Done)
		t.call.Done = true
		return t
	}
	t := turn{call: Call{Turn: done}, text: "Working."}
	for _, u := range script[done] {
		t.uses = append(t.uses, Use{Name: u.Name, Input: fill(u.Input, body)})
		t.call.Uses = append(t.call.Uses, u.Name)
	}
	return t
}

// script returns the newest script of the conversation and the index of the message it is in,
// or what is wrong with it.
func (s *Server) script(r request) (at int, turns [][]Use, problem string) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "user" {
			continue
		}
		text := r.Messages[i].Content.text()
		if m := stepsPattern.FindStringSubmatch(text); m != nil {
			raw, err := base64.StdEncoding.DecodeString(m[1])
			if err == nil {
				err = json.Unmarshal(raw, &turns)
			}
			if err != nil {
				return 0, nil, "MODEL-ERROR the script in STEPS64 is unreadable: " + err.Error()
			}
			return i, turns, ""
		}
		if all := toolPattern.FindAllStringSubmatch(text, -1); all != nil {
			name := all[len(all)-1][1]
			turns, ok := s.scripts[name]
			if !ok {
				return 0, nil, "MODEL-ERROR no script is named " + name
			}
			return i, turns, ""
		}
		s.mu.Lock()
		words, turns := s.words, s.turns
		s.mu.Unlock()
		if words != "" && strings.Contains(text, words) {
			return i, turns, ""
		}
	}
	if turns, ok := s.scripts[""]; ok {
		return s.first(r), turns, ""
	}
	return 0, nil, "MODEL-ERROR the conversation holds no script"
}

// first is the index of the conversation's first message with words of a user.
func (s *Server) first(r request) int {
	return max(0, slices.IndexFunc(r.Messages, func(m message) bool { return m.Role == "user" && !m.Content.hasResult() }))
}

// fill replaces {{planFile}} in every text of an input.
func fill(input any, body []byte) any {
	switch v := input.(type) {
	case string:
		if strings.Contains(v, "{{planFile}}") {
			if m := planPattern.FindSubmatch(body); m != nil {
				return strings.ReplaceAll(v, "{{planFile}}", string(m[1]))
			}
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = fill(e, body)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = fill(e, body)
		}
		return out
	}
	return input
}
