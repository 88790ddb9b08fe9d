package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/outlet/ledger"
	"assent/internal/text/show"
)

func (a *app) ledgerQueryCmd() *cobra.Command {
	var s span
	var f ledger.Filter
	var file, format string
	c := &cobra.Command{
		Use:   "query",
		Short: "List mutations, oldest first",
		Long: `List what agents' tools did in a git work tree, oldest first: calls of Write, Edit, MultiEdit,
NotebookEdit, Bash and of MCP servers' tools that succeeded, or with --hook-type those that were
begun or failed. The time is that of the machine on which the agent ran; branch and commit are
those that were checked out then. Other tools' are there if the broker was told so: serve
--mutation-tools.

Also runs under the name hookd-query.`,
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
			print, err := ledgerPrinter(format, a.out)
			if err != nil {
				return err
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
			if err := ledger.Query(cmd.Context(), root, f, print.row); err != nil {
				return err
			}
			return print.end()
		},
	}
	s.add(c)
	c.Flags().StringVar(&file, "file", "", "of this file")
	c.Flags().StringVar(&f.Agent, "agent", "", "of this agent: what CLAUDE_AGENT_ID said, else unknown")
	c.Flags().StringVar(&f.Branch, "branch", "", "on this branch")
	c.Flags().StringVar(&f.Tool, "tool", "", "of this tool: write, edit, multiedit, notebookedit, bash, mcp__server__tool")
	c.Flags().StringVar(&f.HookType, "hook-type", hook.HookPostToolUse, "pre_tool_use, post_tool_use, post_tool_use_failure or all")
	c.Flags().IntVar(&f.Newest, "newest", 0, "the newest rows only, so many (0: all)")
	c.Flags().StringVar(&format, "format", "table", "table, json or csv")
	c.Flags().BoolVar(&f.Payload, "payload", false, "with the hook's payload, in JSON only")
	c.Flags().BoolVar(&a.json, "json", false, "the same as --format json")
	return c
}

// rowPrinter writes rows as they come.
type rowPrinter interface {
	row(ledger.Row) error
	end() error
}

func ledgerPrinter(format string, out io.Writer) (rowPrinter, error) {
	switch format {
	case "table":
		return &rowTable{out: out, w: tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}, nil
	case "json":
		return &rowJSON{out: out}, nil
	case "csv":
		return &rowCSV{w: csv.NewWriter(out)}, nil
	}
	return nil, usagef("--format %s: want table, json or csv", format)
}

// rowTable is for people. Columns are as wide as 500 rows need; a writer for all would keep all.
type rowTable struct {
	out io.Writer
	w   *tabwriter.Writer
	n   int
}

func (p *rowTable) row(r ledger.Row) error {
	if p.n == 0 {
		fmt.Fprintln(p.w, "TIME\tTOOL\tLINES\tAGENT\tBRANCH\tCOMMIT\tFILE")
	}
	if p.n++; p.n%500 == 0 {
		if err := p.w.Flush(); err != nil {
			return err
		}
	}
	tool := r.ToolName
	switch r.HookType {
	case hook.HookPreToolUse:
		tool += " (begun)"
	case hook.HookPostToolUseFailure:
		tool += " (failed)"
	}
	lines, file := "", ""
	if r.LinesChanged != nil {
		lines = strconv.FormatInt(*r.LinesChanged, 10)
	}
	if r.FilePath != nil {
		file = *r.FilePath
	}
	_, err := fmt.Fprintf(p.w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", localTime(r.Timestamp), orDash(show.Line(tool)), orDash(show.Line(lines)), orDash(show.Line(r.AgentID)), orDash(show.Line(r.Branch)),
		orDash(show.Line(r.HeadSHA[:min(len(r.HeadSHA), 10)])), orDash(show.Line(file)))
	return err
}

func (p *rowTable) end() error {
	if p.n == 0 {
		_, err := fmt.Fprintln(p.out, "No mutation matches.")
		return err
	}
	return p.w.Flush()
}

// localTime is an event_timestamp as people read it.
func localTime(stamp string) string {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return orDash(show.Line(stamp))
	}
	return t.Local().Format(time.DateTime)
}

// rowJSON writes one array, a row to a line.
type rowJSON struct {
	out io.Writer
	n   int
}

func (p *rowJSON) row(r ledger.Row) error {
	v := struct {
		ledger.Row
		RawPayload json.RawMessage `json:"raw_payload,omitempty"`
	}{Row: r}
	if r.RawPayload != "" {
		v.RawPayload = json.RawMessage(r.RawPayload)
		if !json.Valid(v.RawPayload) { // somebody else wrote it
			text, err := json.Marshal(r.RawPayload)
			if err != nil {
				return err
			}
			v.RawPayload = text
		}
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	before := ",\n"
	if p.n == 0 {
		before = "[\n"
	}
	p.n++
	_, err = fmt.Fprintf(p.out, "%s%s", before, show.JSON(doc))
	return err
}

func (p *rowJSON) end() error {
	text := "\n]\n"
	if p.n == 0 {
		text = "[]\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// rowCSV writes the columns of the table mutations but the payload. Texts go through package show,
// for a terminal may be what reads them.
type rowCSV struct {
	w *csv.Writer
	n int
}

func (p *rowCSV) row(r ledger.Row) error {
	if err := p.header(); err != nil {
		return err
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return csvText(*s)
	}
	lines := ""
	if r.LinesChanged != nil {
		lines = strconv.FormatInt(*r.LinesChanged, 10)
	}
	return p.w.Write([]string{
		strconv.FormatInt(r.ID, 10), csvText(r.EventType), csvText(r.HookType), csvText(r.ToolName), csvText(r.AgentID), text(r.FilePath), text(r.FileExt),
		lines, csvText(r.Branch), csvText(r.HeadSHA), csvText(r.Timestamp), csvText(r.ReceivedAt), csvText(r.SessionID), csvText(r.EventID),
	})
}

// csvText is a text as CSV has it: a spreadsheet computes what begins with one of these, and agents
// choose the names of files. A quote before it makes it text, and before a quote it stays clear.
func csvText(s string) string {
	if s != "" && strings.IndexByte("=+-@'", s[0]) >= 0 {
		return "'" + show.Line(s)
	}
	return show.Line(s)
}

func (p *rowCSV) header() error {
	if p.n++; p.n > 1 {
		return nil
	}
	return p.w.Write([]string{"id", "event_type", "hook_type", "tool_name", "agent_id", "file_path", "file_ext",
		"lines_changed", "branch", "head_sha", "event_timestamp", "received_at", "session_id", "event_id"})
}

func (p *rowCSV) end() error {
	if p.n == 0 {
		if err := p.header(); err != nil {
			return err
		}
	}
	p.w.Flush()
	return p.w.Error()
}
