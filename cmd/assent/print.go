package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"golang.org/x/term"

	"assent/internal/text/layout"
	"assent/internal/text/show"
)

// counted is a number of things.
func counted(n int, what string) string { return show.Count(n, what) }

// columns is how wide the terminal is that out is, 0 if it is none.
func columns(out io.Writer) int {
	f, ok := screenOf(out).(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func hang(text string, by, width int) string { return layout.Hang(text, by, width) }

// list prints what the broker answers to a GET of path: as it comes with --json, else a line
// for each item below header, or the sentence empty.
func list[T any](ctx context.Context, a *app, path, empty string, header []string, row func(*T) []string) error {
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
		a.tell(empty)
		return nil
	}
	rows := make([][]string, len(items))
	for i := range items {
		rows[i] = row(&items[i])
	}
	a.printTable(header, rows)
	return nil
}
