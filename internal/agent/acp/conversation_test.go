package acp

import (
	"fmt"
	"strings"
	"testing"
)

const (
	hello   = `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	helloed = `< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"Some Agent"}}}` + "\n"
	begin   = `> {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w"}}` + "\n" + `< {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}` + "\n"
	prompt  = `> {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}` + "\n"
	options = `[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`
	before  = hello + helloed + begin + prompt
)

func request(id, toolCall string) string {
	return `< {"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"s","toolCall":` + toolCall + `,"options":` + options + `}}` + "\n"
}

const toolCall = `{"toolCallId":"t","kind":"execute","rawInput":{"command":"ls"}}`

// open is a conversation with a question that waits.
func open(t *testing.T) (*Conversation, *Question) {
	t.Helper()
	c := NewConversation("x")
	q := feed(c, before+request("7", toolCall))
	if q == nil {
		t.Fatal("not asked")
	}
	return c, q
}

func (q *Question) waits() bool {
	select {
	case <-q.withdrawn:
		return false
	default:
		return true
	}
}

// TestNotAsked: what could be read in two ways, is not whole, or has no plain yes and no, the editor alone
// decides.
func TestNotAsked(t *testing.T) {
	whole := before + request("7", toolCall)
	if q := feed(NewConversation("x"), whole); q == nil || q.Agent != "acp:some-agent" || q.CWD != "/w" {
		t.Fatalf("%+v", q)
	}
	for name, text := range map[string]string{
		"before initialize":       strings.TrimPrefix(whole, hello+helloed),
		"another version":         strings.Replace(whole, `"result":{"protocolVersion":1`, `"result":{"protocolVersion":2`, 1),
		"a version of its own":    strings.Replace(whole, `"result":{"protocolVersion":1`, `"result":{"protocolVersion":"1"`, 1),
		"no id":                   strings.Replace(whole, `"id":7,`, ``, 1),
		"an id that is no id":     strings.Replace(whole, `"id":7,`, `"id":[7],`, 1),
		"two ids":                 strings.Replace(whole, `"id":7,`, `"id":7,"id":8,`, 1),
		"two spellings":           strings.Replace(whole, `"id":7,`, `"id":7,"ID":8,`, 1),
		"two inputs":              strings.Replace(whole, `"command":"ls"`, `"command":"ls","command":"rm"`, 1),
		"two cases of an input":   strings.Replace(whole, `"command":"ls"`, `"command":"ls","COMMAND":"rm"`, 1),
		"no session":              strings.Replace(whole, `"sessionId":"s","toolCall"`, `"toolCall"`, 1),
		"no input":                strings.Replace(whole, `{"command":"ls"}`, `{}`, 1),
		"an input that is a text": strings.Replace(whole, `{"command":"ls"}`, `"ls"`, 1),
		"a cut input":             strings.Replace(whole, `"ls"`, `"ls /wor…"`, 1),
		"a plan":                  strings.Replace(whole, `"execute"`, `"switch_mode"`, 1),
		"no yes":                  strings.Replace(whole, `allow_once`, `allow_always`, 1),
		"no no":                   strings.Replace(whole, `reject_once`, `reject_always`, 1),
		"a yes that switches":     strings.Replace(whole, `"optionId":"y"`, `"optionId":"yes_and_switch_mode"`, 1),
		"one option twice":        strings.Replace(whole, `"optionId":"n"`, `"optionId":"y"`, 1),
		"not UTF-8":               strings.Replace(whole, `"ls"`, "\"ls\xff\"", 1),
		"cut off":                 strings.TrimSuffix(whole, "]}}\n") + "\n",
		"larger than is held":     strings.Replace(whole, `"ls"`, `"ls `+strings.Repeat("x", 1<<20)+`"`, 1),
	} {
		if text == whole {
			t.Errorf("%s: nothing was changed", name)
		}
		if q := feed(NewConversation("x"), text); q != nil {
			t.Errorf("%s: asked %s", name, q.Payload)
		}
	}
}

