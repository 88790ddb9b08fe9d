package claude

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// nodeReads is how a JavaScript agent reads payloads, one a line: what it would act on, and how many
// members it has in all. Texts leave as the bytes that a program started by it would get.
const nodeReads = `
const bytes = v => typeof v === 'string' ? Buffer.from(v, 'utf8').toString('base64') : ''
const members = v => v && typeof v === 'object' ? Object.entries(v).reduce((n, [, x]) => n + members(x), Array.isArray(v) ? 0 : Object.keys(v).length) : 0
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  let v, input = null
  const raw = Buffer.from(line, 'base64').toString('utf8')
  try { v = JSON.parse(raw) } catch { return console.log('{"fails":true}') }
  const o = v && typeof v === 'object' ? v : {}
  console.log(JSON.stringify({ members: members(v), session: bytes(o.session_id), tool: bytes(o.tool_name),
    command: bytes(o.tool_input && o.tool_input.command), cwd: bytes(o.cwd), object: !!o.tool_input && typeof o.tool_input === 'object' && !Array.isArray(o.tool_input) }))
})`

type nodeRead struct {
	Fails                       bool
	Members                     int
	Session, Tool, Command, CWD []byte
	Object                      bool
}

// TestAsNodeReads holds Decode against the reader of the agents themselves: a payload that is taken and
// not marked must mean to Node what it means to us, with no member lost on the way.
func TestAsNodeReads(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	const all = 4000
	rng := rand.New(rand.NewPCG(19, 19))
	raws := make([][]byte, all)
	var in bytes.Buffer
	for i := range raws {
		raws[i] = []byte(oddPayload(rng))
		in.WriteString(base64.StdEncoding.EncodeToString(raws[i]) + "\n")
	}
	cmd := exec.Command(node, "-e", nodeReads)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != all {
		t.Fatalf("node answers %d of %d", len(lines), all)
	}
	taken, marked := 0, 0
	for i, raw := range raws {
		var want nodeRead
		if err := json.Unmarshal([]byte(lines[i]), &want); err != nil {
			t.Fatal(err)
		}
		p, err := codec.Decode("PermissionRequest", raw)
		switch {
		case err != nil:
			continue
		case p.Uninspectable != "":
			marked++
			continue
		}
		taken++
		var input map[string]json.RawMessage // by their exact names, as Node has them
		command := ""
		if json.Unmarshal(p.ToolInput, &input) == nil && json.Unmarshal(input["command"], &command) != nil {
			command = "" // another type
		}
		if want.Fails || want.Members != memberCount(raw) || string(want.Session) != p.SessionID || string(want.Tool) != p.ToolName ||
			string(want.CWD) != p.CWD || string(want.Command) != command || want.Object != (p.ToolInput != nil) {
			t.Errorf("taken as %q %q %q %s, and read by Node as %s\n%s", p.SessionID, p.ToolName, p.CWD, p.ToolInput, lines[i], raw)
		}
	}
	if taken < all/20 || marked < all/20 {
		t.Errorf("%d of %d payloads are taken and %d marked: the test sees too little", taken, all, marked)
	}
}

// memberCount is how many members a JSON text writes, repeated ones too.
func memberCount(raw []byte) (n int) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var value func()
	value = func() {
		switch tok, _ := dec.Token(); tok {
		case json.Delim('{'):
			for dec.More() {
				n++
				_, _ = dec.Token()
				value()
			}
			_, _ = dec.Token()
		case json.Delim('['):
			for dec.More() {
				value()
			}
			_, _ = dec.Token()
		}
	}
	value()
	return n
}

// oddPayload is a PermissionRequest with members repeated, spelled otherwise or out of the ordinary,
// some of the time.
func oddPayload(rng *rand.Rand) string {
	one := func(from ...string) string { return from[rng.IntN(len(from))] }
	rare := func(from ...string) string {
		if rng.IntN(12) > 0 {
			return from[0]
		}
		return one(from...)
	}
	text := func() string {
		return one(`"ls"`, `"rm -rf ~"`, `"a\u0000b"`, `"\ud800"`, `"\udc00\ud800x"`, `"\ud83d\ude00"`, `"\u2028"`, "\"\u2029\"", `"\/\b"`, `""`)
	}
	var value func(depth int) string
	value = func(depth int) string {
		if depth == 0 {
			return one(text(), "1", "-0", "1e999", "12345678901234567890123", "true", "null", "[]", "{}")
		}
		switch rng.IntN(4) {
		case 0:
			return "[" + value(depth-1) + "," + value(0) + "]"
		case 1:
			return "{" + one(`"a"`, `"__proto__"`, `"constructor"`, `""`, `"\u0061"`) + ":" + value(depth-1) + rare("", `,"a":1`, `,"A":1`, `,"\u0061":2`) + "}"
		}
		return value(0)
	}
	command := func() string { return rare(`"command"`, `"\u0063ommand"`, `"Command"`, `"command "`) }
	input := func() string {
		s := "{" + command() + ":" + rare(text(), value(1))
		for range rng.IntN(3) {
			s += "," + rare(fmt.Sprintf("%q", "k"+fmt.Sprint(rng.IntN(50))), command(), `"__proto__"`, `"\u212a"`, `"k"`) + ":" + value(2)
		}
		return s + "}"
	}
	members := []string{
		rare(`"session_id"`, `"Session_ID"`, `"\u0073ession_id"`, `"\u017fession_id"`) + ":" + rare(`"s1"`, text(), "5", "null"),
		rare(`"tool_name"`, `"TOOL_NAME"`, `"tool\u005fname"`) + ":" + rare(`"Bash"`, text()),
		rare(`"tool_input"`, `"Tool_Input"`, `"tool_\u0069nput"`) + ":" + rare(input(), input(), value(1)),
		`"cwd":` + rare(`"/p"`, text()),
	}
	for range max(0, rng.IntN(8)-5) {
		members = append(members, rare(`"x":`+value(2), `"tool_input":`+input(), `"session_id":"s2"`, `"tool_name":"Edit"`, `"cwd":"/q"`, `"__proto__":{"tool_name":"Edit"}`))
	}
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return rare("", " ", "\ufeff", "\u00a0", "\xff") + "{" + strings.Join(members, rare(",", " ,\t", ",,")) + rare("", ",", "\v") + "}" + rare("", "\n", "x", "{}")
}
