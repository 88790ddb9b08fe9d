// Package batch answers calls that programs ask about as lines of JSON: one line in, one line out, in
// the same order. It is what "assent rules eval" speaks.
package batch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"
	"unicode/utf8"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
	"assent/internal/text/strictjson"
)

// Bounds of an Evaluator.
const (
	maxLine  = 8 << 20 // bytes; a longer line is answered with ask, unread
	maxCalls = 1000    // directories that are remembered
	maxSets  = 1000    // texts of rules that are remembered
)

// Config is what an Evaluator needs. Set and CallIn are required.
type Config struct {
	// Set is asked about each call, except those that bring rules of their own.
	Set *policy.Set
	// Cwd is the directory of a call that names none; absolute.
	Cwd string
	// CallIn returns what a directory says about a call: Cwd, Project, Repo, Branch and Home.
	CallIn func(cwd string) policy.Call
	// OwnRules lets a call bring rules, in the member "rules"; without it that member has no
	// meaning. Options are those that such rules are loaded with.
	OwnRules bool
	Options  policy.LoadOptions
	// NoContain is for who cannot have a command run contained: what would be allowed that way has to ask.
	NoContain bool
}

// Evaluator answers lines. It is used by one goroutine.
type Evaluator struct {
	cfg   Config
	calls map[string]policy.Call // by directory; at most maxCalls
	sets  map[string]ownSet      // by their text: rules that calls brought, at most maxSets
}

type ownSet struct {
	set *policy.Set
	err error
}

// New returns an Evaluator.
func New(cfg Config) *Evaluator {
	return &Evaluator{cfg: cfg, calls: map[string]policy.Call{}, sets: map[string]ownSet{}}
}

