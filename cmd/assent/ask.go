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
		fmt.Fprint(a.out, fit(a.out, fmt.Sprintf("%s [%s] ", question, choice)))
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

// inputLine is a line that a person typed, or why there is none.
type inputLine struct {
	text string
	err  error
}

// readLine reads one line of a.in, or returns with ctx.
func (a *app) readLine(ctx context.Context) (string, error) {
	select {
	case l := <-a.nextLine():
		a.reading = nil
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// nextLine is where the next line of a.in will come. Who takes it sets a.reading to nil. A read cannot be
// called off: one for which nobody waits any more is that of who waits next, and may outlive the command.
func (a *app) nextLine() <-chan inputLine {
	if a.reading != nil {
		return a.reading
	}
	if a.lines == nil {
		a.lines = bufio.NewReader(a.in)
	}
	got := make(chan inputLine, 1)
	a.reading = got
	go func() {
		text, err := a.lines.ReadString('\n')
		if errors.Is(err, io.EOF) && text != "" {
			err = nil
		}
		got <- inputLine{text, err}
	}()
	return got
}
