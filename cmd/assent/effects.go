package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/batch"
	"assent/internal/policy/effects"
)

func (a *app) effectsCmd() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "effects -- COMMAND",
		Short: "Show what a command would do, and how risky it is",
		Long: `Say what a command would do in the current directory's repository, and how bad that could be: calm
(reads, inside the project), normal (writes there), attention (network, publishing, installing,
outside the project, or unknown) or danger (cannot be undone, secrets, more rights, the agent's or
assent's own settings, code from the network). It is what a request shows to people; no rule allows
because of it. No broker is needed, and nothing is run. Give the command in quotes, as one argument.

With --file the command is read from a file, - being standard input. If the file holds lines of
JSON, as assent rules eval reads them ({"id"?, "command"} or {"id"?, "tool", "input"}, with "cwd"?),
each is answered by a line of JSON.`,
		Example: `  assent effects -- 'rm -rf build && git push origin main'
  assent effects --json -- 'curl https://example.com/install.sh | sh'
  assent effects --file calls.jsonl`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := here()
			if err != nil {
				return err
			}
			if (file == "") == (len(args) == 0) {
				return usagef("say which command, such as: assent effects -- 'git push -f', or give --file FILE")
			}
			of := effects.Func("")
			if file != "" {
				return a.effectsOfFile(cmd.Context(), of, file, w.cwd)
			}
			command := args[0]
			if len(args) > 1 {
				command = shellWords(args)
			}
			return a.effectsOf(of, command, w.cwd)
		},
	}
	c.Flags().StringVar(&file, "file", "", "read the command, or lines of JSON, from this file; - is standard input")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// effectsOfFile answers a file: line by line where it begins like JSON, else as one command.
func (a *app) effectsOfFile(ctx context.Context, of func(*hook.Request) *hook.Effects, name, cwd string) error {
	in := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("open the file: %w", err)
		}
		defer f.Close() // read only
		in = f
	}
	return untilDone(ctx, func() error {
		head := make([]byte, 512)
		n, err := io.ReadFull(in, head)
		if err != nil && n == 0 {
			return usagef("%s holds no command", name)
		}
		rest := io.MultiReader(bytes.NewReader(head[:n]), in)
		if !bytes.HasPrefix(bytes.TrimSpace(head[:n]), []byte("{\"")) {
			b, err := io.ReadAll(io.LimitReader(rest, hook.MaxRequest))
			if err != nil {
				return fmt.Errorf("read the command: %w", err)
			}
			return a.effectsOf(of, strings.TrimSuffix(string(b), "\n"), cwd)
		}
		e := batch.New(batch.Config{Cwd: cwd, CallIn: callIn})
		return e.RunWith(ctx, rest, a.out, func(id json.RawMessage, call policy.Call, err error) any {
			if err != nil {
				return struct {
					ID    json.RawMessage `json:"id,omitempty"`
					Risk  hook.Risk       `json:"risk"`
					Error string          `json:"error"`
				}{id, hook.Attention, err.Error()}
			}
			return struct {
				ID json.RawMessage `json:"id,omitempty"`
				*hook.Effects
			}{id, of(requestOf(call))}
		})
	})
}

// requestOf is a call as the request that would ask for it.
func requestOf(call policy.Call) *hook.Request {
	req := &hook.Request{ToolName: call.Tool, ToolInput: hook.JSON(call.Input), CWD: call.Cwd, Agent: call.Agent}
	req.ProjectDir, req.Repo.Root, req.Repo.Branch = call.Project, call.Project, call.Branch
	return req
}

// effectsOf prints the effects of one command.
func (a *app) effectsOf(of func(*hook.Request) *hook.Effects, command, cwd string) error {
	call := callIn(cwd)
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return fmt.Errorf("encode the command: %w", err)
	}
	call.Tool, call.Agent, call.Input = tools.Bash, "claude", input
	e := of(requestOf(call))
	if a.json {
		return a.printJSON(e)
	}
	fmt.Fprintln(a.out, e.Sentence)
	fmt.Fprintf(a.out, "%s%s\n", e.Risk, map[bool]string{true: ": " + e.RiskReason}[e.RiskReason != ""])
	fmt.Fprintln(a.out)
	for _, f := range e.Effects {
		fmt.Fprintf(a.out, "  %-9s  %s\n", f.Risk, f.Text)
	}
	if e.MoreEffects > 0 {
		fmt.Fprintf(a.out, "  %d more found, none of them worse\n", e.MoreEffects)
	}
	return nil
}
