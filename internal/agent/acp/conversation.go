package acp

import (
	"strings"
	"sync"

	"assent/internal/hook"
)

// Bounds of what is remembered of a conversation. What does not fit is left to the editor.
const (
	maxOpen     = 64   // questions that wait
	maxSwallow  = 1024 // answers of the editor that are still to come, and are late
	maxCallsOut = 256  // of the editor's own, until their answers
	maxSessions = 256
	maxName     = 1 << 10 // of a session or an agent, in bytes, as the broker takes them
	maxDir      = 4 << 10
)

// Conversation is what passes between one editor and one agent. Its methods may be called from any
// goroutine; the lines of one direction must come in their order.
type Conversation struct {
	mu       sync.Mutex
	agent    string // as nameOf makes it
	speaks   bool   // version 1 of the protocol, and nothing else
	open     map[string]*Question
	swallow  map[string]int // ids, and how many answers of the editor are to be dropped
	pending  map[string]outgoing
	sessions map[string]string // their directories
	calls    calls
}

// outgoing is a call of the editor's that the agent has not answered.
type outgoing struct{ method, session, cwd string }

// Question is a request for permission that somebody else than the editor may answer.
type Question struct {
	Agent   string // with Prefix
	Session string
	CWD     string
	Payload []byte // as a hook would bring it

	key       string
	id        []byte
	choice    choice
	withdrawn chan struct{}
}

// Withdrawn is closed when the question needs no answer any more.
func (q *Question) Withdrawn() <-chan struct{} { return q.withdrawn }

// NewConversation begins one with the agent of this program, which says later what it is called.
func NewConversation(program string) *Conversation {
	return &Conversation{
		agent: nameOf(program), open: map[string]*Question{}, swallow: map[string]int{}, pending: map[string]outgoing{}, sessions: map[string]string{},
	}
}

// FromAgent looks at a line of the agent's before it goes to the editor; whole says that it is all there,
// else it is the beginning of one. It returns the question in it, which is to be put once the line has
// gone, or nil.
func (c *Conversation) FromAgent(line []byte, whole bool) *Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := readMessage(line, whole)
	if !ok {
		if !blank(line) {
			c.calls.forget()
		}
		return nil
	}
	switch {
	case m.method == "" && m.key != "":
		c.answered(m)
	case m.method == "session/update":
		c.updated(line, whole, m.params)
	case m.method == "$/cancel_request":
		if key, ok := idKey(readObject(m.params)["requestId"]); ok {
			c.withdraw(key)
		}
	case m.method == "session/request_permission" && m.key != "":
		c.withdraw(m.key) // an id that is used twice: who is answered, nobody can tell
		if whole {
			return c.question(line, m)
		}
	}
	return nil
}

// FromEditor looks at a line of the editor's before it goes to the agent, and reports whether it may.
func (c *Conversation) FromEditor(line []byte, whole bool) (pass bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := readMessage(line, whole)
	switch {
	case !ok && blank(line):
	case !ok && m.key != "" && !whole: // the agent's answer, or not: then it comes, and nobody else's may
		c.withdraw(m.key)
	case !ok:
		c.withdrawAll("")
	case m.method == "session/cancel":
		c.withdrawAll(readObject(m.params).text("sessionId"))
	case m.method != "" && m.key != "":
		c.asked(m)
	case m.method == "" && m.key != "":
		if n := c.swallow[m.key]; n > 0 {
			if c.swallow[m.key]--; n == 1 {
				delete(c.swallow, m.key)
			}
			return false
		}
		c.withdraw(m.key)
	}
	return true
}

// Answer settles q, unless the editor was quicker: then ok is false. The lines are for the agent, and
// then the editor.
func (c *Conversation) Answer(q *Question, d Decision) (toAgent, toEditor []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d == Undecided || c.open[q.key] != q {
		return nil, nil, false
	}
	if c.swallow[q.key] == 0 && len(c.swallow) == maxSwallow { // one more could not be told from a fresh answer
		return nil, nil, false
	}
	c.swallow[q.key]++
	c.withdraw(q.key)
	option := q.choice.reject
	if d == Allowed {
		option = q.choice.allow
	}
	return answerLine(q.id, option), cancelLine(q.id), true
}

