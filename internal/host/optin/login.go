package optin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/internal/host/said"
)

// loginWait bounds the program's answer, maxLogin what is read of it, in bytes.
const (
	loginWait = 20 * time.Second
	maxLogin  = 64 << 10
)

// credentials are variables with which Claude Code needs no login.
var credentials = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}

// LoginFix is what to do about an agent's program that is not logged in.
const LoginFix = "on the host, as the user who runs it: start claude and log in with /login, or set ANTHROPIC_API_KEY where assent agent serve runs, and start that again"

// Login asks an agent's program, with the environment that its sessions get, whether it is logged in. No model is
// asked. A host may have another environment, so that nothing is refused. The program is not asked where it was never started,
// because it would then make files.
func (s Surroundings) Login(ctx context.Context, a Agent, environ []string) Finding {
	f := Finding{Name: "login"}
	unknown := func(why string) Finding {
		f.Detail = "whether Claude Code is logged in is not known: " + why
		return f
	}
	real, err := program(a.CLI)
	if err != nil {
		return unknown("the program is not to be trusted")
	}
	if _, err := os.Stat(filepath.Join(s.Home, ".claude.json")); err != nil {
		if slices.ContainsFunc(environ, func(kv string) bool {
			name, v, _ := strings.Cut(kv, "=")
			return v != "" && slices.Contains(credentials, name)
		}) {
			f.Detail = "Claude Code has a key in its environment"
			return f
		}
		if _, err := os.Stat(filepath.Join(s.Home, ".claude", "settings.json")); err == nil {
			return unknown("it was never started here; start claude once")
		}
		return Finding{Name: "login", Warning: true, Detail: "Claude Code was never started here, and there is no key in the environment: it is not logged in", Fix: LoginFix}
	}
	is, err := askLogin(ctx, real, environ)
	switch {
	case err != nil:
		return unknown(err.Error())
	case *is.LoggedIn:
		f.Detail = "Claude Code is logged in"
		return f
	}
	return Finding{Name: "login", Warning: true, Detail: "Claude Code is not logged in, so each turn fails", Fix: LoginFix}
}

// login is what counts of what the program says.
type login struct {
	LoggedIn *bool `json:"loggedIn"`
}

func askLogin(ctx context.Context, program string, environ []string) (is login, err error) {
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "auth", "status")
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(slices.Clone(environ), "DISABLE_AUTOUPDATER=1"), "/", time.Second
	out := said.Output{Most: maxLogin, TooMuch: errors.New("it says too much")}
	cmd.Stdout = &out
	_ = cmd.Run() // its exit code says the same
	if ctx.Err() != nil {
		return is, errors.New("it does not answer")
	}
	if json.Unmarshal(out.Bytes(), &is) != nil || is.LoggedIn == nil {
		return is, errors.New("this version does not say so")
	}
	return is, nil
}
