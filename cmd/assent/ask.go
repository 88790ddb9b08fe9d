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
	return a.confirmOr(ctx, question, def, nil)
}

// confirmOr is confirm with a third answer, d, which shows details and asks again; nil: there are none.
func (a *app) confirmOr(ctx context.Context, question string, def bool, details func()) (bool, error) {
	if !a.interactive() {
		return false, errNoAnswer
	}
	choice, want := "y/N", "y or n"
	if def {
		choice = "Y/n"
	}
	if details != nil {
		choice, want = choice+"/d", "y, n or d"
	}
	for wrong := 0; wrong < 3; wrong++ {
		fmt.Fprintf(a.out, "%s [%s] ", question, choice)
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
		case "d":
			if details != nil {
				details()
				wrong--
				continue
			}
		}
		fmt.Fprintf(a.out, "Please answer %s.\n", want)
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
