package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"assent/internal/terminal"
)

// errNoAnswer says that a question could not be put: there is no person at a terminal.
var errNoAnswer = errors.New("standard input is no terminal, so nobody can be asked")

// interactive reports whether a person sits at both ends: questions are put only then.
func (a *app) interactive() bool { return terminal.IsTerminal(a.in) && terminal.IsTerminal(a.out) }

// confirm puts a question that Enter answers with def. The end of input is a no; so is Ctrl-C,
// which ends ctx.
func (a *app) confirm(ctx context.Context, question string, def bool) (bool, error) {
	if !a.interactive() {
		return false, errNoAnswer
	}
	choice := "[y/N]"
	if def {
		choice = "[Y/n]"
	}
	for range 3 {
		fmt.Fprintf(a.out, "%s %s ", question, choice)
		text, err := a.readLine(ctx)
		if err != nil {
			fmt.Fprintln(a.out)
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "":
			return def, nil
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		fmt.Fprintln(a.out, "Please answer y or n.")
	}
	return false, nil
}

// readLine reads one line of a.in, or returns with ctx. A read cannot be called off, so the
// goroutine that reads may outlive ctx; the process then ends.
func (a *app) readLine(ctx context.Context) (string, error) {
	if a.lines == nil {
		a.lines = bufio.NewReader(a.in)
	}
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() {
		text, err := a.lines.ReadString('\n')
		got <- line{text, err}
	}()
	select {
	case l := <-got:
		if errors.Is(l.err, io.EOF) && l.text != "" {
			l.err = nil
		}
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
