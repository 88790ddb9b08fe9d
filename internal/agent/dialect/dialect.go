// Package dialect is what agents have in common whose hooks are modelled on Claude Code's: their
// payloads are told in Claude Code's words and read as its, and their answers are its answers with
// fewer members.
//
// A payload is only renamed, never interpreted: every value keeps its bytes. What two readers could
// take for two things before it was renamed is said to be so afterwards.
package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/agent"
	"assent/internal/agent/claude"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/codex/patch"
	"assent/internal/agent/tool"
	"assent/internal/agent/toolset"
	"assent/internal/hook"
	"assent/internal/text/digest"
	"assent/internal/text/show"
	"assent/internal/text/strictjson"
)

// Words are the names in which an agent's payloads differ from Claude Code's. Nil maps rename nothing.
type Words struct {
	Events  map[string]string // its events' names
	Members map[string]string // members of the payload
	// Tools are its tools, by its names. Where there are any, another tool whose own name is one of Claude
	// Code's is a stranger, and gets the agent's name before it: no rule about Claude Code's tool is about it.
	Tools map[string]Tool
	// Tool names a tool that is not in Tools, those of MCP servers; nil leaves the name.
	Tool func(native string) string
}

// Tool is a tool of an agent: assent's name of it, and the members of its input that assent calls
// something else.
type Tool struct {
	Name    string
	Members map[string]string
}

// Agent is an agent with these words and facts. Agents embed it for the methods of agent.Agent that are
// the same for all of them.
type Agent struct {
	ID    string
	Words Words
	Is    agent.Facts
}

var _ agent.Agent = Agent{}

// maxDepth is how deep a PermissionRequest may nest, as in package claude.
const maxDepth = 200

// Name is its ID.
func (a Agent) Name() string { return a.ID }

// Facts are those of Is.
func (a Agent) Facts() agent.Facts { return a.Is }

// Decode reads a payload as Claude Code's, after renaming. A request whose tool lacks what says what it
// would do is not what the agent's contract says, and an error.
func (a Agent) Decode(event string, raw []byte) (hook.Payload, error) {
	t := a.translate(event, raw)
	p, err := claude.Agent{}.Decode(t.event, t.text)
	p.InputSHA256, p.NativeTool = t.input, t.tool
	if t.native != p.Type && rename(a.Words.Events, t.native) == p.Type {
		p.NativeType = t.native
	}
	// The input of a request and that of the event which tells that it ran differ, and events of such
	// agents prove nothing about a request anyway.
	p.CallKey = ""
	asks := p.Type == hook.EventPermissionRequest
	switch {
	case p.Uninspectable != "":
	case t.varied != "":
		p.Uninspectable = "another spelling of member " + t.varied
	case asks && t.renamed: // what was ambiguous may not be any more
		if why := strictjson.Ambiguous(t.plain, maxDepth); why != nil {
			p.Uninspectable = "repeated or case-varied member " + why.Key
		}
	}
	if err == nil && asks {
		err = a.whole(&p)
	}
	return p, err
}

// whole wants a request to say on what it is about.
func (a Agent) whole(p *hook.Payload) error {
	t, in := a.Tool(p.ToolName), fields(p.ToolInput)
	var wanted string
	switch t.Kind {
	case tool.Command:
		wanted = t.Command
	case tool.Edit, tool.Write:
		wanted = t.Path[0]
	case tool.Fetch:
		wanted = t.URL
	case tool.Patch:
		wanted = t.Title
	default:
		return nil
	}
	if v := in[wanted]; len(v) == 0 || v[0] != '"' {
		return fmt.Errorf("%w: a request for %s without a %s", agent.ErrUnreadable, p.ToolName, wanted)
	}
	return nil
}

func fields(input []byte) map[string][]byte {
	ms, _ := strictjson.Object(input) // none: nothing is there
	all := make(map[string][]byte, len(ms))
	for _, m := range ms {
		all[m.Key] = m.Value
	}
	return all
}

