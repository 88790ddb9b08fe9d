package install

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// Timeouts, in seconds. The hook's own ends a little before the agent's, so that the record can
// say what happened.
const (
	plainTimeout = 10
	dayTimeout   = 86400
	dayWait      = "86390s"
	// CIWait is how long a request waits in a run without a person, where nobody said otherwise.
	CIWait   = 300 * time.Second
	ciMargin = 10 // how many seconds more the agent waits for the hook
	// FormTimeout is for a form of an MCP server: the agent's own is shown only after it.
	FormTimeout = 130
)

// handler is one hook command as Claude Code's settings spell it. It always has args: then no
// shell stands in between, and a path needs no quoting. 2.1.197 knows this form too.
type handler struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout int      `json:"timeout"`
	// OnFailure "block" makes the agent itself deny when the hook cannot be run.
	OnFailure string `json:"onFailure,omitempty"`
}

func (o Options) handler(event string) handler {
	h := handler{Type: "command", Command: o.Command[0], Args: append([]string{}, o.Command[1:]...), Timeout: plainTimeout}
	if event == "Elicitation" && !o.CI { // where nobody answers, the agent cancels it at once
		h.Timeout = FormTimeout
	}
	if event != "PermissionRequest" {
		return h
	}
	if o.CI {
		var words []string
		words, h.Timeout = CIWords(cmp.Or(o.Wait, CIWait))
		h.Args = append(h.Args, words...)
		if slices.ContainsFunc(o.Versions, knowsOnFailure) {
			h.OnFailure = "block"
		}
		return h
	}
	h.Args, h.Timeout = append(h.Args, "--timeout", dayWait), dayTimeout
	return h
}

// CIWords are the flags of a hook that denies what nobody answers in time, and timeout is how long the agent
// has to wait for it, in seconds.
func CIWords(wait time.Duration) (words []string, timeout int) {
	return []string{"--on-failure", "deny", "--timeout", waitText(wait), "--on-timeout", "deny"}, int((wait+time.Second-1)/time.Second) + ciMargin
}

// line is the handler on one line: a person who is to agree to thirty of them sees them all.
func (h handler) line() string {
	var args []string
	for _, a := range h.Args {
		args = append(args, quote(a))
	}
	b, _ := json.Marshal(h.Timeout) // a number
	onFailure := ""
	if h.OnFailure != "" {
		onFailure = `, "onFailure": ` + quote(h.OnFailure)
	}
	return `{"type": ` + quote(h.Type) + `, "command": ` + quote(h.Command) +
		`, "args": [` + strings.Join(args, ", ") + `], "timeout": ` + string(b) + onFailure + `}`
}

// waitText is a duration as the hook's flag takes it: in seconds where it is whole ones.
func waitText(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return d.String()
}

// knowsOnFailure reports whether a version may know onFailure: 2.1.197 does not, and passes over it
// like any setting it does not know.
func knowsOnFailure(version string) bool { return Older(Oldest, version) }

func quote(s string) string { return string(hujson.String(s)) }

// Ours reports whether a command line runs assent's hook: assent-hook, assent-hook-strict, or assent hook.
func Ours(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch filepath.Base(words[0]) {
	case "assent-hook", "assent-hook-strict":
		return true
	case "assent":
		return len(words) > 1 && words[1] == "hook"
	}
	return false
}

// shellWords splits a command as a shell would, as far as is needed to know a program by its
// name: quotes and backslashes count; variables, pipes and the like stay as they are. Assignments
// and exec in front are left out.
func shellWords(command string) []string {
	var words []string
	var word strings.Builder
	in, mark := false, byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case mark == '\'' && c == '\'', mark == '"' && c == '"':
			mark = 0
		case mark == 0 && (c == '\'' || c == '"'):
			in, mark = true, c
		case mark != '\'' && c == '\\' && i+1 < len(command):
			i++
			in = true
			word.WriteByte(command[i])
		case mark == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if in {
		words = append(words, word.String())
	}
	for len(words) > 0 && (words[0] == "exec" || assignment(words[0])) {
		words = words[1:]
	}
	return words
}

func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/.-")
}
