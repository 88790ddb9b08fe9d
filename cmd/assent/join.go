package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/install"
	"assent/internal/api"
	"assent/internal/host/regular"
	"assent/internal/setup/hookconf"
	"assent/internal/setup/statedir"
	"assent/internal/text/show"
)

// joined is what a machine remembers of the broker that it joined, to leave it again. It holds no secret.
type joined struct {
	URL     string    `json:"url"`
	Name    string    `json:"name"` // what the broker calls this machine
	TokenID string    `json:"tokenId"`
	Scope   string    `json:"scope"` // of the hooks
	Hooks   bool      `json:"hooks"` // they are written
	Answers bool      `json:"answers"`
	At      time.Time `json:"at"`
}

type joinFlags struct {
	install installFlags
	undo    bool
}

func (a *app) joinCmd() *cobra.Command {
	var f joinFlags
	c := &cobra.Command{
		Use:   "join LINK",
		Short: "Have the agents of this machine ask a broker elsewhere",
		Long: `Join a broker on another machine. The command exchanges the link for a token, stores the token in
hook.conf (readable by you only), writes the hooks into Claude Code's settings, and checks that
the broker answers. The token can submit requests and do nothing else.

Make the link on the broker's machine with assent pair --join --name NAME. It works once, within
five minutes, and only over https (or over http to this machine, as through an SSH tunnel).

--undo removes the hooks, the token and the certificate from this machine, and so does assent
uninstall. The broker accepts the token until it is revoked there: assent token revoke ID.`,
		Example: `  assent join 'https://box.example.net/#join=…'
  assent join 'https://box:7717/#join=…' --cacert ca.pem --yes
  assent join --undo`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && !f.undo || len(args) > 0 && f.undo {
				return errors.New("want the LINK, in quotes, or --undo")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer func() { err = shown(err) }()
			if f.undo {
				return a.leave(cmd.Context(), f)
			}
			return a.join(cmd.Context(), f, args[0])
		},
	}
	f.install.addWhere(c.Flags())
	f.install.addMode(c.Flags())
	c.Flags().StringVar(&f.install.claudeVersion, "claude-version", "", "the version that will read the settings, instead of asking the claude on this machine")
	c.Flags().BoolVar(&f.undo, "undo", false, "remove the hooks, the token and the certificate again")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: url, name, tokenId, scope, hooks, answers, at")
	return c
}

// joinLink is the broker and the code of a link.
func joinLink(text string) (broker, code string, err error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return "", "", errors.New("this is no link")
	}
	code, ok := strings.CutPrefix(u.Fragment, "join=")
	if !ok || code == "" {
		if strings.HasPrefix(u.Fragment, "pair=") {
			return "", "", errors.New("this link pairs a browser; for a machine: assent pair --join --name NAME")
		}
		return "", "", errors.New("the link has no #join=…: put it in quotes, and take all of it")
	}
	u.Fragment = ""
	broker, err = brokerURL(u.String())
	return broker, code, err
}

func (a *app) join(ctx context.Context, f joinFlags, link string) error {
	broker, code, err := joinLink(link)
	if err != nil {
		return usagef("%w", err)
	}
	dir := configDir(os.Getenv)
	if dir == "" {
		return errors.New("neither HOME nor XDG_CONFIG_HOME is set, so the token has no place")
	}
	// All that can be known to fail is found out before the link is used up.
	o, _, err := a.installOptions(f.install)
	if err != nil {
		return err
	}
	agents := f.install.claudeVersion != "" || len(install.Clients(ctx, os.Getenv("PATH"), o.Home)) > 0
	if agents {
		if _, err := a.versions(ctx, f.install, &o); err != nil {
			return err
		}
	}
	was, err := a.joined()
	if err != nil {
		return err
	}
	if held, err := hookconf.Get(hookconf.Path(dir), "token"); err != nil || held != "" && was.URL == "" {
		return errors.Join(err, fmt.Errorf("%s holds a token that assent join did not write; remove it first", hookconf.Path(dir)))
	}
	if was.URL != "" && was.URL != broker {
		return fmt.Errorf("this machine has joined %s; leave that first: assent join --undo", was.URL)
	}
	far := *a
	far.url = broker
	c, err := far.reach()
	if err != nil {
		return err
	}
	if err := c.call(ctx, "GET", "/readyz", nil, nil); err != nil {
		return err
	}
	if err := a.agreeToJoin(ctx, f, broker); err != nil {
		return err
	}

	var token api.CreatedToken
	if err := c.call(ctx, "POST", "/v1/join", api.Join{Code: code}, &token); err != nil {
		var p *api.Problem
		if errors.As(err, &p) && p.Status == http.StatusForbidden {
			return &exitError{exitRefused, errors.New("the link is wrong, used or older than five minutes; make another there: assent pair --join --name NAME")}
		}
		return err
	}
	j := joined{URL: broker, Name: token.Name, TokenID: token.ID, Scope: f.install.scope, At: time.Now().UTC()}
	if err := a.keepJoined(dir, j, token.Secret); err != nil {
		return fmt.Errorf("%w; the token is of no use, revoke it there: assent token revoke %s", err, show.Line(token.ID))
	}
	if agents {
		g := f.install
		g.url, g.yes = broker, true
		quiet := *a
		if a.json {
			quiet.out = quiet.err
			quiet.json = false
		}
		if _, err := quiet.install(ctx, g); err != nil {
			return fmt.Errorf("%w; the token is kept, write the hooks with: assent install --url %s", err, broker)
		}
		j.Hooks = true
	}
	if j.Answers, err = tokenAnswers(ctx, &far, token.Secret); err == nil {
		err = a.writeJoined(j)
	}
	if a.json {
		return errors.Join(err, a.printJSON(j))
	}
	a.printJoined(j)
	return err
}

