package install

import (
	"fmt"
	"slices"
	"strings"
)

// Apart returns the text of a settings file of its own, for a client that is started with
// --settings FILE: what stands in base, which may be nil, and assent's hooks. Of the options it needs
// Versions, Command, CI and Wait.
//
// It sets the mode in which requests reach a hook, unless base says one: the person's own settings
// may say another, and a file that is named on the command line counts for more.
func Apart(o Options, name string, base []byte) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	events, err := Events(o.Versions)
	if err != nil {
		return nil, err
	}
	d, err := parse(name, base)
	if err == nil {
		err = d.strict(nil)
	}
	if err != nil {
		return nil, err
	}
	if mode := d.defaultMode(); mode == "" {
		d.mode("default", nil)
	} else if !slices.Contains(Modes, mode) {
		return nil, fmt.Errorf("%s: in mode %s Claude Code asks no hook; want one of %s", name, mode, strings.Join(Modes, ", "))
	}
	if v := last(d.root(), "disableAllHooks"); v != nil && string(packed(*v)) == "true" {
		return nil, fmt.Errorf("%s says disableAllHooks, so assent would not be asked; take that out", name)
	}
	d.hook(events, o)
	return d.bytes(), nil
}
