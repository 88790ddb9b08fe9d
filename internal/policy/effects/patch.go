package effects

import (
	"encoding/json"

	"assent/internal/agent/claude/describe"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/codex/patch"
	"assent/internal/hook"
)

// patch is a call that changes many files at once: what it does is what its writes and edits do.
func (e *found) patch() {
	req, t := e.req, e.tool
	defer func() { e.req, e.tool = req, t }()
	text, _ := describe.Member(req.ToolInput, t.Title)
	p := patch.Read(text)
	for _, f := range p.Files {
		one := *req
		one.ToolName, one.Overwrites = tools.Edit, nil
		one.ToolInput, _ = json.Marshal(map[string]string{t.Path[0]: f.Path}) // of texts there is no error
		l := line{kind: "writes"}
		switch f.Op {
		case patch.Delete:
			l.kind = "deletes"
		case patch.Move:
			l.kind = "overwrites"
		case patch.Add:
			one.ToolName = tools.Write
		}
		e.req, e.tool = &one, tools.Of(one.ToolName)
		e.file(l)
	}
	if !p.Whole {
		e.add(effect{kind: "unknown", text: "May change other files than it names", risk: hook.Attention})
	}
}