// Detail reads the rest of an event as Claude Code's. A patch is known by its files.
func (a Agent) Detail(event string, raw []byte) hook.Detail {
	t := a.translate(event, raw)
	d := claude.Agent{}.Detail(t.event, t.text)
	if p, err := a.Decode(event, raw); err == nil {
		if text, ok := a.patch(p.ToolName, p.ToolInput); ok {
			if read := patch.Read(text); len(read.Files) > 0 {
				d.ToolArg = strings.ReplaceAll(read.List(), "\n", ", ")
			}
		}
	}
	return d
}

// Said knows nothing: the transcripts of these agents are not read.
func (Agent) Said([]byte, bool) (said, why string) { return "", hook.SaidUnknown }

// Form knows none: these agents' MCP servers ask in their own terminals.
func (Agent) Form([]byte) (hook.JSON, error) { return nil, agent.ErrNoForm }

// Check holds a decision against what the agent can take.
func (a Agent) Check(d hook.Decision, r *hook.Request) error {
	can, as := a.Is.Can, &hook.Request{ToolInput: r.ToolInput, Suggestions: r.Suggestions}
	if can.Question && a.Tool(r.ToolName).Kind == tool.Question {
		can.Edit, as.ToolName = true, r.ToolName
	}
	if err := can.Refuses(d); err != nil {
		return err
	}
	return claude.Agent{}.Check(d, as)
}

// Encode writes Claude Code's answer, which Check has kept to the members that the agent takes.
func (a Agent) Encode(d hook.Decision, r *hook.Request) ([]byte, error) {
	if err := a.Check(d, r); err != nil {
		return nil, err
	}
	as := &hook.Request{ToolInput: r.ToolInput, Suggestions: r.Suggestions}
	if a.Is.Can.Question {
		as.ToolName = r.ToolName
	}
	return claude.Agent{}.Encode(d, as)
}

// Rewrites is false: that a command runs contained was tried with Claude Code alone.
func (Agent) Rewrites() bool { return false }

// Tool returns what is known of a tool by assent's name.
func (a Agent) Tool(name string) tool.Tool { return toolset.Of(a.ID, name) }

// Describe tells of a call of a tool by assent's name. Of a patch it names the files, and what is done to them.
func (a Agent) Describe(name string, input []byte) (verb string, fields []show.Field) {
	verb, fields = claude.Agent{}.Describe(name, input)
	text, ok := a.patch(name, input)
	if !ok {
		return verb, fields
	}
	p := patch.Read(text)
	if len(p.Files) > 0 {
		fields = append([]show.Field{{Name: "files", Text: show.Text(p.List()), Kind: show.KindText}}, fields...)
	}
	return p.Sentence(), fields
}

// patch returns the patch that is the input of a call.
func (a Agent) patch(name string, input []byte) (text string, ok bool) {
	t := a.Tool(name)
	if t.Kind != tool.Patch {
		return "", false
	}
	ms, err := strictjson.Object(input)
	if err != nil {
		return "", false
	}
	if _, twice := strictjson.Repeated(ms); twice {
		return "", false
	}
	for _, m := range ms {
		if m.Key == t.Title && m.Value[0] == '"' {
			return strictjson.Text(m.Value), true
		}
	}
	return "", false
}

// translated is a payload in Claude Code's words.
type translated struct {
	event, tool string // tool is the agent's own name, where it is another
	native      string // the event in the agent's words
	text        []byte
	renamed     bool   // text is not the payload itself
	plain       []byte // the payload without members of the input that say what another one says
	input       string // digest of the input, or of the payload, as it came
	varied      string // a member that stands there in another spelling, too
}