// TestFirstAnswer: exactly one answer gets to the agent.
func TestFirstAnswer(t *testing.T) {
	late := []byte(`{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}` + "\n")
	t.Run("editor", func(t *testing.T) {
		c, q := open(t)
		if !c.FromEditor(late, true) || q.waits() {
			t.Error("the editor's answer does not count")
		}
		if _, _, ok := c.Answer(q, Allowed); ok {
			t.Error("answered twice")
		}
	})
	t.Run("broker", func(t *testing.T) {
		c, q := open(t)
		if _, _, ok := c.Answer(q, Undecided); ok || !q.waits() {
			t.Error("nothing is an answer")
		}
		if _, _, ok := c.Answer(q, Denied); !ok || q.waits() {
			t.Error("not answered")
		}
		if _, _, ok := c.Answer(q, Allowed); ok {
			t.Error("answered twice")
		}
		if c.FromEditor(late, true) {
			t.Error("the late answer passes")
		}
		if !c.FromEditor(late, true) {
			t.Error("it is held back more than once")
		}
	})
	t.Run("broker, and the editor says that it cancelled", func(t *testing.T) {
		c, q := open(t)
		c.Answer(q, Allowed)
		if c.FromEditor([]byte(`{"id":7.0,"jsonrpc":"2.0","error":{"code":-32800,"message":"cancelled"}}`), true) {
			t.Error("passed")
		}
	})
	t.Run("an id again", func(t *testing.T) {
		c, q := open(t)
		c.Answer(q, Allowed)
		again := feed(c, request("7", toolCall))
		if again == nil || c.FromEditor(late, true) || !again.waits() {
			t.Error("the answer to the first is taken for one to the second")
		}
		if !c.FromEditor(late, true) || again.waits() {
			t.Error("the second is not answered")
		}
	})
	t.Run("an id twice at once", func(t *testing.T) {
		c, q := open(t)
		if again := feed(c, request("7.0", toolCall)); again == nil || q.waits() {
			t.Error("both wait")
		}
	})
}

// TestWithdrawn: what shows that nobody waits any more.
func TestWithdrawn(t *testing.T) {
	for name, x := range map[string]struct {
		line   string
		whole  bool
		leaves bool // the question
	}{
		"the agent cancels":               {`< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`, true, false},
		"the agent cancels another":       {`< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"7"}}`, true, true},
		"the turn ends":                   {`< {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`, true, false},
		"the turn is cancelled":           {`> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`, true, false},
		"another turn is cancelled":       {`> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"other"}}`, true, true},
		"a call of the editor's own":      {`> {"jsonrpc":"2.0","id":7,"method":"session/list"}`, true, true},
		"an answer to another":            {`> {"jsonrpc":"2.0","id":8,"result":{}}`, true, true},
		"nobody can read the editor":      {`> {"jsonrpc":"2.0","id":7,"id":8,"result":{}}`, true, false},
		"no JSON":                         {`> nonsense`, true, false},
		"an empty line":                   {`>  `, true, true},
		"a long answer, to whom it shows": {`> {"jsonrpc":"2.0","id":7,"result":{"x":"`, false, false},
		"a long answer to another":        {`> {"jsonrpc":"2.0","id":8,"result":{"x":"`, false, true},
		"a long answer to nobody knows":   {`> {"jsonrpc":"2.0","result":{"x":"`, false, false},
		"a long prompt":                   {`> {"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"x":"`, false, true},
	} {
		c, q := open(t)
		line := []byte(x.line[2:])
		if x.line[0] == '<' {
			c.FromAgent(line, x.whole)
		} else if !c.FromEditor(line, x.whole) {
			t.Errorf("%s: held back", name)
		}
		if q.waits() != x.leaves {
			t.Errorf("%s: it waits: %v", name, q.waits())
		}
	}
	c, q := open(t)
	c.Close()
	if q.waits() || feed(c, request("9", toolCall)) != nil {
		t.Error("a closed conversation asks")
	}
}

// TestStale: an update that cannot be read may have changed the input that an earlier one told.
func TestStale(t *testing.T) {
	const update = `< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","kind":"execute","rawInput":{"command":"ls"}}}}` + "\n"
	bare := request("7", `{"toolCallId":"t"}`)
	if q := feed(NewConversation("x"), before+update+bare); q == nil || !strings.Contains(string(q.Payload), `"tool_input":{"command":"ls"}`) {
		t.Fatalf("%+v", q)
	}
	for name, line := range map[string]string{
		"ambiguous":  strings.Replace(update, `"command":"ls"`, `"command":"rm","command":"ls"`, 1),
		"no JSON":    "< {]\n",
		"no object":  strings.Replace(update, `{"command":"ls"}`, `["rm"]`, 1),
		"completed":  strings.Replace(update, `"kind":"execute"`, `"status":"completed"`, 1),
		"no subject": strings.Replace(update, `"update":{`, `"upgrade":{`, 1),
	} {
		if q := feed(NewConversation("x"), before+update+line+bare); q != nil {
			t.Errorf("%s: asked %s", name, q.Payload)
		}
	}
	c := NewConversation("x")
	feed(c, before+update)
	c.FromAgent([]byte(strings.TrimSuffix(update[2:], "}}}}\n")), false)
	if q := feed(c, bare); q != nil {
		t.Errorf("asked %s", q.Payload)
	}
}

