package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/setup/hookconf"
	"assent/internal/text/show"
)

// strictly fills in what --strict stands for.
func (f *installFlags) strictly() error {
	if !f.strict {
		if len(f.trust) > 0 || len(f.trustRules) > 0 {
			return usagef("--trust and --trust-rules go with --strict")
		}
		return nil
	}
	if f.scope != string(install.User) && f.scope != string(install.Managed) { // user is what no word means
		return usagef("--strict is for all users of this machine: leave out --scope %s", f.scope)
	}
	f.scope, f.managedOnly = string(install.Managed), true
	for _, key := range f.trust {
		if err := hookclient.CheckTrust(key); err != nil {
			return usagef("--trust %s: %w", key, err)
		}
	}
	for _, key := range f.trustRules {
		if _, err := hookclient.ReadTrustedRules(key); err != nil {
			return usagef("--trust-rules %s: %w", key, err)
		}
	}
	if len(f.trustRules) > hookclient.MaxTrustedRules {
		return usagef("--trust-rules names %d keys, and %d can be trusted", len(f.trustRules), hookclient.MaxTrustedRules)
	}
	return nil
}

// asRoot is this very command for who may run it.
func asRoot() string {
	words := []string{"sudo"}
	if self, err := os.Executable(); err == nil {
		words = append(words, self)
	}
	for _, w := range os.Args[1:] {
		if strings.ContainsAny(w, " \t\n'\"$`\\;&|<>()*?[]#~!{}") || w == "" {
			w = install.Quote(w)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// confChange is what becomes of the administrator's hook.conf.
type confChange struct{ before, after string }

// planConf works out what the administrator's hook.conf says with --strict, shows it and asks. strict false is
// for an uninstall. The zero value is returned where nothing is to be written.
func (a *app) planConf(ctx context.Context, f installFlags, strict bool) (c confChange, err error) {
	if !f.strict {
		if text, err := hookconf.ReadForAll(hookclient.SystemConf); !strict && f.scope == string(install.Managed) && err == nil && hookconf.NotStrict(text) != text {
			fmt.Fprintf(a.err, "note: %s still has hooks want signatures; assent uninstall --strict takes that out, too\n", hookclient.SystemConf)
		}
		return c, nil
	}
	file := hookclient.SystemConf
	if c.before, err = hookconf.ReadForAll(file); err != nil {
		return c, fmt.Errorf("the administrator's settings: %w; nothing was changed", err)
	}
	if strict {
		c.after, err = hookconf.Strict(c.before, f.trust, f.trustRules)
	} else {
		c.after = hookconf.NotStrict(c.before)
	}
	if err != nil {
		return c, usagef("%w", err)
	}
	if f.print {
		fmt.Fprintf(a.err, "%s would be:\n", file)
		for line := range strings.Lines(c.after) {
			fmt.Fprintln(a.err, "  "+show.Line(hidden(line)))
		}
		return confChange{}, nil
	}
	// The nearest directory that is there, through which somebody else could put another file there.
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Dir(dir)
	}
	if err := install.RootsAlone(dir); err != nil {
		return c, fmt.Errorf("%s would bind nobody: %w; nothing was changed", file, err)
	}
	if c.before == c.after {
		return c, nil
	}
	if !a.json {
		fmt.Fprintf(a.out, "%s:\n", file)
		for line := range strings.Lines(c.before) {
			if !hasLine(c.after, line) {
				fmt.Fprintln(a.out, "-"+show.Line(hidden(line)))
			}
		}
		for line := range strings.Lines(c.after) {
			if !hasLine(c.before, line) {
				fmt.Fprintln(a.out, "+"+show.Line(hidden(line)))
			}
		}
		fmt.Fprintln(a.out)
	}
	if f.yes {
		return c, nil
	}
	if !a.asks(f) {
		return c, usagef("there is no terminal to ask on, so nothing was changed: --yes writes %s, --print shows it", file)
	}
	if yes, err := a.confirm(ctx, "Write this to "+file+"?", true); err != nil || !yes {
		return c, errDeclined
	}
	return c, nil
}

// write makes the change and returns the file, "" if there was nothing to do.
func (c confChange) write(a *app) (file string, err error) {
	if c.before == c.after {
		return "", nil
	}
	file = hookclient.SystemConf
	if err := hookconf.WriteForAll(file, c.after); err != nil {
		return "", fmt.Errorf("write the administrator's settings: %w; the hooks are in place and print no allow until it says whom to trust", err)
	}
	if !a.json {
		fmt.Fprintf(a.out, "Wrote %s.\n", file)
	}
	return file, nil
}

func hasLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == strings.TrimSpace(line) {
			return true
		}
	}
	return false
}

// hidden is a line of hook.conf without a token.
func hidden(line string) string {
	line = strings.TrimSpace(line)
	if name, _, is := strings.Cut(line, "="); is && strings.TrimSpace(name) == "token" {
		return "token = …"
	}
	return line
}
