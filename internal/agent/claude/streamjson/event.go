package streamjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"assent/internal/agent/claude/tools"
	"assent/internal/text/strictjson"
)

// Kind says what a line tells.
type Kind string

// The kinds that count. Lines of others are Other.
const (
	Other     Kind = ""
	Init      Kind = "init"      // a turn begins; it has Mode and Version
	Lifecycle Kind = "lifecycle" // of the prompt Prompt; it has State
	Replay    Kind = "replay"    // the prompt Prompt is in the agent's context
	Says      Kind = "says"      // the agent wrote Text, or calls Tool; it has Call
	Result    Kind = "result"    // a turn is over; it has Text, Outcome and CostUSD
	Mode      Kind = "mode"      // it works in another mode from now on, also within a turn; it has Mode
	Did       Kind = "did"       // tools of the agent are done; it has Results
	Answer    Kind = "answer"    // it did what a control request asked, or would not (Failed); it has Request, and CostUSD if Metered
)

// States of a prompt.
const (
	Queued    = "queued"
	Started   = "started"
	Completed = "completed"
	Cancelled = "cancelled"
)

// Outcomes of a turn.
const (
	Success     = "success"
	MaxBudget   = "error_max_budget_usd"
	MaxTurns    = "error_max_turns"
	Interrupted = "error_during_execution" // also other ends that were not the agent's own
)

// AuthenticationFailed is the Trouble of a client that is not logged in, or whose key is not taken.
const AuthenticationFailed = "authentication_failed"

// Event is what one line tells.
type Event struct {
	Kind    Kind
	Session string
	Mode    string  // permissionMode
	Request string  // id of a control request
	Version string  // of the client
	Prompt  string  // uuid
	State   string  // of the prompt
	Trouble string  // why the model was not asked, of Says: AuthenticationFailed and its like
	Call    string  // names the answer of the model that this is of; one may come in several lines
	Tool    string  // the first that is called
	Outcome string  // Success, or error_…
	Failed  bool    // the turn did not end well
	Text    string  // of the result, or what the agent wrote
	Within  bool    // an agent that this one started says it
	CostUSD float64 // of this process so far, by the client's own estimate
	Metered bool    // an Answer says what was spent

	Commands []Command // for a shell, that are called; the first MaxCalls
	Tools    []Command // of servers, that are called; Text is the tool's name; the first MaxCalls
	Results  []Command // what tools that did not fail answered, as their Text; the first MaxCalls
}

// MaxCalls bounds the calls of one line that are told, of each kind. The client makes a few at once.
const MaxCalls = 100

// Command is the call of a tool, and what goes with it.
type Command struct {
	ID   string
	Text string
}

// Parse reads one line. Keys count exactly as they are written; of a line in which two of them could be
// taken for each other nothing is believed, which is an error.
func Parse(text []byte) (Event, error) {
	o, err := read(text)
	if err != nil {
		return Event{}, err
	}
	e := Event{Session: o.text("session_id")}
	switch kind, sub := o.text("type"), o.text("subtype"); {
	case kind == "command_lifecycle":
		e.Kind, e.Prompt, e.State = Lifecycle, o.text("command_uuid"), o.text("state")
	case kind == "system" && sub == "init":
		e.Kind, e.Mode, e.Version = Init, o.text("permissionMode"), o.text("claude_code_version")
	case kind == "system" && sub == "status" && o["permissionMode"] != nil:
		e.Kind, e.Mode = Mode, o.text("permissionMode")
	case kind == "control_response":
		to, err := read(o["response"])
		if err != nil {
			return Event{}, err
		}
		e.Kind, e.Request, e.Failed = Answer, to.text("request_id"), to.text("subtype") != Success
		if err := e.meter(to["response"]); err != nil {
			return Event{}, err
		}
	case kind == "user" && o.flag("isReplay"):
		e.Kind, e.Prompt = Replay, o.text("uuid")
	case kind == "user":
		e.Kind = Did
		if err := e.did(o["message"]); err != nil {
			return Event{}, err
		}
	case kind == "assistant":
		e.Kind, e.Within, e.Trouble = Says, o.text("parent_tool_use_id") != "", o.text("error")
		if err := e.says(o["message"]); err != nil {
			return Event{}, err
		}
	case kind == "result":
		e.Kind, e.Outcome, e.Text, e.CostUSD = Result, sub, o.text("result"), o.number("total_cost_usd")
		e.Failed = sub != Success || o.flag("is_error")
	default:
		return Event{}, nil
	}
	return e, nil
}

