package main

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
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
)

// maxEvalLine is how long a line of eval may be, in bytes; a longer one is asked about unread.
const maxEvalLine = 8 << 20

func (a *app) rulesEvalCmd() *cobra.Command {
	var file string
	var own bool
	c := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate many commands for a program, as lines of JSON",
		Long: `Read calls from standard input, one JSON object on each line, and write what the rules make of
each, one line for one line and in the same order, at once. No broker is needed, nothing is run.

  in   {"id"?, "command"} or {"id"?, "tool", "input"}, with "cwd"? (default the current directory)
       and as in the tests of a file "agent"?, "mode"?, "repo"?, "branch"?, "label"?, "time"?, and
       "project"? (default the repository around cwd), "shell"? ("bash" where that is certain)
  out  {"id"?, "verdict": "allow", "ask" or "deny", "rule"?, "reason"}

A line that cannot be understood gets the verdict ask. Members that are not named above have no
meaning. With --row-rules a call may bring "rules", the content of a file of rules, which then
count for it instead; use that only where you trust whoever writes the lines.`,
		Example: `  echo '{"id":1,"command":"git push -f"}' | assent rules eval --rules rules.yaml
  jq -c '{command}' calls.jsonl | assent rules eval`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := here()
			if err != nil {
				return err
			}
			set, f, err := a.loadedRules(file, w.root)
			if err != nil {
				return err
			}
			e := &evaluator{set: set, options: f.options, cwd: w.cwd, places: map[string]policy.Call{}}
			if own {
				e.sets = map[string]ownSet{}
			}
			return untilDone(cmd.Context(), func() error { return e.run(cmd.Context(), a.in, a.out) })
		},
	}
	c.Flags().StringVar(&file, "rules", "", "this file of rules, and no other")
	c.Flags().BoolVar(&own, "row-rules", false, "let a call bring rules of its own")
	return c
}

// evaluator answers the lines of eval. It is used by one goroutine.
type evaluator struct {
	set     *policy.Set
	options policy.LoadOptions
	cwd     string
	places  map[string]policy.Call // by directory: what it says about a call; at most maxPlaces
	sets    map[string]ownSet      // by their text: rules that calls brought, at most maxPlaces; nil: they count for nothing
}

const maxPlaces = 1000

type ownSet struct {
	set *policy.Set
	err error
}

// evaluated is a line of eval's output.
type evaluated struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Verdict hook.Action     `json:"verdict"`
	Rule    string          `json:"rule,omitempty"`
	Reason  string          `json:"reason"`
}

func (e *evaluator) run(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriterSize(out, 64<<10)
	for ctx.Err() == nil {
		line, whole, err := readEvalLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read calls: %w", err)
		}
		if err != nil && len(line) == 0 && whole {
			break
		}
		answer := evaluated{Verdict: hook.ActionAsk, Reason: fmt.Sprintf("the line has more than %d bytes", maxEvalLine)}
		if whole {
			answer = e.line(line)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(answer); err != nil {
			return fmt.Errorf("encode an answer: %w", err)
		}
		_, _ = w.Write(show.JSON(b.Bytes())) // bufio keeps the error
		if r.Buffered() == 0 {               // who asks one by one waits for the answer
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

// readEvalLine reads up to the next line feed; of a line that is too long, whole is false and
// nothing is kept. The error is io.EOF at the end, also beside a last line.
func readEvalLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole {
			line = append(line, part...)
		}
		if len(line) > maxEvalLine {
			line, whole = nil, false
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), whole, err
		}
	}
}

// line answers one line.
func (e *evaluator) line(line []byte) (answer evaluated) {
	answer = evaluated{Verdict: hook.ActionAsk}
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
	set := e.set
	if own, has := members["rules"]; err == nil && has && e.sets != nil {
		set, err = e.own(own)
	}
	if err != nil {
		answer.Reason = err.Error()
		return answer
	}
	v := set.Eval(call)
	answer.Verdict, answer.Rule, answer.Reason = v.Action, v.Rule, v.Reason
	return answer
}

// evalMembers are the members of a line that have a meaning.
var evalMembers = []string{"id", "tool", "command", "input", "cwd", "project", "agent", "mode", "repo", "branch", "label", "shell", "time", "rules"}

// exactMembers takes a line apart. A member whose name is nearly one that has a meaning, or that
// stands there twice, is refused: another reader may take it for that one.
func exactMembers(line []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, errors.New("the line is empty")
	}
	if !utf8.Valid(line) {
		return nil, errors.New("the line is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the line is no JSON object")
	}
	all := map[string]json.RawMessage{}
	var doubt error
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		var value json.RawMessage
		if err == nil && ok {
			err = dec.Decode(&value)
		}
		if err != nil || !ok {
			return all, errors.New("the line is no JSON object")
		}
		i := slices.IndexFunc(evalMembers, func(m string) bool { return strings.EqualFold(m, key) })
		if i < 0 {
			continue
		}
		if _, twice := all[evalMembers[i]]; twice || evalMembers[i] != key {
			doubt = fmt.Errorf("the member %q stands there twice, or in other letters", evalMembers[i])
			if key != "id" || twice {
				continue
			}
		}
		all[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return all, errors.New("the line is no JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return all, errors.New("there is more on the line than one JSON object")
	}
	return all, doubt
}

// call makes the call that a line describes.
func (e *evaluator) call(members map[string]json.RawMessage) (policy.Call, error) {
	texts := map[string]string{}
	for _, key := range evalMembers {
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
		cwd = e.cwd
	}
	if tool == "" {
		tool = tools.Bash
	}
	if !path.IsAbs(cwd) {
		return policy.Call{}, errors.New("cwd is no absolute path")
	}
	call := e.place(cwd)
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

// place is a call in a directory.
func (e *evaluator) place(cwd string) policy.Call {
	call, known := e.places[cwd]
	if !known {
		if len(e.places) >= maxPlaces {
			clear(e.places)
		}
		call = policy.Call{Cwd: cwd}
		stand(&call)
		e.places[cwd] = call
	}
	return call
}

// own compiles the rules that a call brought.
func (e *evaluator) own(raw json.RawMessage) (*policy.Set, error) {
	if own, known := e.sets[string(raw)]; known {
		return own.set, own.err
	}
	if len(e.sets) >= maxPlaces {
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
			own.set, own.err = policy.Load([]policy.Source{{Name: "rules", Layer: policy.User, Data: text}}, e.options)
		}
		if own.err != nil {
			own.err = fmt.Errorf("its rules have mistakes: %w", own.err)
		}
	}
	e.sets[string(raw)] = own
	return own.set, own.err
}