// translate renames what a payload names in the agent's words. What is no JSON object stays as it is.
func (a Agent) translate(event string, raw []byte) translated {
	w := &a.Words
	t := translated{event: rename(w.Events, event), native: event, text: raw, plain: raw, input: digest.Of(raw)}
	members, err := strictjson.Object(raw)
	if err != nil {
		return t
	}
	input, name := -1, -1
	inputs := 0
	for i := range members {
		switch key := rename(w.Members, members[i].Key); key {
		case "tool_input":
			input = i
			inputs++
		case "tool_name":
			name = i
		}
	}
	var native []string
	for k := range w.Members {
		native = append(native, k)
	}
	slices.Sort(native)
	varied, isVaried := strictjson.Variant(members, append(native, "tool_input", "tool_name")...)
	if isVaried {
		t.varied = varied
	} else if inputs == 1 {
		t.input = digest.Of(members[input].Value)
	}
	if w.Events == nil && w.Members == nil && w.Tools == nil && w.Tool == nil || !utf8.Valid(raw) {
		return t
	}
	var as Tool
	if name >= 0 && members[name].Value[0] == '"' {
		own := strictjson.Text(members[name].Value)
		if as = a.tool(own); as.Name != own {
			t.tool = own
		}
	}
	var b bytes.Buffer
	b.Grow(len(raw) + 64)
	for i, m := range members {
		value := m.Value
		key := rename(w.Members, m.Key)
		switch {
		case key == "hook_event_name" && value[0] == '"':
			own := strictjson.Text(value)
			as := rename(w.Events, own)
			if value = quote(as); event == "" || event == as {
				t.native = own
			}
		case i == name && t.tool != "":
			value = quote(as.Name)
		case i == input && as.Members != nil:
			var plain []byte
			if value, plain = as.renamed(value); plain != nil {
				t.plain = slices.Concat(raw[:m.At], plain, raw[m.At+len(m.Value):])
			}
		}
		open(&b, i, m, key)
		b.Write(value)
	}
	if len(members) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	t.text, t.renamed = b.Bytes(), true
	return t
}

// open writes what stands before a value. A key that keeps its name keeps its spelling.
func open(b *bytes.Buffer, i int, m strictjson.Member, key string) {
	if i == 0 {
		b.WriteByte('{')
	} else {
		b.WriteByte(',')
	}
	if key == m.Key {
		b.Write(m.Name)
	} else {
		b.Write(quote(key))
	}
	b.WriteByte(':')
}

func (a Agent) tool(native string) Tool {
	w := &a.Words
	if t, ok := w.Tools[native]; ok {
		return t
	}
	name := native
	if w.Tool != nil {
		name = w.Tool(native)
	}
	if w.Tools != nil && slices.Contains(tools.Names(), name) {
		name = a.ID + ":" + native
	}
	return Tool{Name: name}
}

// renamed returns an input with assent's names of its members. Of two that get one name and say the
// same, one is left; of two that differ both are, which no rule allows. plain is the input without
// those that were left out, in the agent's names; nil where none was.
func (t Tool) renamed(input []byte) (as, plain []byte) {
	members, err := strictjson.Object(input)
	if err != nil {
		return input, nil
	}
	var b, own bytes.Buffer
	seen := map[string][]byte{}
	n := 0
	for _, m := range members {
		key := rename(t.Members, m.Key)
		if was, twice := seen[key]; twice && key != m.Key && bytes.Equal(was, m.Value) {
			continue
		}
		seen[key] = m.Value
		open(&b, n, m, key)
		b.Write(m.Value)
		open(&own, n, m, m.Key)
		own.Write(m.Value)
		n++
	}
	if n == 0 {
		return input, nil
	}
	b.WriteByte('}')
	own.WriteByte('}')
	if n < len(members) {
		plain = own.Bytes()
	}
	return b.Bytes(), plain
}

// Native returns an input of the tool of that name of assent's with the agent's own names of its members.
func (w *Words) Native(name string, input []byte) []byte {
	for _, t := range w.Tools {
		if t.Name != name || len(t.Members) == 0 {
			continue
		}
		own := Tool{Members: map[string]string{}}
		for native, as := range t.Members {
			own.Members[as] = native
		}
		input, _ = own.renamed(input)
		break
	}
	return input
}

func rename(names map[string]string, name string) string {
	if as, ok := names[name]; ok {
		return as
	}
	return name
}

// quote writes a text as JSON.
func quote(s string) []byte {
	b, _ := json.Marshal(s) // of a text there is no error
	return b
}