// TestInputs: where the whole of an input may come from.
func TestInputs(t *testing.T) {
	diff := func(n int) string {
		return `{"toolCallId":"t","kind":"edit","content":[{"type":"content","content":{"type":"text","text":"x"}}` + strings.Repeat(`,{"type":"diff","path":"/w/a","oldText":"1","newText":"2"}`, n) + `]}`
	}
	for name, x := range map[string]struct{ agent, toolCall, want string }{
		"a diff":                       {"x", diff(1), `{"file_path":"/w/a","old_string":"1","new_string":"2"}`},
		"two diffs":                    {"x", diff(2), ""},
		"none":                         {"x", diff(0), ""},
		"a title, of Gemini":           {"gemini-cli", `{"toolCallId":"t","kind":"execute","title":"ls"}`, `{"command":"ls"}`},
		"a title, of another":          {"x", `{"toolCallId":"t","kind":"execute","title":"ls"}`, ""},
		"a title of Gemini, of a read": {"gemini-cli", `{"toolCallId":"t","kind":"read","title":"ls"}`, ""},
		"an input that is null":        {"x", `{"toolCallId":"t","rawInput":null}`, ""},
	} {
		q := feed(NewConversation("x"), strings.Replace(before, "Some Agent", x.agent, 1)+request("7", x.toolCall))
		switch {
		case x.want == "" && q != nil:
			t.Errorf("%s: asked %s", name, q.Payload)
		case x.want != "" && (q == nil || !strings.Contains(string(q.Payload), `"tool_input":`+x.want)):
			t.Errorf("%s: %+v", name, q)
		}
	}
}

// TestBounds: an agent that asks and tells without end is left to the editor, and costs no more.
func TestBounds(t *testing.T) {
	c := NewConversation("x")
	feed(c, before)
	asked := 0
	for i := range 3 * maxOpen {
		if feed(c, request(fmt.Sprint(i), toolCall)) != nil {
			asked++
		}
	}
	if asked != maxOpen {
		t.Errorf("%d questions wait", asked)
	}
	for i := range 3 * maxCalls {
		feed(c, fmt.Sprintf(`< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"%d","rawInput":{"x":"%s"}}}}`+"\n", i, strings.Repeat("y", 40_000)))
		feed(c, fmt.Sprintf(`> {"id":%d,"method":"session/prompt","params":{"sessionId":"s"}}`+"\n", i+10))
	}
	if n := c.calls.order.Len(); n > maxCalls || n != len(c.calls.by) || c.calls.bytes > maxCallBytes || len(c.pending) > maxCallsOut {
		t.Errorf("%d calls, %d bytes, %d pending", n, c.calls.bytes, len(c.pending))
	}
}

func TestReadDecision(t *testing.T) {
	say := func(decision string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":` + decision + `}}`
	}
	for body, want := range map[string]Decision{
		say(`{"behavior":"allow"}`):               Allowed,
		say(`{"behavior":"deny"}`):                Denied,
		say(`{"behavior":"deny","message":"no"}`): Denied,
		"":                        Undecided,
		"{}":                      Undecided,
		say(`{"behavior":"ask"}`): Undecided,
		say(`{"behavior":"allow","updatedInput":{}}`):                      Undecided,
		say(`{"behavior":"allow","behavior":"deny"}`):                      Undecided,
		say(`{"behavior":"allow","Behavior":"deny"}`):                      Undecided,
		say(`{"behavior":"deny","interrupt":true}`):                        Undecided,
		strings.Replace(say(`{"behavior":"allow"}`), "Permission", "X", 1): Undecided,
		say(`{"behavior":"allow"}`) + "x":                                  Undecided,
	} {
		if got := ReadDecision([]byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestNameOf(t *testing.T) {
	for text, want := range map[string]string{
		"@agentclientprotocol/codex-acp": "codex-acp", "Kimi Code CLI": "kimi-code-cli", "/usr/bin/goose": "goose", `C:\x\Agent.exe`: "agent",
		"": "agent", "日本": "agent", "a.b": "a-b", strings.Repeat("x", 100): strings.Repeat("x", 64),
	} {
		got := nameOf(text)
		if _, ok := Named(Prefix + got); got != want || !ok {
			t.Errorf("%q: %q %v", text, got, ok)
		}
	}
	for _, name := range []string{"", "acp:", "codex", "acp:A b"} {
		if _, ok := Named(name); ok {
			t.Errorf("%q is known", name)
		}
	}
}