// Answer is a line of the output. Its texts are safe to show once Run wrote them.
type Answer struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Verdict hook.Action     `json:"verdict"`
	// Contain, of an allow, says that it holds only for a command that runs contained: "read".
	Contain string `json:"contain,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Reason  string `json:"reason"`
}

// Run answers the lines of in until its end or until ctx is done, between two lines. It writes each
// answer at once where no further line waits. The error is that of reading or writing.
func (e *Evaluator) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return eachLine(ctx, in, out, func(line []byte, whole bool) any {
		if !whole {
			return Answer{Verdict: hook.ActionAsk, Reason: tooLong}
		}
		return e.line(line)
	})
}

// RunWith is Run for who asks something else about the calls than the rules do. answer gets the id
// of a line and its call, or why there is none; what it returns is written as JSON.
func (e *Evaluator) RunWith(ctx context.Context, in io.Reader, out io.Writer, answer func(id json.RawMessage, call policy.Call, err error) any) error {
	return eachLine(ctx, in, out, func(line []byte, whole bool) any {
		if !whole {
			return answer(nil, policy.Call{}, errors.New(tooLong))
		}
		members, err := exactMembers(line)
		var call policy.Call
		if err == nil {
			call, err = e.call(members)
		}
		return answer(members["id"], call, err)
	})
}

var tooLong = fmt.Sprintf("the line has more than %d bytes", maxLine)

// eachLine writes an answer to each line.
func eachLine(ctx context.Context, in io.Reader, out io.Writer, answer func(line []byte, whole bool) any) error {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriterSize(out, 64<<10)
	for ctx.Err() == nil {
		line, whole, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read calls: %w", err)
		}
		if err != nil && len(line) == 0 && whole {
			break
		}
		text, encodeErr := strictjson.Encode(answer(line, whole))
		if encodeErr != nil {
			return fmt.Errorf("encode an answer: %w", encodeErr)
		}
		_, _ = w.Write(show.JSON(append(text, '\n'))) // bufio keeps the error
		if r.Buffered() == 0 {                        // who asks one by one waits for the answer
			if err := w.Flush(); err != nil {
				return fmt.Errorf("write answers: %w", err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write answers: %w", err)
	}
	return nil
}

// readLine reads up to the next line feed; of a line that is too long, whole is false and
// nothing is kept. The error is io.EOF at the end, also beside a last line.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			line, whole = nil, false
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), whole, err
		}
	}
}

// line answers one line.
func (e *Evaluator) line(line []byte) (answer Answer) {
	answer = Answer{Verdict: hook.ActionAsk}
	defer func() {
		if p := recover(); p != nil { // the value could quote a command
			answer.Verdict, answer.Rule, answer.Reason = hook.ActionAsk, "", fmt.Sprintf("the rules failed on it (%T)", p)
		}
	}()
	members, err := exactMembers(line)
	if id, ok := members["id"]; ok {
		answer.ID = id
	}
	var call policy.Call
	if err == nil {
		call, err = e.call(members)
	}
	set := e.cfg.Set
	if own, has := members["rules"]; err == nil && has && e.cfg.OwnRules {
		set, err = e.own(own)
	}
	if err != nil {
		answer.Reason = err.Error()
		return answer
	}
	call.Contain = !e.cfg.NoContain
	v := set.Eval(call)
	answer.Verdict, answer.Contain, answer.Rule, answer.Reason = v.Action, v.Contain, v.Rule, v.Reason
	return answer
}

// knownMembers are the members of a line that have a meaning.
var knownMembers = []string{"id", "tool", "command", "input", "cwd", "project", "agent", "mode", "repo", "branch", "label", "shell", "time", "rules"}

// exactMembers takes a line apart. A member whose name is nearly one that has a meaning, or that
// stands there twice, is refused: another reader may take it for that one.
func exactMembers(line []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, errors.New("the line is empty")
	}
	if !utf8.Valid(line) {
		return nil, errors.New("the line is not UTF-8")
	}
	members, err := strictjson.Object(line)
	all := map[string]json.RawMessage{}
	var doubt error
	for _, m := range members {
		i := slices.IndexFunc(knownMembers, func(name string) bool { return name == strictjson.Fold(m.Key) })
		if i < 0 {
			continue
		}
		if _, twice := all[knownMembers[i]]; twice || knownMembers[i] != m.Key {
			doubt = fmt.Errorf("the member %q stands there twice, or in other letters", knownMembers[i])
			if m.Key != "id" || twice {
				continue
			}
		}
		all[m.Key] = m.Value
	}
	switch {
	case errors.Is(err, strictjson.ErrMore):
		return all, errors.New("there is more on the line than one JSON object")
	case err != nil:
		return all, errors.New("the line is no JSON object")
	}
	return all, doubt
}

// call makes the call that a line describes.
func (e *Evaluator) call(members map[string]json.RawMessage) (policy.Call, error) {
	texts := map[string]string{}
	for _, key := range knownMembers {
		raw, has := members[key]
		if !has || slices.Contains([]string{"id", "input", "rules"}, key) || key != "command" && string(raw) == "null" {
			continue
		}
		var s string
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			return policy.Call{}, fmt.Errorf("%q is not a text", key)
		}
		texts[key] = s
	}
	cwd, tool := texts["cwd"], texts["tool"]
	if cwd == "" {
		cwd = e.cfg.Cwd
	}
	if tool == "" {
		tool = tools.Bash
	}
	if !path.IsAbs(cwd) {
		return policy.Call{}, errors.New("cwd is no absolute path")
	}
	call := e.callIn(cwd)
	input, hasInput := members["input"]
	raw, hasCommand := members["command"]
	switch {
	case hasCommand && hasInput:
		return call, errors.New("there is a command and an input")
	case hasCommand && tool != tools.Bash:
		return call, errors.New("a command is for the tool Bash; other tools have an input")
	case hasCommand:
		input = slices.Concat([]byte(`{"command":`), raw, []byte("}"))
	case !hasInput:
		return call, errors.New("there is no command and no input")
	}
	call.Agent, call.Tool, call.Input, call.Time = "claude", tool, input, time.Now()
	for key, field := range map[string]*string{
		"project": &call.Project, "agent": &call.Agent, "mode": &call.Mode, "repo": &call.Repo,
		"branch": &call.Branch, "label": &call.AgentLabel, "shell": &call.Shell,
	} {
		if s := texts[key]; s != "" {
			*field = s
		}
	}
	if !path.IsAbs(call.Project) && call.Project != "" {
		return call, errors.New("project is no absolute path")
	}
	if s := texts["time"]; s != "" {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return call, errors.New("time is not such as 2026-01-07T12:00:00Z")
		}
		call.Time = at
	}
	return call, nil
}

// callIn is a call in a directory. It remembers what was found there.
func (e *Evaluator) callIn(cwd string) policy.Call {
	call, known := e.calls[cwd]
	if !known {
		if len(e.calls) >= maxCalls {
			clear(e.calls)
		}
		call = e.cfg.CallIn(cwd)
		e.calls[cwd] = call
	}
	return call
}

// own compiles the rules that a call brought.
func (e *Evaluator) own(raw json.RawMessage) (*policy.Set, error) {
	if own, known := e.sets[string(raw)]; known {
		return own.set, own.err
	}
	if len(e.sets) >= maxSets {
		clear(e.sets)
	}
	var own ownSet
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		own.err = errors.New("its rules are no JSON object")
	} else {
		if members["version"] == nil {
			members["version"] = json.RawMessage("1")
		}
		var text []byte
		if text, own.err = json.Marshal(members); own.err == nil { // JSON is YAML
			own.set, own.err = policy.Load([]policy.Source{{Name: "rules", Layer: policy.User, Data: text}}, e.cfg.Options)
		}
		if own.err != nil {
			own.err = fmt.Errorf("its rules have mistakes: %w", own.err)
		}
	}
	e.sets[string(raw)] = own
	return own.set, own.err
}
