package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/setup/installer"
	"assent/internal/terminal"
)

func (a *app) completionCmd() *cobra.Command {
	scripts := map[string]func(*cobra.Command, io.Writer) error{
		"bash": func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":  (*cobra.Command).GenZshCompletion,
		"fish": func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a shell completion script",
		Long: `Print a script with which your shell completes commands, flags, and the numbers and ids of waiting
requests. Packages install this script. If you built assent from source, install it once:

  bash   assent completion bash > ~/.local/share/bash-completion/completions/assent
         (create the directory first; the package bash-completion reads it)
  zsh    assent completion zsh > DIR/_assent
         (DIR must be in fpath before compinit runs)
  fish   assent completion fish > ~/.config/fish/completions/assent.fish`,
		Example:   "  source <(assent completion bash)     for this shell only",
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || scripts[args[0]] == nil {
				return fmt.Errorf("want one of bash, zsh and fish, got %q", strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return scripts[args[0]](c.Root(), a.out)
		},
	}
}

// completeWords says what the words after the commands may be. Where nothing is said here, neither
// argument nor flag is a file, except for the rules, which stand in files.
func (a *app) completeWords(root *cobra.Command) {
	roles := []string{"view", "approve", "operate", "admin"}
	flags := map[string]map[string][]string{
		"pair":         {"role": roles},
		"up":           {"role": roles, "scope": {"user", "project", "local"}},
		"phone":        {"role": roles, "way": {"tailscale", "relay", "home"}},
		"token create": {"role": []string{"submit", "host", "view", "approve", "admin"}},
		"install":      {"scope": {"user", "project", "local"}, "agent": installer.Names},
		"uninstall":    {"scope": {"user", "project", "local"}, "agent": installer.Names},
	}
	args := map[string]cobra.CompletionFunc{
		"allow": a.completePending, "deny": a.completePending, "hand-back": a.completePending, "trace": a.completePending,
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "assent ")
		for name, values := range flags[path] {
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that is not there
			}
		}
		switch {
		case args[path] != nil:
			c.ValidArgsFunction = args[path]
		case c.HasSubCommands() || len(c.ValidArgs) > 0 || strings.HasPrefix(path, "rules ") || path == "man" || path == "ci run":
		default:
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// age is how long ago t was.
func age(t time.Time) string { return terminal.Ago(t, time.Now()) }

var completableID = regexp.MustCompile(`^[0-9a-fA-F-]{1,64}$`)

// completePending completes the number or the id of a request that waits. Nothing that an agent wrote is handed
// to the shell: bash expands what it is told to complete, so a command of an agent would run.
func (a *app) completePending(c *cobra.Command, before []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const nothing = cobra.ShellCompDirectiveNoFileComp
	if len(before) > 0 || a.locate(c, os.Getenv) != nil {
		return nil, nothing
	}
	broker, err := a.broker()
	if err != nil {
		return nil, nothing
	}
	ctx, cancel := context.WithTimeout(c.Context(), 2*time.Second)
	defer cancel()
	var waiting []api.Request
	if broker.call(ctx, "GET", "/v1/requests?state=pending&limit=100", nil, &waiting) != nil {
		return nil, nothing
	}
	var ids []cobra.Completion
	for _, r := range waiting {
		if r.Number > 0 {
			ids = append(ids, cobra.CompletionWithDesc(number(&r), "waits for "+age(r.CreatedAt)))
		}
		if completableID.MatchString(r.ID) {
			ids = append(ids, cobra.CompletionWithDesc(r.ID, "waits for "+age(r.CreatedAt)))
		}
	}
	return ids, nothing | cobra.ShellCompDirectiveKeepOrder
}