// Drop forgets a question that nobody answers: the editor decides alone.
func (c *Conversation) Drop(q *Question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[q.key] == q {
		c.withdraw(q.key)
	}
}

// Close withdraws all questions: one of the two has gone.
func (c *Conversation) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withdrawAll("")
	c.speaks = false
}

func (c *Conversation) withdraw(key string) {
	if q := c.open[key]; q != nil {
		delete(c.open, key)
		close(q.withdrawn)
	}
}

// withdrawAll withdraws the questions of a session, of all where that is "".
func (c *Conversation) withdrawAll(session string) {
	for key, q := range c.open {
		if session == "" || q.Session == session {
			c.withdraw(key)
		}
	}
}

// asked remembers what the editor calls, as far as the agent's answer to it says something.
func (c *Conversation) asked(m message) {
	o := outgoing{method: m.method}
	p := readObject(m.params)
	switch m.method {
	case "initialize":
	case "session/new", "session/load", "session/resume", "session/fork", "session/prompt":
		if o.session, o.cwd = strings.Clone(p.text("sessionId")), strings.Clone(p.text("cwd")); len(o.session) > maxName || len(o.cwd) > maxDir {
			return
		}
	default:
		return
	}
	if m.method == "session/load" || m.method == "session/resume" { // it may ask before it answers
		c.begin(o.session, o.cwd)
	}
	if len(c.pending) < maxCallsOut {
		c.pending[m.key] = o
	}
}

// answered takes the agent's answer to a call of the editor's.
func (c *Conversation) answered(m message) {
	o, ok := c.pending[m.key]
	if !ok {
		return
	}
	delete(c.pending, m.key)
	r := readObject(m.result)
	switch o.method {
	case "initialize":
		c.speaks = string(r["protocolVersion"]) == "1"
		if name := r.in("agentInfo").text("name"); name != "" && len(name) <= maxName {
			c.agent = nameOf(name)
		}
	case "session/prompt": // the turn is over, and whatever it waited for
		if o.session != "" {
			c.withdrawAll(o.session)
		}
	case "session/new", "session/fork":
		c.begin(strings.Clone(r.text("sessionId")), o.cwd)
	}
}

func (c *Conversation) begin(session, cwd string) {
	if session == "" || len(session) > maxName {
		return
	}
	if len(c.sessions) >= maxSessions {
		clear(c.sessions) // what is asked in them has no directory, so rules allow less
	}
	c.sessions[session] = cwd
}

// updated takes what the agent says of its calls.
func (c *Conversation) updated(line []byte, whole bool, params []byte) {
	if !c.speaks {
		return
	}
	p := readObject(params)
	update := p.in("update")
	switch kind := update.text("sessionUpdate"); {
	case update == nil || kind == "": // of whatever it is
		c.calls.forget()
	case kind != "tool_call" && kind != "tool_call_update":
	case !whole || !plain(line):
		c.calls.forget()
	default:
		c.calls.observe(p.text("sessionId"), update)
	}
}

// question makes one of a request for permission; nil where the editor has to decide alone.
func (c *Conversation) question(line []byte, m message) *Question {
	if !c.speaks || len(c.open) >= maxOpen || !plain(line) {
		return nil
	}
	p := readObject(m.params)
	now := p.in("toolCall")
	session, id := p.text("sessionId"), now.text("toolCallId")
	if session == "" || id == "" || len(session) > maxName {
		return nil
	}
	ch, ok := readChoice(p["options"])
	was := c.calls.get(session, id)
	if !ok || now.text("kind") == "switch_mode" || now.text("kind") == "" && was.kind == "switch_mode" {
		return nil
	}
	in, from := input(c.agent, was, now)
	if in == nil {
		return nil
	}
	q := &Question{
		Agent: Prefix + c.agent, Session: strings.Clone(session), CWD: c.sessions[session],
		Payload: payload(c.agent, session, c.sessions[session], was, now, in, from),
		key:     strings.Clone(m.key), id: clone(m.id), choice: choice{clone(ch.allow), clone(ch.reject)}, withdrawn: make(chan struct{}),
	}
	if len(q.Payload) > hook.MaxRequest {
		return nil
	}
	c.open[q.key] = q
	return q
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}