// meter takes what was spent out of the answer to a request for usage.
func (e *Event) meter(response []byte) error {
	if len(response) == 0 || response[0] != '{' {
		return nil
	}
	r, err := read(response)
	if err != nil || len(r["session"]) == 0 || r["session"][0] != '{' {
		return err
	}
	session, err := read(r["session"])
	if err != nil {
		return err
	}
	if session["total_cost_usd"] != nil && !e.Failed {
		e.Metered, e.CostUSD = true, session.number("total_cost_usd")
	}
	return nil
}

// says takes the texts and the first tool out of a message of the agent.
func (e *Event) says(message []byte) error {
	m, err := read(message)
	if err != nil {
		return err
	}
	e.Call = m.text("id")
	blocks, err := strictjson.Array(m["content"])
	if err != nil {
		return fmt.Errorf("a line of the agent: content: %w", err)
	}
	var all strings.Builder
	for _, b := range blocks {
		block, err := read(b)
		if err != nil {
			return err
		}
		switch block.text("type") {
		case "text":
			if all.Len() > 0 {
				all.WriteByte('\n')
			}
			all.WriteString(block.text("text"))
		case "tool_use":
			if e.Tool == "" {
				e.Tool = block.text("name")
			}
			if name := block.text("name"); name != tools.Bash {
				if strings.HasPrefix(name, "mcp__") && len(e.Tools) < MaxCalls {
					e.Tools = append(e.Tools, Command{block.text("id"), name})
				}
				continue
			}
			if len(e.Commands) == MaxCalls {
				continue
			}
			if input, err := read(block["input"]); err == nil { // else the call fails
				e.Commands = append(e.Commands, Command{block.text("id"), input.text("command")})
			}
		}
	}
	e.Text = all.String()
	return nil
}

// did takes what tools answered out of a message to the model.
func (e *Event) did(message []byte) error {
	m, err := read(message)
	if err != nil || len(m["content"]) == 0 || m["content"][0] != '[' {
		return err
	}
	blocks, err := strictjson.Array(m["content"])
	if err != nil {
		return fmt.Errorf("a line of the agent: content: %w", err)
	}
	for _, b := range blocks {
		block, err := read(b)
		if err != nil {
			return err
		}
		if block.text("type") != "tool_result" || block.flag("is_error") || len(e.Results) == MaxCalls {
			continue
		}
		r := Command{block.text("tool_use_id"), block.text("content")}
		if c := block["content"]; len(c) > 0 && c[0] == '[' {
			if r.Text, err = texts(c); err != nil {
				return err
			}
		}
		e.Results = append(e.Results, r)
	}
	return nil
}

// texts joins the texts of a list of blocks.
func texts(list []byte) (string, error) {
	blocks, err := strictjson.Array(list)
	if err != nil {
		return "", fmt.Errorf("a line of the agent: content: %w", err)
	}
	var all strings.Builder
	for _, b := range blocks {
		block, err := read(b)
		if err != nil {
			return "", err
		}
		if text := block.text("text"); text != "" {
			all.WriteString(text)
			all.WriteByte('\n')
		}
	}
	return all.String(), nil
}

// object are the members of a JSON object by their exact keys.
type object map[string][]byte

func read(text []byte) (object, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("a line of the agent: no UTF-8")
	}
	members, err := strictjson.Object(text)
	if err != nil {
		return nil, fmt.Errorf("a line of the agent: %w", err)
	}
	if key, twice := strictjson.Repeated(members); twice {
		return nil, fmt.Errorf("a line of the agent: %.64q stands there twice, in some spelling", key)
	}
	o := object{}
	for _, m := range members {
		o[m.Key] = m.Value
	}
	return o, nil
}

// text is a member that is a string, else "".
func (o object) text(key string) string {
	if v := o[key]; len(v) > 1 && v[0] == '"' {
		return strictjson.Text(v)
	}
	return ""
}

func (o object) flag(key string) bool { return string(o[key]) == "true" }

func (o object) number(key string) float64 {
	n, err := strconv.ParseFloat(string(o[key]), 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
