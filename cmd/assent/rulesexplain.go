package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/tools"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/gitrepo"
	"assent/internal/policy"
	"assent/internal/policy/explained"
	"assent/internal/policy/files"
	"assent/internal/policy/replay"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

// explainFlags are what explain is told about the call.
type explainFlags struct {
	rules, request  string
	tool, input     string
	cwd, mode, time string
}

func (a *app) rulesExplainCmd() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain -- COMMAND",
		Short: "Explain which rule decides about a command, and why",
		Long: `Explain how the rules read a command, part by part: which rule matches each part, or for the rules
that come closest the first thing that does not fit, and why no rule may allow it.
Nothing is run. Give the command in quotes, as one argument, or - to read it from standard input.

With --request the request of that id is explained, with the rules as they are now.`,
		Example: `  assent rules explain -- 'git push -f'
  assent rules explain --rules new.yaml -- 'make test > out.txt'
  assent rules explain --tool Read --input '{"file_path": "/home/dev/.env"}'
  assent rules explain --request 4f1c2a9e`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.request != "" {
				if len(args) > 0 || f.tool != "" || f.input != "" || f.cwd != "" || f.mode != "" || f.time != "" {
					return usagef("--request says which call is meant; of the rest only --rules goes with it")
				}
				return a.explainRequest(cmd.Context(), f)
			}
			call, err := a.explainedCall(cmd.Context(), f, args)
			if err != nil {
				return err
			}
			set, _, err := a.loadedRules(f.rules, gitrepo.Find(call.Cwd).Root)
			if err != nil {
				return err
			}
			return a.explain(set, call, nil)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.rules, "rules", "", "this file of rules, and no other")
	fl.StringVar(&f.request, "request", "", "explain the request with this number or id")
	fl.StringVar(&f.tool, "tool", "", "another tool than Bash, with --input")
	fl.StringVar(&f.input, "input", "", "the tool's input, a JSON object")
	fl.StringVar(&f.cwd, "cwd", "", "the agent's directory (default the current one)")
	fl.StringVar(&f.mode, "mode", "", "the agent's permission mode")
	fl.StringVar(&f.time, "time", "", "when, such as 2026-01-07T12:00:00Z (default now)")
	fl.BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// explainedCall makes the call that the user describes.
func (a *app) explainedCall(ctx context.Context, f explainFlags, args []string) (policy.Call, error) {
	w, err := here()
	if err != nil {
		return policy.Call{}, err
	}
	call := policy.Call{Agent: "claude", Tool: f.tool, Input: json.RawMessage(f.input), Cwd: w.cwd, Mode: f.mode, Time: time.Now()}
	switch {
	case f.tool == "" && f.input == "" && len(args) == 0:
		return call, usagef("say what to explain, such as: assent rules explain -- 'git push -f'")
	case (f.tool != "" || f.input != "") && len(args) > 0:
		return call, usagef("give a command, or --tool and --input, not both")
	case f.input != "" && !json.Valid([]byte(f.input)):
		return call, usagef("--input is not JSON")
	}
	if len(args) > 0 {
		command := args[0]
		if len(args) > 1 {
			command = shellWords(args)
		} else if command == "-" {
			var b []byte
			err := untilDone(ctx, func() (err error) {
				b, err = io.ReadAll(io.LimitReader(a.in, hook.MaxRequest))
				return err
			})
			if err != nil {
				return call, fmt.Errorf("read the command: %w", err)
			}
			command = strings.TrimSuffix(string(b), "\n")
		}
		call.Tool = tools.Bash
		if call.Input, err = json.Marshal(map[string]string{"command": command}); err != nil {
			return call, fmt.Errorf("encode the command: %w", err)
		}
	}
	if call.Tool == "" {
		call.Tool = tools.Bash
	}
	if len(call.Input) == 0 {
		call.Input = json.RawMessage("{}")
	}
	if f.cwd != "" {
		if !strings.HasPrefix(f.cwd, "/") {
			return call, usagef("--cwd %s: want an absolute path", f.cwd)
		}
		call.Cwd = f.cwd
	}
	if f.time != "" {
		if call.Time, err = time.Parse(time.RFC3339, f.time); err != nil {
			return call, usagef("--time %s: want such as 2026-01-07T12:00:00Z", f.time)
		}
	}
	in := callIn(call.Cwd)
	call.Project, call.Repo, call.Branch, call.Home = in.Project, in.Repo, in.Branch, in.Home
	return call, nil
}

