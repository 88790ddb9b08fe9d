package strict

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
)

// RulesKey is a key by whose signature rules are evaluated here.
type RulesKey struct {
	Thumbprint string
	Since      time.Time // what was signed before it does not count
}

// Rules is whose rules are evaluated here, and with what.
type Rules struct {
	Keys []RulesKey
	// Home is the home of the user who runs the hook, by the system's own list and not by the environment; HomeErr says why
	// it is not known. Seen is a file that remembers the newest rules of each key; empty: nothing is remembered.
	Home    string
	HomeErr error
	Seen    string
	// Protected are paths of assent's own, as policy.LoadOptions has them.
	Protected []string
}

// evalTime bounds the reading and the evaluation of rules, and what they look at on disk: a moment, but of a machine that is
// busy and a file system that is slow, while the agent waits anyway.
var evalTime = 10 * time.Second

// byRules says why signed rules do not allow the request; empty if they do. All that the broker brought is the text and
// its signature: the verdict is found here, over the hook's own input.
func byRules(asked Asked, p *hook.Payload, a *signed.Answer, r *Rules, now time.Time) string {
	switch {
	case p.Uninspectable != "":
		return "the request can be read in more than one way (" + show.Line(p.Uninspectable) + ")"
	case !now.Before(asked.Deadline):
		return "it came after the deadline"
	case len(r.Keys) == 0:
		return "a rule allowed it, and nobody's rules are trusted: hook.conf has no line trust-rules = device:… beside require = signed"
	}
	at, err := r.counts(a.RulesText, a.Rules, now)
	if err != nil {
		return "a rule allowed it, but " + err.Error()
	}
	key := signed.Thumbprint(a.Rules.PublicKey)
	if newest := r.newest(key); at.Before(newest) {
		return "a rule allowed it, but of rules that were signed " + show.Line(a.Rules.SignedAt) + ", and newer ones of that key were here: " + newest.Format(time.RFC3339)
	}
	r.remember(key, at) // also where they do not allow this: older ones that did are over
	if err := r.evaluate(asked, p, a.RulesText, now); err != nil {
		return "a rule allowed it, but " + err.Error()
	}
	return ""
}

// counts says why a signature of rules does not count here and now, and else when it was made.
func (r *Rules) counts(text string, s *hook.RulesSignature, now time.Time) (time.Time, error) {
	if s == nil {
		return time.Time{}, errors.New("nobody signed the rules")
	}
	thumbprint := signed.Thumbprint(s.PublicKey)
	var since time.Time
	trusted := false
	for _, k := range r.Keys { // of two lines about one key the stricter holds, wherever it stands
		if k.Thumbprint == thumbprint {
			if trusted = true; k.Since.After(since) {
				since = k.Since
			}
		}
	}
	if !trusted {
		return time.Time{}, fmt.Errorf("the key that signed the rules is not trusted for that: device:%s", thumbprint)
	}
	if err := signed.RulesFit(text, s); err != nil {
		return time.Time{}, err
	}
	at, until, err := signed.RulesTimes(s)
	switch {
	case err != nil:
		return at, err
	case at.Before(since):
		return at, fmt.Errorf("the rules were signed %s, before hook.conf lets them count", show.Line(s.SignedAt))
	case at.After(now.Add(Skew)):
		return at, fmt.Errorf("the rules were signed in the future, or a clock is wrong: %s", show.Line(s.SignedAt))
	case !until.IsZero() && !now.Before(until):
		return at, fmt.Errorf("the signature of the rules counts no more since %s: sign them again, with assent rules sign", show.Line(s.Until))
	}
	return at, nil
}

// evaluate says why the rules do not allow the request; nil if they do.
func (r *Rules) evaluate(asked Asked, p *hook.Payload, text string, now time.Time) error {
	if r.HomeErr != nil {
		return r.HomeErr
	}
	done := make(chan error, 1)
	go func() { // it ends with this process, should a file system not answer
		defer func() {
			if recover() != nil {
				done <- errors.New("the rules failed on it")
			}
		}()
		set, err := policy.LoadAlone([]byte(text), policy.LoadOptions{Home: r.Home, Protected: r.Protected})
		if err != nil {
			done <- errors.New("this hook cannot use the rules: " + show.Short(err.Error(), 400))
			return
		}
		done <- set.Alone(r.call(asked, p))
	}()
	timer := time.NewTimer(min(evalTime, asked.Deadline.Sub(now))) // nobody waits for it afterwards
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return errors.New("the rules were not evaluated in time")
	}
}

// call is the request as rules see it, by what the hook found out itself. That it runs contained is nothing that a hook can promise.
func (r *Rules) call(asked Asked, p *hook.Payload) policy.Call {
	o := &asked.Origin
	project := o.ProjectDir
	if project == "" {
		project = o.Repo.Root
	}
	fi, err := os.Stat(p.CWD)
	return policy.Call{
		Agent: Agent, Tool: p.ToolName, Input: []byte(p.ToolInput),
		Cwd: p.CWD, Project: project, Home: r.Home, Elsewhere: err != nil || !fi.IsDir() || !filepath.IsAbs(p.CWD),
		Repo: policy.RepoName(o.Repo.Remote), Branch: o.Repo.Branch, Mode: p.PermissionMode, SessionID: p.SessionID, Time: time.Now(),
	}
}

// home is the home of who runs this, by the system's own list of users. The agent's commands take HOME for it, which a project's
// settings may set: where that is another, ~ means two things.
func home(env func(string) string) (string, error) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	switch {
	case err != nil || !filepath.IsAbs(u.HomeDir):
		return "", errors.New("the home of the user who runs the hook is not known: /etc/passwd has none")
	case env("HOME") != u.HomeDir:
		return "", fmt.Errorf("HOME is not the home of the user who runs the hook, %s", show.Line(u.HomeDir))
	}
	return u.HomeDir, nil
}
