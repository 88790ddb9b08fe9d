package terminal

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// rowCache keeps the rows of the request that is shown: they are made anew only where something of
// it changed.
type rowCache struct {
	of    *api.Request
	edit  *edit
	offer *offer
	width int
	rows  []string
}

// detail is the selected request in rows of the screen's width, without its heading.
func (b *board) detail() []string {
	r := b.current()
	if r == nil {
		return nil
	}
	e := b.edits[r.ID]
	if c := &b.rows; c.of == r && c.edit == e && c.offer == b.offer && c.width == b.width {
		return c.rows
	}
	lines := body(r, b.cfg.Note(r.Verdict))
	if b.offer != nil {
		lines = b.offer.lines
	} else if e != nil {
		now := []string{Attention.On("Edited by you; a allows this:"), Strong.On(Sentence(e.after))}
		if risk := riskLine(e.after); risk != "" {
			now = append(now, risk)
		}
		now = append(append(now, e.lines...), effectLines(e.after)...)
		lines = append(append(now, "", Dim.On("It was asked for:")), lines...)
	}
	var rows []string
	for _, line := range lines {
		if len(rows) >= mostRows {
			rows = append(rows[:mostRows-1], Danger.On("… too long for a terminal; use the page"))
			break
		}
		rows = append(rows, rowsOf(line, b.width)...)
	}
	b.rows = rowCache{r, e, b.offer, b.width, rows}
	return rows
}

// head are the rows above the list.
func (b *board) head() []string {
	line := Strong.On("assent")
	switch {
	case b.lost != "":
		line += "  " + Danger.On("not connected, waiting for the broker") + "  " + Dim.On(show.OneRow(show.Readable(b.lost)))
	case !b.snapshot:
		line += "  connecting …"
	default:
		waits := "nothing waits"
		if n := len(b.requests); n == 1 {
			waits = "1 waits"
		} else if n > 1 {
			waits = fmt.Sprintf("%d wait", n)
		}
		line += "  " + waits + " · " + show.Count(len(b.sessions), "session")
	}
	rows := []string{line}
	if b.halt != nil && b.cfg.Halt != nil {
		if words := b.cfg.Halt(b.halt, time.Now()); words != "" {
			rows = append(rows, Danger.On("! "+show.OneRow(words)))
		}
	}
	if b.rules != "" {
		rows = append(rows, Attention.On("! "+show.OneRow(b.rules)))
	}
	return rows
}

// listHeight is how many requests are listed at once.
func (b *board) listHeight() int {
	if b.full {
		return 0
	}
	return min(len(b.requests), max(1, (b.height-6)/3))
}

// detailHeight is how many rows of a request are on the screen.
func (b *board) detailHeight() int {
	const around = 4 // a rule, the heading, the status, the keys
	return max(1, b.height-len(b.head())-b.listHeight()-around)
}

// list are the requests around the selected one.
func (b *board) list() []string {
	n := b.listHeight()
	from := min(max(0, b.index()-n/2), len(b.requests)-n)
	place, named := 0, OtherAgents(b.requests)
	for _, r := range b.requests[from : from+n] {
		place = max(place, min(width(ProjectOf(r, named)), b.width/4))
	}
	now := time.Now()
	var rows []string
	for _, r := range b.requests[from : from+n] {
		mark, role := "  ", Role(0)
		if r.ID == b.selected {
			mark, role = "❯ ", Strong
		}
		risk := RiskOf(r)
		if risk.Level() >= hook.Attention.Level() {
			role = RiskRole(risk)
		}
		what := Marked(r)
		if role != 0 {
			what = role.On(what)
		}
		rows = append(rows, Strong.On(mark)+RiskSign(risk)+" "+pad(Cut(ProjectOf(r, named), place), place)+"  "+Dim.On(fmt.Sprintf("%5s", Ago(r.CreatedAt, now)))+"  "+what)
	}
	return rows
}

// keys is the last row: what can be done.
func (b *board) keys(r *api.Request) string {
	if r == nil {
		return Dim.On("q quit")
	}
	allow, armed := "allow", b.armed(time.Now())
	asAllowed := b.asAllowed(r)
	switch risk := RiskOf(asAllowed); {
	case b.sending[r.ID]:
		return Dim.On("sending …")
	case !b.asked.at.IsZero():
		allow, armed = "again: allow", time.Since(b.asked.at) >= armAfter
	case risk == hook.Danger:
		allow = "twice: allow"
	case risk == hook.Attention && asAllowed.Effects != nil && asAllowed.Action != "":
		allow = "allow " + show.Short(asAllowed.Action, 20)
	}
	all := "whole"
	if b.full {
		all = "list"
	}
	const quit = "q quit"
	var row string
	for _, k := range [][2]string{{"a", allow}, {"d", "deny"}, {"m", "message"}, {"e", "edit"}, {"A", "always"}, {"↵", all}, {"jk", "move"}} {
		next := k[0] + " " + k[1] + "  "
		if width(row)+width(next)+len(quit) > b.width {
			break
		}
		if armed {
			next = Strong.On(k[0]) + " " + k[1] + "  "
		} else {
			next = Dim.On(next)
		}
		row += next
	}
	return row + Strong.On("q") + " quit"
}

// statusRow is what just happened, or how much of the request is not on the screen.
func (b *board) statusRow() string {
	if b.prompt != nil {
		return Strong.On(b.prompt.label)
	}
	if b.status != "" && time.Now().Before(b.statusEnd) {
		return b.status
	}
	if below := len(b.detail()) - b.scroll - b.detailHeight(); below > 0 {
		return Attention.On("↓ " + show.Count(below, "row") + " below (space)")
	}
	if b.scroll > 0 {
		return Dim.On("↑ " + show.Count(b.scroll, "row") + " above")
	}
	return ""
}

// View implements tea.Model.
func (b *board) View() tea.View {
	rows := b.head()
	r := b.current()
	if r == nil && b.snapshot {
		rows = append(rows, "", "Nothing waits. Requests appear here as they come.")
	}
	if r != nil {
		if !b.full {
			rows = append(rows, b.list()...)
		}
		rows = append(rows, Dim.On(strings.Repeat("─", b.width)), heading(r, time.Now()))
		all := b.detail()
		first := min(b.scroll, len(all))
		rows = append(rows, all[first:min(len(all), first+b.detailHeight())]...)
	}
	for len(rows) < b.height-2 {
		rows = append(rows, "")
	}
	rows = append(rows[:max(0, b.height-2)], b.statusRow())
	var v tea.View
	if b.prompt != nil {
		row, cursor := b.prompt.row(b.width)
		rows = append(rows, row)
		v.Cursor = tea.NewCursor(cursor, len(rows)-1)
	} else {
		rows = append(rows, b.keys(r))
	}
	for i, row := range rows {
		rows[i] = b.palette.Paint(Cut(row, b.width))
	}
	v.SetContent(strings.Join(rows, "\n"))
	v.AltScreen = true
	return v
}
