package acp

import (
	"bytes"
	"container/list"
	"strings"

	"assent/internal/text/strictjson"
)

// What agents said of their calls before they ask is remembered within these bounds; the oldest go first.
const (
	maxCalls     = 256
	maxCallBytes = 4 << 20
)

// call is what an agent said of a call of a tool.
type call struct {
	title string // the first one
	kind  string
	name  string // the tool's own name, from wherever the agent puts it
	raw   []byte // the last rawInput that has members
	odd   bool   // a rawInput that is no object
	text  string // of its first content, where that is a text
}

func (c *call) size() int {
	return len(c.title) + len(c.kind) + len(c.name) + len(c.raw) + len(c.text) + 200
}

// calls are those of all sessions.
type calls struct {
	by    map[string]*list.Element // of *heldCall
	order list.List                // oldest first
	bytes int
}

type heldCall struct {
	key string
	call
}

func callKey(session, id string) string { return session + "\x00" + id }

// observe takes what an update says.
func (cs *calls) observe(session string, update object) {
	id := update.text("toolCallId")
	if session == "" || id == "" {
		return
	}
	key := callKey(session, id)
	if s := update.text("status"); s == "completed" || s == "failed" {
		cs.drop(key)
		return
	}
	var c call
	if el := cs.by[key]; el != nil {
		c = el.Value.(*heldCall).call
		cs.drop(key)
	}
	c.take(update)
	if cs.by == nil {
		cs.by = map[string]*list.Element{}
	}
	cs.by[key] = cs.order.PushBack(&heldCall{key, c})
	cs.bytes += c.size() + len(key)
	for cs.order.Len() > maxCalls || cs.bytes > maxCallBytes {
		cs.drop(cs.order.Front().Value.(*heldCall).key)
	}
}

func (cs *calls) drop(key string) {
	if el := cs.by[key]; el != nil {
		h := cs.order.Remove(el).(*heldCall)
		delete(cs.by, key)
		cs.bytes -= h.size() + len(key)
	}
}

// forget forgets all: something was said of some of them that could not be read.
func (cs *calls) forget() { *cs = calls{} }

// get is what is known of a call.
func (cs *calls) get(session, id string) call {
	if el := cs.by[callKey(session, id)]; el != nil {
		return el.Value.(*heldCall).call
	}
	return call{}
}

// take adds what an agent says of the call. Texts are copied: the line does not stay.
func (c *call) take(o object) {
	if t := o.text("title"); t != "" && c.title == "" {
		c.title = strings.Clone(t)
	}
	if k := o.text("kind"); k != "" {
		c.kind = strings.Clone(k)
	}
	if n := toolName(o); n != "" && len(n) <= maxTitle {
		c.name = strings.Clone(n)
	}
	switch raw := o["rawInput"]; {
	case len(raw) == 0 || string(raw) == "null":
	case raw[0] != '{':
		c.odd = true
	case len(readObject(raw)) > 0:
		c.raw, c.odd = bytes.Clone(raw), false
	}
	if content, err := strictjson.Array(o["content"]); err == nil && len(content) > 0 {
		c.text = strings.Clone(readObject(content[0]).in("content").text("text"))
	}
}

// toolName is the tool's own name, where the agent tells it: Claude, Qwen Code, Goose.
func toolName(o object) string {
	meta := o.in("_meta")
	for _, name := range []string{o.text("name"), meta.text("toolName"), meta.in("claudeCode").text("toolName"), meta.in("goose", "toolCall").text("toolName")} {
		if name != "" {
			return name
		}
	}
	return ""
}

// Where an input came from.
const (
	fromRaw    = "rawInput" // of the request
	fromAlone  = "alone"    // of the request, and no update has said yet what that leaves out
	fromUpdate = "update"   // rawInput of an earlier update
	fromClash  = "clash"    // of the request, and an update said otherwise
	fromText   = "text"     // a text that is the input as JSON
	fromTitle  = "title"
	fromDiff   = "diff"
)

// input is what would run, whole, and where it was found; nil where that is not certain: of an input that
// is not whole nobody decides.
func input(agent string, was call, now object) (in []byte, from string) {
	var c call
	c.take(now)
	if c.odd || c.raw == nil && was.odd {
		return nil, ""
	}
	title, kind := now.text("title"), now.text("kind")
	if title == "" {
		title = was.title
	}
	if kind == "" {
		kind = was.kind
	}
	switch {
	case c.raw != nil && was.raw != nil:
		in, from = join(c.raw, was.raw)
	case c.raw != nil:
		in, from = c.raw, fromRaw
	case was.raw != nil:
		in, from = was.raw, fromUpdate
	case agent == kimi && len(readObject([]byte(was.text))) > 0:
		in, from = []byte(was.text), fromText
	case agent == gemini && kind == "execute" && title != "":
		in, from = compose(member{"command", quote(title)}), fromTitle
	default:
		in, from = diff(now["content"]), fromDiff
	}
	if in == nil || !plain(in) || cutOff(in) {
		return nil, ""
	}
	return in, from
}

// join adds to what a request says what an update had said and the request leaves out: some agents show
// less than runs. Where both speak of a member, in whatever spelling, the request counts.
func join(now, was []byte) (in []byte, from string) {
	from = fromRaw
	a, err1 := strictjson.Object(now)
	b, err2 := strictjson.Object(was)
	if err1 != nil || err2 != nil {
		return nil, ""
	}
	all := make([]member, 0, len(a)+len(b))
	said := make(map[string][]byte, len(a))
	for _, m := range a {
		all = append(all, member{m.Key, m.Value})
		said[strictjson.Fold(m.Key)] = m.Value
	}
	for _, m := range b {
		switch v, both := said[strictjson.Fold(m.Key)]; {
		case !both:
			all = append(all, member{m.Key, m.Value})
		case !bytes.Equal(v, m.Value):
			from = fromClash
		}
	}
	if len(all) == len(a) {
		return now, from
	}
	return compose(all...), from
}

// cutOff says that a text in it ends as a text does that was cut.
func cutOff(in []byte) bool {
	return bytes.Contains(in, []byte(`…"`)) || bytes.Contains(in, []byte(`\u2026"`))
}

// diff is the one change of a file that content shows; nil where there is none, or more than one.
func diff(content []byte) []byte {
	list, err := strictjson.Array(content)
	if err != nil {
		return nil
	}
	var found object
	for _, x := range list {
		o := readObject(x)
		if o == nil {
			return nil
		}
		if o.text("type") != "diff" {
			continue
		}
		if found != nil {
			return nil
		}
		found = o
	}
	if found.text("path") == "" || len(found["newText"]) == 0 || found["newText"][0] != '"' {
		return nil
	}
	in := []member{{"file_path", found["path"]}}
	if old := found["oldText"]; len(old) > 0 && old[0] == '"' {
		in = append(in, member{"old_string", old})
	}
	return compose(append(in, member{"new_string", found["newText"]})...)
}
