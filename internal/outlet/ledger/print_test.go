package ledger

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"assent/schemas"
)

// tableInto writes a table's cells, a row to a line.
func tableInto(out *bytes.Buffer) Table {
	return func(header []string, rows [][]string) {
		for _, row := range append([][]string{header}, rows...) {
			fmt.Fprintln(out, strings.Join(row, "  "))
		}
	}
}

// FuzzRows: whatever a row holds, no terminal obeys it, and programs get it back.
func FuzzRows(f *testing.F) {
	f.Add("a", "b\x1b[2J", `{"x":1}`, int64(3))
	f.Add("=1+1", "\u202e,\"\n", "no JSON \xff", int64(-1))
	f.Fuzz(func(t *testing.T, agent, file, payload string, lines int64) {
		r := Row{ID: 1, EventID: "e", EventType: "tool.mutation.write", HookType: "post_tool_use", ToolName: "write", AgentID: agent, SessionID: agent,
			FilePath: &file, FileExt: &file, Branch: agent, HeadSHA: agent, Timestamp: "2026-02-06T12:00:00.000Z", ReceivedAt: "2026-02-06 12:00:00", RawPayload: payload}
		if lines >= 0 {
			r.LinesChanged = &lines
		}
		for _, format := range []string{"table", "csv", "json"} {
			var out bytes.Buffer
			p, err := NewPrinter(format, &out, tableInto(&out))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := p.Row(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.End(); err != nil {
				t.Fatal(err)
			}
			for _, c := range out.String() {
				if c != '\n' && (unicode.IsControl(c) || c == '\u202e') && (format != "json" || c != '\t' && c != '\r') {
					t.Fatalf("%q in %s: %q", c, format, out.String())
				}
			}
			switch format {
			case "table":
				if n := strings.Count(out.String(), "\n"); n != 3 {
					t.Fatalf("%d lines: %q", n, out.String())
				}
			case "csv":
				if rows, err := csv.NewReader(&out).ReadAll(); err != nil || len(rows) != 3 || len(rows[1]) != len(rows[0]) {
					t.Fatalf("%q %v", rows, err)
				}
			case "json":
				var docs []json.RawMessage
				if err := json.Unmarshal(out.Bytes(), &docs); err != nil || len(docs) != 2 {
					t.Fatalf("%v in %q", err, out.String())
				}
				if err := schemas.Validate("LedgerRow", docs[0]); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// A spreadsheet must not compute what an agent called a file.
func TestCSVHoldsNoFormulas(t *testing.T) {
	var b strings.Builder
	p, err := NewPrinter("csv", &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := `=HYPERLINK("http://example.com")`
	if err := errors.Join(p.Row(Row{FilePath: &file, AgentID: "@a", Branch: "'=b"}), p.End()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`,"'=HYPERLINK(""http`, ",'@a,", ",''=b,"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
}
