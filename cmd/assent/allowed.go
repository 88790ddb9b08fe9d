package main

import (
	"fmt"
	"strings"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// Bounds of a text that is printed beside its request; the whole is in the JSON.
const (
	shownLines = 120
	shownRunes = 8000
)

// allowedLines say what was allowed where it is not what was asked for: what was changed, line by
// line, and what was answered. All begin with indent; nil where it was allowed as it was asked for.
func allowedLines(a *show.Allowed, indent string) []string {
	return indented(a.Summary(), indent)
}

// inputLines are the fields of a request.
func inputLines(fields []show.Field, indent string) []string {
	var lines []string
	for _, f := range fields {
		label := oneRow(readable(f.Name))
		if f.Kind == "words" {
			label += " (the agent's words)"
		}
		lines = append(lines, label+": "+strings.ReplaceAll(readable(f.Text), "\n", "\n  "))
	}
	return indented(strings.Split(strings.Join(lines, "\n"), "\n"), indent)
}

// indented bounds the lines and moves them in, so that none stands where our own words do.
func indented(lines []string, indent string) []string {
	out := make([]string, 0, min(len(lines), shownLines+1))
	left := shownRunes
	for i, l := range lines {
		l = readable(l)
		r := []rune(l)
		if i == shownLines || left < len(r) {
			return append(out, indent+fmt.Sprintf("… %d more lines; the whole: --json", len(lines)-i))
		}
		left -= len(r)
		out = append(out, indent+l)
	}
	return out
}

// asEdited says that a request was allowed otherwise than it was asked for.
func asEdited(a *show.Allowed) string {
	if a != nil && len(a.Changes) > 0 {
		return " as edited"
	}
	return ""
}

// fared says how the tool of an allowed request fared, where that is not what everybody expects.
func fared(reason, failure string) string {
	if reason != hook.ReasonFailed {
		return ""
	}
	if failure = strings.TrimSpace(readable(failure)); failure != "" {
		return "; the tool failed: " + elide(oneRow(failure), 300)
	}
	return "; the tool failed"
}
