package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

// Detail is all that a person has to see of a request, as lines: what it would do, how bad that could
// be, who wants it and why, and the exact input. note is what the rules say to the approver.
// In a terminal of so many columns they are its rows; 0 breaks no line.
func Detail(r *api.Request, note string, now time.Time, columns int) []string {
	var rows []string
	for _, line := range append([]string{heading(r, now)}, body(r, note)...) {
		rows = append(rows, rowsOf(line, columns)...)
	}
	return rows
}

// rowsOf breaks a line of a detail: assent's own sentences, which begin with their role, and texts.
func rowsOf(line string, columns int) []string {
	for _, role := range []Role{Strong, Attention, Danger} {
		if strings.HasPrefix(line, string(rune(role))) {
			return Wrap(line, columns, 2)
		}
	}
	return wrapText(line, columns)
}

// body is a detail without its heading, whose times go on.
func body(r *api.Request, note string) []string {
	lines := []string{Strong.On(Marked(r))}
	add := func(text string) {
		if text != "" {
			lines = append(lines, text)
		}
	}
	add(riskLine(r))
	if r.Uninspectable != "" {
		add(Danger.On("! cannot be shown faithfully: " + show.Line(r.Uninspectable) + "; its raw text: assent trace --json " + show.Line(r.ID)))
	}
	if r.Detached {
		add(Attention.On("The agent is not connected; waiting for it to come back."))
	}
	add(Dim.On(note))
	lines = append(lines, promptLines(r.Context)...)
	if len(r.Fields()) == 0 && r.Partial {
		add(Attention.On("Its input is too large for a list."))
	}
	lines = append(lines, "")
	lines = append(lines, Input(r)...)
	if more := effectLines(r); len(more) > 0 {
		lines = append(append(lines, ""), more...)
	}
	if RiskOf(r) != hook.Danger || r.Context == nil {
		return append(lines, saidLines(r.Context)...)
	}
	if r.Context.Said != "" {
		lines = append(lines, "", Dim.On("The agent's own words are not shown beside what is dangerous."))
	}
	return lines
}

// promptLines are what was asked of the agent, and by whom as far as anybody knows.
func promptLines(c *hook.Context) []string {
	if c == nil || c.Prompt == "" {
		return nil
	}
	who := "prompt"
	switch c.PromptFrom {
	case hook.PromptYou:
		who = "you"
	case hook.PromptSession:
		who = "from another session"
		if c.PromptSender != "" {
			who += " (" + show.OneRow(show.Readable(c.PromptSender)) + ")"
		}
	}
	return claim(who, c.Prompt, "", c.PromptCut)
}

// saidLines are the agent's last words: a claim, below all that assent says.
func saidLines(c *hook.Context) []string {
	if c == nil || c.Said == "" {
		return nil
	}
	who := "the agent says"
	if c.SaidBy == hook.SaidBySubagent {
		who = "the subagent says"
	}
	before := ""
	if c.SaidCut {
		before = "… "
	}
	return append([]string{""}, claim(who, c.Said, before, false)...)
}

// mostClaimed is how many lines of a prompt, or of the agent's words, are shown.
const mostClaimed = 6

// claim is foreign text behind the name of who said it, its first lines only.
func claim(who, text, before string, cut bool) []string {
	rows := strings.Split(strings.TrimSpace(layout.Fold(show.Readable(text))), "\n")
	if len(rows) > mostClaimed {
		rows, cut = rows[:mostClaimed], true
	}
	lines := []string{Dim.On(who+": "+before) + rows[0]}
	for _, row := range rows[1:] {
		lines = append(lines, "  "+row)
	}
	if cut {
		lines[len(lines)-1] += Dim.On(" …")
	}
	return lines
}

// heading is a line that names the request, its place and its times.
func heading(r *api.Request, now time.Time) string {
	parts := []string{Project(r)}
	if branch := r.Repo.Branch; branch != "" {
		parts[0] += "@" + show.Short(branch, 40)
	}
	if r.Number > 0 {
		parts = slices.Insert(parts, 0, fmt.Sprintf("#%d", r.Number))
	}
	if r.Machine != "" && r.Host != "" && r.Host != r.Machine {
		parts = append(parts, "calls itself "+show.Short(r.Host, 40))
	}
	if !r.CreatedAt.IsZero() {
		parts = append(parts, Ago(r.CreatedAt, now)+" ago")
	}
	if !r.Deadline.IsZero() && r.State == "pending" {
		parts = append(parts, "until "+Clock(r.Deadline, now))
	}
	return Dim.On(strings.Join(parts, " · "))
}

// effectLines are the effects, where the sentence and the risk do not say everything.
func effectLines(r *api.Request) []string {
	if r.Effects == nil || len(r.Effects.Effects) < 2 {
		return nil
	}
	var lines []string
	for _, e := range r.Effects.Effects {
		lines = append(lines, RiskSign(e.Risk)+" "+show.OneRow(show.Readable(e.Text)))
	}
	if n := r.MoreEffects; n > 0 {
		lines = append(lines, Dim.On(fmt.Sprintf("   and %d more found, none of them worse", n)))
	}
	return lines
}

