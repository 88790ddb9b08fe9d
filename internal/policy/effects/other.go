package effects

import (
	"encoding/json"
	"slices"
	"strings"

	"assent/internal/agent/claude/describe"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/shell"
)

// policyFacts are those of a command of which nothing is known.
var policyFacts policy.Facts // read-only

// other is a call of a tool that runs no command.
func (e *found) other() {
	name := e.req.ToolName
	switch e.tool.Kind {
	case tool.Read, tool.ListDir, tool.Find, tool.Search:
		e.file(line{kind: "reads"})
		return
	case tool.Edit, tool.Write:
		l := line{kind: "writes"}
		if o := e.req.Overwrites; o != nil && o.Exists {
			l.kind = "overwrites"
		}
		e.file(l)
		return
	case tool.Fetch:
		address, _ := describe.Member(e.req.ToolInput, e.tool.URL)
		host := hostOf(address)
		if host == "" {
			host = "an address that cannot be read"
		}
		e.add(effect{kind: "downloads", object: host, risk: hook.Attention})
		if to := tokenHost(address); to != "" {
			e.add(effect{kind: "sends", phrase: sendsToken, object: to, token: true, risk: hook.Attention})
		}
		return
	case tool.WebSearch:
		e.add(effect{kind: "sends", text: "Asks a search engine", risk: hook.Attention})
		return
	case tool.Subagent:
		risk := hook.Normal
		if mode, ok := describe.Member(e.req.ToolInput, "mode"); ok && mode != "default" && mode != "plan" {
			risk = hook.Danger
		}
		kind := "other"
		if risk == hook.Danger {
			kind = "escalates"
		}
		e.add(effect{kind: kind, text: "Starts another agent", risk: risk})
		return
	case tool.Skill:
		skill, _ := describe.Member(e.req.ToolInput, "skill")
		e.add(effect{kind: "runs-project", phrase: "Follows the skill", object: skill, risk: hook.Attention})
		return
	case tool.Todo:
		e.add(effect{kind: "other", text: "Keeps its list of tasks", risk: hook.Calm})
		return
	case tool.Question:
		e.add(effect{kind: "asks", text: "Asks you questions", risk: hook.Calm})
		return
	case tool.Plan:
		e.add(effect{kind: "asks", text: "Asks you to approve a plan", risk: hook.Normal})
		return
	case tool.PlanMode:
		e.add(effect{kind: "asks", text: "Asks to plan first", risk: hook.Calm})
		return
	}
	if f := e.tool.Effect; f.Kind != "" {
		e.add(effect{kind: f.Kind, text: f.Says, risk: hook.Risk(f.Risk)})
		return
	}
	e.strange(name)
}

// fileName is the file or the directory that a call of a tool names.
func (e *found) fileName() (name string, ok bool) {
	for _, m := range e.tool.Path {
		if p, ok := describe.Member(e.req.ToolInput, m); ok {
			return p, p != ""
		}
	}
	return "", false
}

// file is a call about a file.
func (e *found) file(l line) {
	name, named := e.fileName()
	if !named {
		if e.tool.Kind != tool.Find && e.tool.Kind != tool.Search {
			e.add(effect{kind: l.kind, object: "a file that it does not name", unknown: true, risk: hook.Attention})
			return
		}
		name = "."
	}
	facts := policyFacts
	if set, err := e.packs(); err == nil {
		facts = set.FileFacts(e.call())
	}
	if l.kind == "reads" {
		facts.Pack = "tool" // that it only reads is certain
	}
	worst := e.path(l, shell.Word{Text: name, Prefix: name, Static: true}, &shell.Unit{Dir: e.where.cwd, DirKnown: true}, &policy.Facts{Pack: facts.Pack})
	e.marks = nil // they are for commands
	if l.kind != "reads" {
		e.content(name)
	}
	for _, secret := range facts.Secrets {
		if l.kind != "reads" && worst == hook.Danger {
			break
		}
		p := e.where.path(secret, e.where.cwd, true)
		e.add(effect{kind: "reads-secrets", phrase: map[bool]string{true: readsSecrets, false: "Changes secrets in"}[l.kind == "reads"], object: p.shown, outside: p.outside, secret: true, risk: hook.Danger})
	}
	if facts.Guarded != "" && (l.kind == "reads" || worst != hook.Danger) {
		risk := hook.Danger
		if l.kind == "reads" {
			risk = hook.Attention
		}
		kind, text := "agent-settings", "Touches the settings of git or the agent"
		switch {
		case strings.Contains(facts.Guarded, "not absolute or not plain"), strings.Contains(facts.Guarded, "may name another file"):
			kind, text = "unknown", "May be about another file than it says"
		case strings.Contains(facts.Guarded, "holds assent's state"):
			text = "Searches where assent keeps its state"
		}
		e.add(effect{kind: kind, text: text, risk: risk})
	}
	pattern, _ := describe.Member(e.req.ToolInput, e.tool.Pattern)
	if e.tool.Pattern != "" && (strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") || strings.Contains(pattern, "..")) {
		e.add(effect{kind: "reads", phrase: "Searches for", object: pattern, outside: true, risk: hook.Attention})
	}
}

// strange is a tool that nobody knows, of an MCP server perhaps. What its name says is told, and never
// makes it calm.
func (e *found) strange(name string) {
	server, called, ok := strings.Cut(strings.TrimPrefix(name, tools.MCP), "__")
	if !ok || !strings.HasPrefix(name, tools.MCP) {
		e.add(effect{kind: "unknown", phrase: "Uses the unknown tool", object: name, risk: hook.Attention})
		return
	}
	f := effect{kind: "unknown", phrase: "Calls", tail: "(MCP)", mcp: true, object: called + " of " + server, plain: plainName(called + server), risk: hook.Attention}
	for word := range strings.FieldsFuncSeq(split(called), func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch {
		case slices.Contains([]string{"delete", "remove", "drop", "destroy", "purge", "truncate", "wipe", "erase", "reset", "kill", "terminate", "revoke", "archive", "clear", "uninstall", "overwrite"}, word):
			f.kind, f.risk = "deletes", hook.Danger
		case f.risk == hook.Danger:
		case slices.Contains([]string{"exec", "execute", "eval", "run", "shell", "bash", "command", "sudo", "deploy", "merge", "transfer", "pay", "payment", "purchase", "secret", "secrets", "password", "credential", "credentials", "token", "grant", "admin", "permission", "permissions"}, word):
			f.kind, f.risk = "unknown", hook.Danger
		case slices.Contains([]string{"create", "update", "push", "send", "post", "publish", "write", "upload", "add", "set", "edit", "comment", "reply", "invite", "share", "submit", "put", "patch", "insert", "move", "rename", "assign", "close", "open", "fork"}, word):
			f.kind = "sends"
		}
	}
	e.add(f)
	if !json.Valid([]byte(e.req.ToolInput)) && len(e.req.ToolInput) > 0 {
		e.add(effect{kind: "unknown", text: "Its input is not JSON", risk: hook.Attention})
	}
}

// split writes deleteRepo as delete repo.
func split(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			if i > 0 && !(name[i-1] >= 'A' && name[i-1] <= 'Z') {
				b.WriteByte(' ')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
