package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/text/strictjson"
)

// FuzzConversation: whatever both sides say, nothing fails, an answer is held back only after the broker's,
// and what is asked is a payload that can be read in one way.
func FuzzConversation(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), true)
	}
	f.Add(before+request("7", toolCall)+`> {"id":7,"result":{}}`+"\n", false)
	f.Fuzz(func(t *testing.T, text string, allow bool) {
		c := NewConversation("x")
		answers := 0
		for line := range strings.Lines(text) {
			if len(line) < 2 {
				continue
			}
			raw := []byte(line[2:])
			whole := strings.HasSuffix(line, "\n")
			if line[0] == '>' {
				if !c.FromEditor(raw, whole) {
					if answers--; answers < 0 {
						t.Fatalf("held back: %s", raw)
					}
				}
				continue
			}
			q := c.FromAgent(raw, whole)
			if q == nil {
				continue
			}
			if strictjson.Ambiguous(q.Payload, maxDepth) != nil {
				t.Errorf("asked %s", q.Payload)
			}
			a, ok := Named(q.Agent)
			if !ok {
				t.Fatalf("asked as %q", q.Agent)
			}
			p, _ := a.Decode("", q.Payload)
			if p.SessionID != q.Session || p.ToolName == "" || p.ToolInput == nil {
				t.Errorf("%+v of %s", p, q.Payload)
			}
			a.Describe(p.ToolName, p.ToolInput)
			if allow {
				toAgent, toEditor, ok := c.Answer(q, Allowed)
				if m, read := readMessage(toAgent, true); ok && (!read || m.key != q.key) {
					t.Errorf("the agent is told %s", toAgent)
				}
				if _, read := readMessage(toEditor, true); ok && !read {
					t.Errorf("the editor is told %s", toEditor)
				}
				if ok {
					answers++
				}
			}
		}
	})
}
