package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/outlet/ledger"
)

func (a *app) ledgerQueryCmd() *cobra.Command {
	var s span
	var f ledger.Filter
	var file, format string
	c := &cobra.Command{
		Use:   "query",
		Short: "List mutations, oldest first",
		Long: `List what agents' tools did in a git work tree, oldest first: successful calls of Write, Edit,
MultiEdit, NotebookEdit, Bash and the tools of MCP servers; with --hook-type also calls that were
started or failed. Times are those of the machine on which the agent ran; branch and commit are
those checked out at that time. Calls of other tools are listed only if the broker was told to
record them with serve --mutation-tools.

This command also runs under the name hookd-query.`,
		Example: `  assent ledger query --repo . --since 1h
  assent ledger query --file src/main.rs
  assent ledger query --agent claude-abc123 --since 2026-02-06 --until 2026-02-07
  assent ledger query --branch feature/hookd --format json | jq -r '.[].file_path'
  assent ledger query --tool bash --hook-type all --newest 20`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json {
				format = "json"
			}
			print, err := ledger.NewPrinter(format, a.out, a.printTable)
			if err != nil {
				return usagef("--format %s: %w", format, err)
			}
			if f.Newest < 0 {
				return usagef("--newest %d: want a number of rows", f.Newest)
			}
			if f.Payload && format != "json" {
				return usagef("--payload goes with --format json")
			}
			switch f.HookType {
			case "all":
				f.HookType = ""
			case hook.HookPreToolUse, hook.HookPostToolUse, hook.HookPostToolUseFailure:
			default:
				return usagef("--hook-type %s: want %s, %s, %s or all", f.HookType, hook.HookPreToolUse, hook.HookPostToolUse, hook.HookPostToolUseFailure)
			}
			var root string
			if root, f.Since, f.Until, err = s.read(time.Now()); err != nil {
				return err
			}
			f.Files, f.Tool = ledger.FileNames(root, file), strings.ToLower(f.Tool)
			if err := ledger.Query(cmd.Context(), root, f, print.Row); err != nil {
				return err
			}
			return print.End()
		},
	}
	s.add(c)
	c.Flags().StringVar(&file, "file", "", "only this file")
	c.Flags().StringVar(&f.Agent, "agent", "", "only this agent: the value of CLAUDE_AGENT_ID, or unknown")
	c.Flags().StringVar(&f.Branch, "branch", "", "only on this branch")
	c.Flags().StringVar(&f.Tool, "tool", "", "only this tool: write, edit, multiedit, notebookedit, bash, mcp__server__tool")
	c.Flags().StringVar(&f.HookType, "hook-type", hook.HookPostToolUse, "pre_tool_use, post_tool_use, post_tool_use_failure or all")
	c.Flags().IntVar(&f.Newest, "newest", 0, "only this many rows, the newest (0: all)")
	c.Flags().StringVar(&format, "format", "table", "table, json or csv")
	c.Flags().BoolVar(&f.Payload, "payload", false, "include the hook's payload; only with JSON")
	c.Flags().BoolVar(&a.json, "json", false, "the same as --format json")
	return c
}
