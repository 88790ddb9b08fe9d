package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/install"
	"assent/internal/api"
	"assent/internal/setup/hookconf"
	"assent/internal/setup/joined"
	"assent/internal/text/show"
)

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

func (a *app) join(ctx context.Context, f joinFlags, link string) error {
	broker, code, err := joined.ParseLink(link)
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
	was, err := joined.Load(a.stateDir)
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
	j := joined.Broker{URL: broker, Name: token.Name, TokenID: token.ID, Scope: f.install.scope, At: time.Now().UTC()}
	if err := j.Keep(a.stateDir, dir, token.Secret, a.caCert); err != nil {
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
		err = j.Save(a.stateDir)
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

func (a *app) printJoined(j joined.Broker) {
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

// leave undoes join.
func (a *app) leave(ctx context.Context, f joinFlags) error {
	j, err := joined.Load(a.stateDir)
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
	j, err := joined.Load(a.stateDir)
	if err != nil || j.URL == "" || j.Scope != scope {
		return err
	}
	if err := joined.Forget(a.stateDir, configDir(os.Getenv)); err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintf(a.out, "This machine asks %s no more. Its token is good still; revoke it there: assent token revoke %s\n", j.URL, show.Line(j.TokenID))
	}
	return nil
}
