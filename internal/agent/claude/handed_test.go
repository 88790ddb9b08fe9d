package claude

import "testing"

// A line counts for exactly the text that was handed over, and only where the client wrote it for that.
func TestHandedBy(t *testing.T) {
	text := InboxText("Anna, by assent #a", "x")
	quoted := string(marshal(text2{text}))
	content := quoted[len(`{"T":`) : len(quoted)-1]
	for line, want := range map[string]Handed{
		`{"type":"queue-operation","operation":"enqueue","content":` + content + `}`:                                     {Queued: true},
		`{"type":"queue-operation","operation":"remove","content":` + content + `}`:                                      {Removed: true},
		`{"type":"queue-operation","operation":"enqueue","content":"x"}`:                                                 {},
		`{"type":"queue-operation","operation":"dequeue"}`:                                                               {},
		`{"type":"user","message":{"role":"user","content":` + content + `}}`:                                            {Read: true},
		`{"type":"user","isSidechain":true,"message":{"role":"user","content":` + content + `}}`:                         {},
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":` + content + `}]}}`:         {},
		`{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":` + content + `}]}}`: {Read: true},
		`{"type":"attachment","attachment":{"type":"hook_additional_context","content":[` + content + `]}}`:              {},
		`{"type":"queue-operation","operation":"enqueue","content":` + content + `,"content":"x"}`:                       {},
		`{`: {},
	} {
		if got := HandedBy([]byte(line), text); got != want {
			t.Errorf("%s\n\tsays %+v", line, got)
		}
	}
}

type text2 struct{ T string }
