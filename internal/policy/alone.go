package policy

import (
	"errors"
	"fmt"
	"time"

	"assent/internal/hook"
)

// LoadAlone reads one file of rules that a hook evaluates by itself, with the packs it uses. Its tests are not run. An error
// says what is wrong with it, or that a rule of it depends on what a hook cannot find out by itself.
func LoadAlone(data []byte, o LoadOptions) (*Set, error) {
	o.SkipTests = true
	s, err := Load([]Source{{Name: "signed rules", Layer: User, Data: data}}, o)
	if err != nil {
		return nil, err
	}
	for _, r := range s.rules {
		if why := r.match.unseen(); why != "" {
			return nil, fmt.Errorf("line %d, rule %s: %s", r.line, quote(r.id), why)
		}
	}
	return s, nil
}

// unseen says what the rule depends on that comes from the environment of the agent, which whoever brought the code may have
// written; empty if nothing.
func (m *match) unseen() string {
	switch {
	case m == nil:
	case m.session != nil && m.session.label != nil:
		return "session.label is what the agent's environment says, so no hook can evaluate it by itself; leave it out of signed rules"
	case m.time != nil && m.time.zone == time.Local:
		return "time has no tz, and that of the machine may be another; say which, such as tz: Europe/Berlin"
	}
	return ""
}

var (
	errAloneAsks   = errors.New("the signed rules do not allow it")
	errAloneInside = errors.New("the signed rules allow it contained only, and nothing but the broker arranges that")
)

// Alone says why a set of LoadAlone does not allow the call, with nothing else to be arranged; nil if it does.
func (s *Set) Alone(c Call) error {
	v := s.Eval(c)
	switch {
	case v.Action == hook.ActionAllow && v.Contain != "":
		return errAloneInside
	case v.Action != hook.ActionAllow || v.Rule == "":
		return errAloneAsks
	}
	return nil
}