// callIn is a call in a directory, with what that says about it.
func callIn(cwd string) policy.Call {
	req := hook.Request{CWD: cwd}
	req.Repo = gitrepo.Find(cwd)
	found := files.Call(&req, nil, "")
	home, _ := os.UserHomeDir() // without one, ~ is nobody's
	return policy.Call{Cwd: cwd, Project: found.Project, Repo: found.Repo, Branch: found.Branch, Home: home}
}

// shellWords writes arguments as one command that has them.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if arg == "" || strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+") != "" {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// explainRequest explains a request that the broker knows.
func (a *app) explainRequest(ctx context.Context, f explainFlags) error {
	b, err := a.broker()
	if err != nil {
		return err
	}
	id, err := b.anyRequest(ctx, f.request)
	if err != nil {
		return err
	}
	r, err := b.find(ctx, id)
	if err != nil {
		return err
	}
	root := ""
	call := requestCall(r)
	if !call.Elsewhere {
		root = r.Repo.Root
	}
	set, _, err := a.loadedRules(f.rules, root)
	if err != nil {
		return err
	}
	return a.explain(set, call, r)
}

// requestCall is a past request as it was, apart from symbolic links, which are as they are now.
func requestCall(r *api.Request) policy.Call {
	home, _ := os.UserHomeDir() // without one, ~ is nobody's
	call := files.Call(&r.Request, r.ToolInput, home)
	host, err := os.Hostname()
	call.Elsewhere = err != nil || r.Host != host
	return call
}

// explain says what the rules make of a call. r is the request that it came from, or nil.
func (a *app) explain(set *policy.Set, call policy.Call, r *api.Request) error {
	call.Contain = true
	v := set.Explain(call)
	if replay.WithoutPlainYes(&v.Verdict, call.Tool) {
		v.Layer = ""
	}
	if a.json {
		return a.printJSON(explained.Of(call, &v))
	}
	if r != nil {
		fmt.Fprintln(a.out, layout.Wrap(fmt.Sprintf("Request %s of %s: %s", show.Line(r.ID), r.CreatedAt.Local().Format("2006-01-02 15:04:05"), fate(r)), "", "  "))
		fmt.Fprintln(a.out)
	}
	what := map[hook.Action]string{hook.ActionAllow: "ALLOW", hook.ActionAsk: "ASK", hook.ActionDeny: "DENY"}[v.Action]
	if v.Rule != "" {
		fmt.Fprintln(a.out, layout.Wrap(what+" by "+ruleName(v.Rule, v.File), "", "  "))
	} else {
		fmt.Fprintln(a.out, layout.Wrap(what+": "+show.Line(v.Reason), "", "  "))
	}
	if v.Contain != "" {
		fmt.Fprintln(a.out, layout.Wrap("contained: it can read, and nothing else; where that cannot be had, or it ran so before, a person is asked", "  ", "    "))
		if also := slices.Concat(v.ContainReads, v.ContainEnv); len(also) > 0 {
			fmt.Fprintln(a.out, layout.Wrap("besides the project it may have: "+show.Line(strings.Join(also, ", ")), "  ", "    "))
		}
	}
	if v.Message != "" {
		fmt.Fprintln(a.out, layout.Wrap("the agent reads: "+show.Line(v.Message), "  ", "    "))
	}
	if v.Note != "" {
		fmt.Fprintln(a.out, layout.Wrap("the approver reads: "+show.Line(v.Note), "  ", "    "))
	}
	if v.Action == hook.ActionAsk && v.Timeout > 0 {
		then := "the agent's own prompt decides"
		if v.OnTimeout == "deny" {
			then = "it is denied"
		}
		fmt.Fprintf(a.out, "  an approver has %s, then %s\n", shortDuration(v.Timeout), then)
	}
	for _, s := range v.Shadow {
		fmt.Fprintln(a.out, layout.Wrap(fmt.Sprintf("on trial: %s would say %s", ruleName(s.Rule, s.File), s.Action), "  ", "    "))
	}
	fmt.Fprintln(a.out)
	a.printUnits(&v, "")
	return nil
}

// shortDuration is 10m rather than 10m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// fate is what became of a request.
func fate(r *api.Request) string {
	if r.Outcome == "" {
		return "it still waits"
	}
	s := show.Line(string(r.Outcome))
	if r.DecidedBy != nil {
		s += " by " + show.Line(r.DecidedBy.Who())
	}
	return s
}

// ruleName is a rule for a person.
func ruleName(id, file string) string {
	if file == "" {
		return show.Short(id, 100)
	}
	return show.Short(id, 100) + " (" + show.Short(shortPath(file), 60) + ")"
}
