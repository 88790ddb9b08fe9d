package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"assent/internal/text/show"
)

// counted is a number of things.
func counted(n int, what string) string { return show.Count(n, what) }

// columns is how wide the terminal is that out is, 0 if it is none.
func columns(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// hang breaks the lines of text that are wider than width. What follows of each begins where the
// line itself began, but not before column by. A terminal would go on at its left edge, where our
// own words stand: a text of the right length could show a decision there that nobody took. 0 is
// no width: nothing is broken.
func hang(text string, by, width int) string {
	if width == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := max(by, len(line)-len(strings.TrimLeft(line, " ")))
		if indent > width/2 {
			indent = min(by, width/2)
		}
		at := 0
		for _, r := range line {
			w := columnsOf(r)
			if at+w > width && r != '\n' {
				b.WriteByte('\n')
				b.WriteString(strings.Repeat(" ", indent))
				at = indent
			}
			b.WriteRune(r)
			at += w
		}
	}
	return b.String()
}

// columnsOf is how many columns a character takes at most: a line that is broken early harms
// nobody.
func columnsOf(r rune) int {
	switch {
	case r == '\n':
		return 0
	case r == '\t':
		return 8
	case r < 0x1100:
		return 1
	}
	return 2
}

// list prints what the broker answers to a GET of path: as it comes with --json, else a line
// for each item below header, their columns separated by tabs, or the sentence empty.
func list[T any](ctx context.Context, a *app, path, empty, header string, row func(*T) string) error {
	b, err := a.broker()
	if err != nil {
		return err
	}
	if a.json {
		var raw json.RawMessage
		if err := b.call(ctx, "GET", path, nil, &raw); err != nil {
			return err
		}
		return a.printJSON(raw)
	}
	var items []T
	if err := b.call(ctx, "GET", path, nil, &items); err != nil {
		return err
	}
	if len(items) == 0 {
		fmt.Fprintln(a.out, empty)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for i := range items {
		fmt.Fprintln(w, row(&items[i]))
	}
	return w.Flush()
}