// Input is the exact input as lines: long runs of blank lines and spaces are folded, an edit is a
// difference, the parts of a command that are the reason for its risk stand out.
func Input(r *api.Request) []string {
	var lines []string
	fields := r.Fields()
	write := tools.Of(r.ToolName).Kind == tool.Write
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		label := show.OneRow(show.Readable(f.Name))
		if before := fileBefore(r); write && f.Kind == show.KindCode && before != nil {
			d := Difference(show.Readable(*before), show.Readable(f.Text))
			lines = append(lines, Dim.On(fmt.Sprintf("%s, against the file on disk  +%d −%d", label, count(d, New), count(d, Old))))
			lines = append(lines, foldUnchanged(d)...)
			continue
		}
		if f.Kind == show.KindDiffOld && i+1 < len(fields) && fields[i+1].Kind == show.KindDiffNew {
			d := Difference(show.Readable(f.Text), show.Readable(fields[i+1].Text))
			added, taken := count(d, New), count(d, Old)
			lines = append(lines, Dim.On(fmt.Sprintf("%s → %s  +%d −%d", label, show.OneRow(show.Readable(fields[i+1].Name)), added, taken)))
			lines = append(lines, placed(d, r.Context)...)
			i++
			continue
		}
		if f.Kind == show.KindWords {
			label += " (the agent's words)"
		}
		text := show.Readable(f.Text)
		if i == 0 && f.Kind == show.KindCode && r.Effects != nil {
			text = marked(text, r.Marks)
		}
		rows := strings.Split(layout.Fold(text), "\n")
		if len(rows) == 1 {
			lines = append(lines, Dim.On(label+":")+" "+rows[0])
			continue
		}
		lines = append(lines, Dim.On(label+":"))
		for _, row := range rows {
			lines = append(lines, "  "+row)
		}
	}
	if write {
		lines = append(lines, OverwriteWords(r.Overwrites))
	}
	return lines
}

// fileBefore is the text that a write replaces, where it is known.
func fileBefore(r *api.Request) *string {
	if r.Context == nil || r.Context.Before == nil {
		return nil
	}
	return r.Context.Before.Text
}

// placed is the difference of an edit with the lines around it and the number of the first line.
func placed(d []string, c *hook.Context) []string {
	if c == nil || c.At == nil {
		return d
	}
	lines := []string{Dim.On(fmt.Sprintf("from line %d", c.At.Line))}
	around := func(rows []string) {
		for _, row := range rows {
			lines = append(lines, Dim.On("  "+show.OneRow(show.Readable(row))))
		}
	}
	around(c.At.Above)
	lines = append(lines, d...)
	around(c.At.Below)
	return lines
}

// foldUnchanged leaves of the lines that stay those around a change.
func foldUnchanged(d []string) []string {
	const around = 3
	near := make([]bool, len(d))
	for i, l := range d {
		if !strings.HasPrefix(l, "  ") {
			for j := max(0, i-around); j < min(len(d), i+around+1); j++ {
				near[j] = true
			}
		}
	}
	var lines []string
	for i := 0; i < len(d); i++ {
		if near[i] {
			lines = append(lines, d[i])
			continue
		}
		from := i
		for i+1 < len(d) && !near[i+1] {
			i++
		}
		if n := i + 1 - from; n > 1 {
			lines = append(lines, Dim.On(fmt.Sprintf("  ⟦%d lines stay as they are⟧", n)))
		} else {
			lines = append(lines, d[i])
		}
	}
	return lines
}

func count(lines []string, role Role) int {
	n := 0
	for _, l := range lines {
		if strings.HasPrefix(l, string(rune(role))) {
			n++
		}
	}
	return n
}

// marked gives the marks of a command their roles. No part goes over the end of a line.
func marked(text string, marks []hook.RiskMark) string {
	if len(marks) == 0 {
		return text
	}
	roleAt := make(map[int]Role)
	for _, m := range marks {
		role := RiskRole(m.Risk)
		if role != Attention {
			role = Danger
		}
		for i := max(0, m.Start); i < min(m.End, len(text)); i++ {
			roleAt[i] = max(roleAt[i], role)
		}
	}
	var b strings.Builder
	at, on := 0, Role(0)
	for _, r := range text {
		role := roleAt[at]
		if r == '\n' {
			role = 0
		}
		if role != on {
			if on != 0 {
				b.WriteRune(rune(roleEnd))
			}
			if role != 0 {
				b.WriteRune(rune(role))
			}
			on = role
		}
		b.WriteRune(r)
		at += utf16.RuneLen(r)
	}
	if on != 0 {
		b.WriteRune(rune(roleEnd))
	}
	return b.String()
}
