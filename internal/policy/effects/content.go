package effects

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"assent/internal/agent/claude/describe"
)

// Phrases of what is told of new content, of addresses, and of secrets that are only read.
const (
	addsInstall    = "Adds code that runs at install:"
	changesInstall = "Changes code that runs at install:"
	readsSecrets   = "Reads secrets:"
	sendsToken     = "Sends a token to"
	tokenReason    = "The address holds what looks like a secret."
)

var (
	promptsOff  = regexp.MustCompile(`"bypassPermissions"|"skipDangerous\w*"\s*:\s*true|dangerouslySkip\w*"\s*:\s*true|"defaultMode"\s*:\s*"(acceptEdits|dontAsk|auto)"|approval_policy\s*=\s*"never"`)
	installHook = regexp.MustCompile(`"(preinstall|postinstall|prepare)"\s*:`)
	withSecrets = regexp.MustCompile(`\bpull_request_target\b|\bsecrets\s*[.\[]|\bsecrets:\s*inherit`)
)

// content looks at what a tool writes into a file of which worse than usual may be said. It makes the
// words of an effect plainer, and its risk neither higher nor lower.
func (e *found) content(name string) {
	text, before := e.newText()
	name = strings.ToLower(path.Clean("/" + name))
	for i := range e.effects {
		f := &e.effects[i]
		switch {
		case f.phrase != "" || f.text != "":
		case f.kind == "agent-settings" && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".toml")) && promptsOff.MatchString(text):
			f.phrase = "Turns off the agent's permission prompts:"
		case f.kind == "plants" && strings.Contains(name, "/.github/workflows/") && withSecrets.MatchString(text):
			f.phrase = "Changes a workflow that runs with secrets:"
		case f.kind == "plants" && path.Base(name) == "package.json" && installHook.MatchString(text):
			if f.phrase = addsInstall; installHook.MatchString(before) {
				f.phrase = changesInstall
			}
		}
	}
}

// newText is what a call of a tool writes, and what it replaces.
func (e *found) newText() (text, before string) {
	for _, key := range []string{"content", "new_string", "new_source"} {
		s, _ := describe.Member(e.req.ToolInput, key)
		text += s + "\n"
	}
	before, _ = describe.Member(e.req.ToolInput, "old_string")
	var many struct {
		Edits []struct {
			New string `json:"new_string"`
			Old string `json:"old_string"`
		} `json:"edits"`
	}
	if strings.Contains(string(e.req.ToolInput), `"edits"`) && json.Unmarshal(e.req.ToolInput, &many) == nil {
		for _, edit := range many.Edits[:min(len(many.Edits), maxObjects)] {
			text += edit.New + "\n"
			before += edit.Old + "\n"
		}
	}
	return text, before
}

// tokenHost is the machine of an address that holds what looks like a secret in its query.
func tokenHost(address string) string {
	if !strings.Contains(address, "://") {
		return ""
	}
	address, _, _ = strings.Cut(address, "#")
	_, query, is := strings.Cut(address, "?")
	if !is {
		return ""
	}
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, _ := strings.Cut(strings.ToLower(part), "=")
		key = strings.NewReplacer("-", "", "_", "", ".", "").Replace(key)
		if value != "" && slices.Contains([]string{
			"token", "key", "secret", "password", "passwd", "pwd", "sig", "signature", "accesstoken", "apikey", "authtoken", "accesskey", "secretkey",
			"clientsecret", "privatetoken", "refreshtoken", "idtoken", "auth", "jwt", "xamzsignature", "xamzcredential", "xamzsecuritytoken", "xgoogsignature", "bearer", "credential", "credentials",
		}, key) {
			return hostOf(address)
		}
	}
	return ""
}