// agreeToJoin asks: whoever answers at that broker decides about this machine's agents.
func (a *app) agreeToJoin(ctx context.Context, f joinFlags, broker string) error {
	if f.install.yes {
		return nil
	}
	if a.json || !a.interactive() {
		return usagef("there is no terminal to ask on, so nothing was changed and the link is still good: --yes joins")
	}
	fmt.Fprintf(a.out, "People at %s will see what the agents of this machine ask, and answer it.\n", broker)
	yes, err := a.confirm(ctx, "Join it?", true)
	if err != nil || !yes {
		return errDeclined
	}
	return nil
}

// tokenAnswers asks the broker, with the token, for what that may not have: it changes nothing there, and
// only who knows the token refuses it so.
func tokenAnswers(ctx context.Context, far *app, secret string) (bool, error) {
	config, info, err := far.address()
	if err != nil {
		return false, err
	}
	config.Token = secret
	err = newClient(config, info).Call(ctx, "GET", "/v1/requests?state=pending&limit=1", nil, nil)
	var p *api.Problem
	if errors.As(err, &p) && p.Status == http.StatusForbidden {
		return true, nil
	}
	if err == nil {
		return false, errors.New("the token may do more than ask; revoke it there")
	}
	return false, fmt.Errorf("the broker does not take the token: %w", err)
}

func (a *app) printJoined(j joined) {
	fmt.Fprintf(a.out, "\nThis machine asks %s, where it is called %s.\n", j.URL, show.Line(j.Name))
	fmt.Fprintf(a.out, "The token is in %s, readable by you only; it can submit requests and nothing else.\n", show.Line(hookconf.Path(configDir(os.Getenv))))
	if !j.Hooks {
		fmt.Fprintf(a.out, "No claude was found on PATH, so no hooks were written. Once it is there: assent install --url %s\n", j.URL)
	}
	if j.Answers {
		fmt.Fprintln(a.out, "It answers.")
	}
	fmt.Fprintf(a.out, "To leave: assent join --undo; then there: assent token revoke %s\n", show.Line(j.TokenID))
}

// joinedFile is where a machine remembers that it joined, and caFile a copy of the certificates it trusts.
func (a *app) joinedFile() string { return filepath.Join(a.stateDir, "joined.json") }

func caFile(dir string) string { return filepath.Join(dir, "broker-ca.pem") }

// joined is the broker that this machine joined, the zero value if it joined none.
func (a *app) joined() (j joined, err error) {
	b, err := regular.Read(a.joinedFile(), maxRuntime, 0)
	if errors.Is(err, os.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	if err != nil {
		return j, fmt.Errorf("read %s: %w", a.joinedFile(), err)
	}
	return j, nil
}

func (a *app) writeJoined(j joined) error {
	if err := statedir.Make(a.stateDir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	fresh := a.joinedFile() + ".new"
	if err := os.WriteFile(fresh, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, a.joinedFile())
}

// keepJoined writes what the hooks need, and before it what leaving needs.
func (a *app) keepJoined(dir string, j joined, secret string) error {
	if err := a.writeJoined(j); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ca := ""
	if a.caCert != "" {
		b, err := os.ReadFile(a.caCert)
		if err != nil {
			return fmt.Errorf("--cacert: %w", err)
		}
		ca = caFile(dir)
		if err := os.WriteFile(ca, b, 0o600); err != nil {
			return err
		}
	}
	_, err := hookconf.Set(hookconf.Path(dir), hookconf.Setting{Name: "token", Value: secret}, hookconf.Setting{Name: "cacert", Value: ca})
	return err
}

// leave undoes join.
func (a *app) leave(ctx context.Context, f joinFlags) error {
	j, err := a.joined()
	if err != nil {
		return err
	}
	if j.URL == "" {
		return errors.New("this machine has joined no broker")
	}
	f.install.scope = j.Scope
	done, err := a.uninstall(ctx, f.install)
	return a.reportJSON(f.install, done, err)
}

// forgetJoined takes away what join wrote besides the hooks, if it did. It is part of uninstall.
func (a *app) forgetJoined(scope string) error {
	j, err := a.joined()
	if err != nil || j.URL == "" || j.Scope != scope {
		return err
	}
	dir := configDir(os.Getenv)
	if _, err := hookconf.Set(hookconf.Path(dir), hookconf.Setting{Name: "token"}, hookconf.Setting{Name: "cacert"}); err != nil {
		return err
	}
	for _, name := range []string{caFile(dir), a.joinedFile()} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if !a.json {
		fmt.Fprintf(a.out, "This machine asks %s no more. Its token is good still; revoke it there: assent token revoke %s\n", j.URL, show.Line(j.TokenID))
	}
	return nil
}
