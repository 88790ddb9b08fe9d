package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/terminal"
)

// A person can only type the name by which this program was found: "assent" alone is not on everybody's PATH.

// ownCommands matches a command of this program in a sentence; what stands in front of it is no part of a path. A
// test holds the list against the commands that there are.
var ownCommands = regexp.MustCompile(`(^|[^\w/.-])assent (` + commandNames + `)\b`) // read-only

const commandNames = "acp|agent|allow|approver|audit|ci|completion|contain|deny|device|doctor|effects|events|feed|forget|grants|hand-back|health|hook|install|join|ledger|man|mcp|nats-accounts|nats-info|notices|pair|pause|pending|phone|proposals|relay|repair|rules|say|search|serve|service|sessions|simulate|stop|token|torture|trace|uninstall|up|update|version|watch"

// callable is a text for a person in which the commands of this program are named as they can be typed here.
func callable(text string) string {
	name := typed()
	if name == "assent" || !strings.Contains(text, "assent ") {
		return text
	}
	return ownCommands.ReplaceAllString(text, "${1}"+strings.ReplaceAll(name, "$", "$$")+" ${2}")
}

// fit breaks the lines of a text where the terminal ends, each going on below its own indent; elsewhere it
// stays as it is.
func fit(out io.Writer, text string) string {
	width := columns(out)
	if width == 0 {
		return text
	}
	var rows []string
	for line := range strings.SplitSeq(text, "\n") {
		rows = append(rows, terminal.Wrap(line, width, hanging(line))...)
	}
	return strings.Join(rows, "\n")
}

// tell prints a text for a person: lines that fit, and commands that can be typed.
func (a *app) tell(text string) { fmt.Fprintln(a.out, fit(a.out, callable(text))) }

// column is what stands in front of the second column of a table: "  --flag   ", "  1  ".
var column = regexp.MustCompile(`^ +\S+( \S+)*? {2,}`)

// hanging is where a line goes on when it is broken.
func hanging(line string) int {
	if at := column.FindString(line); at != "" {
		return len(at)
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}

// fitHelp has a command's help fit a terminal that is narrower than the texts were written for.
func fitHelp(help func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) {
		out := c.OutOrStdout()
		if width := columns(out); width == 0 || width >= helpWidth {
			help(c, args)
			return
		}
		var text strings.Builder
		c.Long = paragraphs(c.Long)
		c.SetOut(&text)
		help(c, args)
		c.SetOut(out)
		fmt.Fprint(out, fit(out, text.String()))
	}
}

// helpWidth is what no line of a help's text exceeds.
const helpWidth = 140

// paragraphs has one line for each paragraph. Lines that are indented stand as they are.
func paragraphs(text string) string {
	lines := strings.Split(text, "\n")
	out := lines[:1]
	for _, line := range lines[1:] {
		last := &out[len(out)-1]
		if line == "" || line[0] == ' ' || *last == "" || (*last)[0] == ' ' {
			out = append(out, line)
		} else {
			*last += " " + line
		}
	}
	return strings.Join(out, "\n")
}
