package terminal

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"assent/internal/text/layout"
	"assent/internal/text/show"
)

const (
	// rowMargin is where the text of a row begins: behind its time.
	rowMargin = 10
	// rowLines is how many lines of a text stand below a call; of what a person or the agent says it is
	// wordLines.
	rowLines, wordLines = 6, 20
)

// Lines are a row of a transcript as lines of a terminal of so many columns; 0 breaks none.
func (r *Row) Lines(columns int) []string {
	sub := ""
	if r.Sub {
		sub = "  │ "
	}
	at := time.UnixMilli(r.TS).Local().Format("15:04:05") + "  "
	switch r.Kind {
	case RowCall:
		return r.call(at+sub, columns)
	case RowPrompt:
		text := r.Text
		if r.From != "" {
			text = "from " + r.From + ": " + text
		}
		if strings.TrimSpace(text) == "" {
			text = "(an empty prompt)"
		}
		return append([]string{""}, said(at, Strong, "❯ ", text, columns)...)
	case RowWords:
		return said(at+sub, 0, "", r.Text, columns)
	}
	role, sign := Dim, ""
	if r.Bad {
		role = Danger
	}
	if r.Kind == RowEnd {
		sign = "■ "
	}
	return Wrap(at+sub+role.On(sign+r.Text), columns, width(at+sub))
}

// said are the lines of a prompt, or of the agent's words.
func said(before string, role Role, sign, text string, columns int) (rows []string) {
	lines, more := firstLines(text, wordLines)
	indent := width(before)
	for i, l := range lines {
		if role != 0 {
			l = role.On(sign + l)
		}
		if i == 0 {
			l = before + l
		} else {
			l = strings.Repeat(" ", indent) + l
		}
		rows = append(rows, Wrap(l, columns, indent)...)
		sign = strings.Repeat(" ", width(sign))
	}
	return append(rows, moreLines(more, indent)...)
}

// firstLines are the lines of a text, at most so many, without runs of empty ones, and how many more there are.
func firstLines(text string, most int) (lines []string, more int) {
	lines = strings.Split(layout.Fold(strings.Trim(text, "\n")), "\n")
	if len(lines) > most {
		more = len(lines) - most
		lines = lines[:most]
	}
	return lines, more
}

func moreLines(n, indent int) []string {
	if n == 0 {
		return nil
	}
	return []string{strings.Repeat(" ", indent) + Dim.On("… "+show.Count(n, "more line"))}
}

// signs and roles of the marks.
var marks = map[Mark]struct {
	sign string
	role Role
	word string
}{
	MarkRunning:   {"●", Dim, "runs"},
	MarkWaiting:   {"?", Attention, "waits for an answer"},
	MarkAllowed:   {"●", Dim, ""},
	MarkRan:       {"✓", Calm, "ran"},
	MarkFailed:    {"✗", Danger, "failed"},
	MarkDenied:    {"⊘", Attention, ""},
	MarkOver:      {"–", Dim, ""},
	MarkOverruled: {"‼", Danger, "ran all the same"},
}

// call are the lines of a call: one with what it is and how it stands, and below it what does not fit there.
func (r *Row) call(before string, columns int) []string {
	m := marks[r.Mark]
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	answer, how := lowerFirst(r.Answer), m.word
	if r.MS >= 1000 && (r.Mark == MarkRan || r.Mark == MarkFailed) {
		how += ", " + lasted(r.MS)
	}
	why, moreWhy, _ := strings.Cut(strings.TrimSpace(r.Why), "\n")
	switch {
	case why == "":
		add(answer)
		add(how)
	case r.Mark == MarkDenied: // the words of the denial
		add(answer + ": " + why)
	case how == "":
		add(answer)
		add(why)
	default:
		add(answer)
		add(how + ": " + why)
	}
	for _, o := range r.Odd {
		add("(" + o + ")")
	}
	line := before + m.role.On(m.sign) + " " + Strong.On(r.Tool)
	if r.What != "" {
		line += "  " + show.OneRow(r.What)
	}
	if len(parts) > 0 {
		role := Dim
		if m.role == Danger || m.role == Attention {
			role = m.role
		}
		line += role.On("  · " + strings.Join(parts, " · "))
	}
	indent := width(before) + 2
	rows := Wrap(line, columns, indent)
	below := func(text string, role Role) {
		if strings.TrimSpace(text) == "" {
			return
		}
		lines, more := firstLines(text, rowLines)
		for _, l := range lines {
			if role != 0 {
				l = role.On(l)
			}
			rows = append(rows, Wrap(strings.Repeat(" ", indent)+l, columns, indent+2)...)
		}
		rows = append(rows, moreLines(more, indent)...)
	}
	if r.Difference != "" {
		below(r.Difference, 0)
	} else if r.Mark != MarkRan || r.Answer != "" {
		below(r.Whole, 0)
	}
	for _, a := range r.Answers {
		below(show.Join(a), 0)
	}
	below(moreWhy, Dim)
	return rows
}

// lasted is a time as people say it.
func lasted(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

func lowerFirst(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return ""
	}
	return string(unicode.ToLower(r)) + text[n:]
}
