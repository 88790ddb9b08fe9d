package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) agentAttachCmd() *cobra.Command {
	f := agentFlags{expires: 10 * time.Minute}
	c := &cobra.Command{
		Use:   "attach SESSION",
		Short: "Follow a session of an agent, and type prompts to it",
		Long: `Follow a session of an agent live, above a line to type into. Each line you type is sent as a
prompt, as assent agent prompt does, or resume if the session's process has ended. Ctrl-C leaves
the session, and the agent carries on. Attaching keeps nobody out: the page and others can send
prompts meanwhile, and permission requests are answered where they always are.

If standard input is not a terminal, each of its lines is sent as a prompt, and the command ends
once the result of every prompt is known; it fails if one of them failed. To send a prompt of
several lines, use assent agent prompt. SESSION is the session's id, or a beginning of it that no
other session shares.`,
		Example: "  assent agent attach 25e5a0e9\n  echo 'run the tests' | assent agent attach 25e5a0e9 --json",
		Args:    oneSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.attach(cmd.Context(), f, args[0])
		},
	}
	c.Flags().StringVar(&f.agent, "agent", "", "the agent that has the session; needed while its host is away")
	c.Flags().DurationVar(&f.expires, "expires", f.expires, "how long a prompt may wait for the host, at most 24h")
	c.Flags().BoolVar(&a.json, "json", false, "each event of the session as one line of JSON, hidden ones too")
	return c
}

// attached is one run of the command.
type attached struct {
	*app
	f       agentFlags
	session string
	device  *client     // that sees what became of it; nil: it has to sign in again
	sent    []*underWay // what is not known to be over
	failed  bool
}

// underWay is a message of which more is to come.
type underWay struct {
	hook.Message
	path string
}

func (a *app) attach(ctx context.Context, f agentFlags, name string) error {
	b, err := a.broker()
	if err != nil {
		return err
	}
	s, err := b.session(ctx, name, false)
	if err != nil {
		return err
	}
	if _, _, err := a.addressee(ctx, f, s.SessionID); err != nil {
		return err
	}
	on := *a
	lines, asks, done, err := on.typedLines()
	if err != nil {
		return err
	}
	defer done()
	x := &attached{app: &on, f: f, session: s.SessionID}
	reader := feedPrinter{app: &on}
	if !a.json {
		reader.story = terminal.NewTranscript()
		fmt.Fprintf(on.out, "%s · %s\n", s.Name(), show.Line(s.SessionID))
	}
	if err := reader.pages(ctx, b, s.SessionID); err != nil {
		return err
	}
	reader.rows(false)

	reading, stop := context.WithCancel(ctx)
	defer stop()
	followed := make(chan error, 1)
	go func() {
		defer close(followed)
		followed <- reader.follow(reading, b, s.SessionID)
	}()
	err = x.run(ctx, lines, asks, followed)
	stop()
	if err != nil {
		return err
	}
	if <-followed; !asks { // what its last turn brought
		if err := reader.pages(ctx, b, s.SessionID); err != nil {
			return err
		}
		reader.rows(true)
	}
	if x.failed && !asks {
		return &exitError{exitFailed, nil}
	}
	return nil
}

// run sends lines until there are no more of them: at once where a person types them, else once it is known what
// became of them.
func (x *attached) run(ctx context.Context, lines <-chan string, asks bool, followed <-chan error) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for lines != nil || len(x.sent) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case err := <-followed:
			return err
		case text, more := <-lines:
			if !more && asks {
				return nil
			}
			if !more {
				lines = nil
			} else if err := x.say(ctx, text); err != nil {
				x.failed = true
				fmt.Fprintf(x.err, "assent: not sent: %s\n", readable(err.Error()))
			}
		case <-tick.C:
			x.look(ctx)
		}
	}
	return nil
}

// say sends one line.
func (x *attached) say(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m, runs, err := x.addressee(ctx, x.f, x.session)
	if err != nil {
		return err
	}
	if m.Kind, m.Prompt = hook.MessagePrompt, text; !runs {
		m.Kind = hook.MessageResume
	}
	b, path, m, err := x.post(ctx, x.f, m)
	if err == nil {
		x.device = b
		x.sent = append(x.sent, &underWay{m, path}) // no more than the broker lets wait
	}
	return err
}

// look finds out what became of what was sent.
func (x *attached) look(ctx context.Context) {
	if len(x.sent) == 0 {
		return
	}
	if x.device == nil {
		b, _, err := x.asDevice(ctx)
		if err != nil {
			return // the reader says that the broker is away
		}
		x.device = b
	}
	b := x.device
	left := x.sent[:0]
	for _, m := range x.sent {
		err := b.call(ctx, "GET", m.path, nil, &m.Message)
		if err != nil {
			x.device = nil
		}
		if err != nil || !m.State.Over() {
			left = append(left, m)
			continue
		}
		if m.State != hook.MessageEnded || m.Outcome != hook.OutcomeCompleted {
			x.failed = true
			fmt.Fprintf(x.err, "assent: %q: %s\n", show.Elide(show.Line(m.Prompt), 40), terminal.MessageOutcome(m.Message))
		}
	}
	x.sent = left
}

// typedLines are the lines of standard input. Where a person types them asks is true, and a.out and a.err print above
// the line that is being typed; done must be called then, at the end. The goroutine that reads ends
// with the input, or the program.
func (a *app) typedLines() (lines <-chan string, asks bool, done func(), err error) {
	c := make(chan string)
	if !a.interactive() {
		go func() {
			defer close(c)
			in := bufio.NewScanner(a.in)
			in.Buffer(nil, hook.MaxMessage+2)
			for in.Scan() {
				c <- in.Text()
			}
			if in.Err() != nil {
				fmt.Fprintf(a.err, "assent: the rest of the input was not read: %v\n", in.Err())
			}
		}()
		return c, false, func() {}, nil
	}
	in := a.in.(*os.File)
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, false, nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	line := &promptLine{term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, a.out}, "> "), a.out}
	if width, height, err := term.GetSize(int(in.Fd())); err == nil {
		_ = line.SetSize(width, height)
	}
	a.out, a.err = line, line
	go func() {
		defer close(c)
		for {
			text, err := line.ReadLine() // Ctrl-C and Ctrl-D end it
			if err != nil {
				return
			}
			c <- text
		}
	}()
	return c, true, func() {
		_, _ = line.Write([]byte("\n"))
		_ = term.Restore(int(in.Fd()), before)
	}, nil
}

// promptLine is a terminal with a line to type into below what is printed.
type promptLine struct {
	*term.Terminal
	screen io.Writer
}

// screenOf is where what is written to out is seen.
func screenOf(out io.Writer) io.Writer {
	if p, ok := out.(*promptLine); ok {
		return p.screen
	}
	return out
}
