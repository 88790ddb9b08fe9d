// Package strict decides whether a hook may print an allow: only what a trusted key signed, over the very
// input on the hook's own standard input, for this very request; or what rules allow that a key signed which is
// trusted for rules, evaluated here over that input. What the broker says is evidence to be
// checked, and nothing of it is printed: the answer is rebuilt from the fields that were signed.
//
// So whoever holds the broker can deny, and can say nothing, but cannot allow.
package strict

import (
	"encoding/json"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/text/show"
	"assent/internal/text/strictjson"
)

// Agent is the one whose answers can be rebuilt here.
const Agent = "claude"

// Skew is by how much a device's clock may differ from the hook's, either way.
const Skew = 5 * time.Minute

// Asked is a request as the hook itself knows it. Nothing of it comes from the broker.
type Asked struct {
	// ID was chosen by the hook, at random, for this one request.
	ID string
	// Event is the type that the hook was registered for; empty means that Raw says it. Raw is the payload.
	Event string
	Raw   []byte
	// Began and Deadline are when the hook began to wait, and when it stops.
	Began, Deadline time.Time
	Origin          hook.Origin // where the hook runs
}

// Trust is whom an allow is taken from.
type Trust struct {
	Devices []string // the thumbprints of keys
	Rules   Rules
}

// Print returns what the hook prints for what the broker sent: an allow that was signed by the key of a trusted device, or
// that signed rules give, or a denial, signed or not. Otherwise it is nil, and why says why: the agent's own prompt
// then decides.
func Print(asked Asked, body []byte, trust Trust, now time.Time) (out []byte, why string) {
	a, err := signed.ReadAnswer(body)
	if err != nil {
		return nil, err.Error()
	}
	p, err := claude.Agent{}.Decode(asked.Event, asked.Raw)
	switch {
	case err != nil:
		return nil, "the request cannot be read with certainty"
	case p.Type != hook.EventPermissionRequest:
		return nil, "only a request for permission is answered"
	}
	d := a.Decision()
	req := &hook.Request{
		ID: asked.ID, Agent: Agent, CWD: p.CWD, ToolName: p.ToolName, ToolInput: p.ToolInput, InputSHA256: p.InputSHA256, Suggestions: p.Suggestions,
	}
	switch {
	case d.Behavior != hook.BehaviorAllow:
	case d.Signature == "" && a.Rules != nil:
		d = hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: p.InputSHA256} // whatever else the broker put in
		if err := (claude.Agent{}).Check(d, req); err != nil {
			return nil, "the agent takes no plain yes here, so no rule can allow it"
		}
		if why := byRules(asked, &p, &a, &trust.Rules, now); why != "" {
			return nil, why
		}
	default:
		if why := refused(asked, &p, d, a.By, trust.Devices, now); why != "" {
			return nil, why
		}
	}
	out, err = claude.Agent{}.Encode(d, req)
	if err != nil {
		return nil, "the agent takes no such answer: " + show.Line(err.Error())
	}
	return out, ""
}

// refused says why an allow is not printed; empty if it is.
func refused(asked Asked, p *hook.Payload, d hook.Decision, by *hook.Approver, trusted []string, now time.Time) string {
	switch {
	case p.Uninspectable != "":
		return "the request can be read in more than one way (" + show.Line(p.Uninspectable) + ")"
	case !now.Before(asked.Deadline):
		return "it came after the deadline"
	case d.PublicKey == nil || d.Signature == "":
		return "it is not signed" + byWhom(by)
	case len(trusted) == 0:
		return "no key is trusted: hook.conf has no line trust = device:… beside require = signed"
	case !trusts(trusted, signed.Thumbprint(*d.PublicKey)):
		return "the key that signed it is not trusted: device:" + signed.Thumbprint(*d.PublicKey)
	case d.InputSHA256 != p.InputSHA256:
		return "it is about another input"
	}
	pub, err := signed.Key(*d.PublicKey)
	if err != nil || !signed.Verify(pub, signed.DecisionText(asked.ID, d), d.Signature) {
		return "the signature does not fit this request and this answer"
	}
	// What follows is the word of a trusted key.
	at, err := time.Parse(time.RFC3339, d.SignedAt)
	switch {
	case err != nil:
		return "the signature does not say when it was made; the page is older than this hook: reload it"
	case at.Before(asked.Began.Add(-Skew)) || at.After(now.Add(Skew)):
		return "it was signed at another time, or the device's clock is wrong: " + show.Line(d.SignedAt)
	case d.Message != "" || d.Interrupt:
		return "an allow has no words"
	case len(d.UpdatedInput) > 0 && strictjson.Ambiguous(d.UpdatedInput, maxDepth) != nil:
		return "the input that was signed in its place can be read in more than one way"
	}
	return otherwise(p, d.Shown)
}

// maxDepth is how deep an edited input may nest, as in a request.
const maxDepth = 200

// otherwise says what the device showed otherwise than it is, by its own signed word; empty if nothing. The digest
// of the input does not cover the tool and the directory.
func otherwise(p *hook.Payload, shown string) string {
	members, err := strictjson.Object([]byte(shown))
	if err != nil {
		return "the signature does not say what was shown; the page or the command that signed it is older than this hook"
	}
	var tool, cwd string
	for _, m := range members {
		switch m.Key {
		case "tool":
			err = json.Unmarshal(m.Value, &tool)
		case "cwd":
			err = json.Unmarshal(m.Value, &cwd)
		}
		if err != nil {
			return "the signature does not say what was shown"
		}
	}
	_, repeated := strictjson.Repeated(members)
	switch {
	case repeated:
		return "the signature says twice what was shown"
	case tool == "":
		return "the signature does not say which tool was shown; the page is older than this hook: reload it"
	case tool != p.ToolName:
		return "another tool was shown to who signed it: " + show.Short(tool, 80)
	case cwd != p.CWD:
		return "another directory was shown to who signed it: " + show.Short(cwd, 200)
	}
	return ""
}

func trusts(trusted []string, thumbprint string) bool {
	for _, t := range trusted {
		if t == thumbprint {
			return true
		}
	}
	return false
}

// byWhom says who is said to have decided.
func byWhom(by *hook.Approver) string {
	switch {
	case by == nil:
		return ""
	case by.Kind == hook.KindRule:
		return ": a rule allowed it"
	case by.Kind == hook.KindOwner:
		return ": it was allowed with the owner's token"
	case by.Kind == "token":
		return ": it was allowed with a token that is bound to no key"
	}
	return ""
}
