package ledger

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// Printer writes rows as they come, fit for a terminal.
type Printer interface {
	// Row writes one.
	Row(Row) error
	// End says that there are no more. It must be called.
	End() error
}

// Table writes rows below a header, as wide as whoever reads them has room for.
type Table func(header []string, rows [][]string)

// NewPrinter returns one that writes to out: "table", for people and in local time, by way of table; "json", one
// array with a row to a line; or "csv", without the payload.
func NewPrinter(format string, out io.Writer, table Table) (Printer, error) {
	switch format {
	case "table":
		return &rowTable{out: out, table: table}, nil
	case "json":
		return &rowJSON{out: out}, nil
	case "csv":
		return &rowCSV{w: csv.NewWriter(out)}, nil
	}
	return nil, errors.New("want table, json or csv")
}

// rowTable is for people. Columns are as wide as 500 rows need; a table of all would keep all.
type rowTable struct {
	out   io.Writer
	table Table
	rows  [][]string
	n     int
}

func (p *rowTable) Row(r Row) error {
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
	p.rows = append(p.rows, []string{LocalTime(r.Timestamp), orDash(show.Line(tool)), orDash(show.Line(lines)), orDash(show.Line(r.AgentID)), orDash(show.Line(r.Branch)),
		orDash(show.Line(r.HeadSHA[:min(len(r.HeadSHA), 10)])), orDash(show.Line(file))})
	if p.n++; p.n%500 == 0 {
		p.flush()
	}
	return nil
}

func (p *rowTable) flush() {
	if len(p.rows) > 0 {
		p.table([]string{"TIME", "TOOL", "LINES", "AGENT", "BRANCH", "COMMIT", "FILE"}, p.rows)
	}
	p.rows = nil
}

func (p *rowTable) End() error {
	if p.n == 0 {
		_, err := fmt.Fprintln(p.out, "No mutation matches.")
		return err
	}
	p.flush()
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// LocalTime is an event_timestamp as people read it.
func LocalTime(stamp string) string {
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

func (p *rowJSON) Row(r Row) error {
	v := struct {
		Row
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

func (p *rowJSON) End() error {
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

func (p *rowCSV) Row(r Row) error {
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

func (p *rowCSV) End() error {
	if p.n == 0 {
		if err := p.header(); err != nil {
			return err
		}
	}
	p.w.Flush()
	return p.w.Error()
}
