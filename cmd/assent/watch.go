package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

func (a *app) watchCmd() *cobra.Command {
	var lines bool
	c := &cobra.Command{
		Use:   "watch",
		Short: "Follow the requests live and answer them from this terminal",
		Long: `Follow the requests live. At a terminal it fills the screen: a list of what is waiting, and the
selected request in full. Keys:
  a    allow; what is dangerous needs the key twice, and all of it on the screen before
  d    deny                            m    deny, with a message for the agent
  e    edit it in $EDITOR, then a      A    allow, and save a rule made of it
  ↵    show the request without the list
  j k  next, previous                  space, pgup    scroll
  q    quit
A key counts half a second after a request has come up, so that it never answers what has just
appeared.

With --lines, or where input or output is no terminal, each request is printed with its number, and
answered by typing a line:
  a 417              allow request 417 (a question: see assent allow --help)
  d 417 not today    deny it, with a message for the agent
  s 417              show all of it, where rows of it are hidden
  q                  quit`,
		Example: "  assent watch\n  assent watch --lines\n  assent watch --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			w := &watch{app: a, client: b, numbers: map[string]int{}, shown: map[string]string{}, requests: map[int]*api.Request{}, hidden: map[int]bool{}}
			if a.interactive() && !lines && !a.json && os.Getenv("TERM") != "dumb" {
				return w.fill(cmd.Context())
			}
			return w.run(cmd.Context())
		},
	}
	c.Flags().BoolVar(&lines, "lines", false, "print and read lines, at a terminal too")
	c.Flags().BoolVar(&a.json, "json", false, "every WebSocket message as one line of JSON; answers are not read")
	return c
}

// watch is one run of the command. Its fields are owned by run.
type watch struct {
	*app
	*client
	numbers  map[string]int    // request id → the number it is called by
	shown    map[string]string // request id → the state it was last printed in
	requests map[int]*api.Request
	hidden   map[int]bool // those of which rows were not shown yet
}

// watchRows is how many rows of a request's input are shown at once: more would scroll its
// beginning, or the request before it, off the screen.
const watchRows = 36

// run reads messages and lines until the user quits. It owns two goroutines, which end with
// it: the socket's reader by closing the socket, the line reader with the process.
func (w *watch) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		failed <- w.follow(ctx, messages, func(err error) {
			fmt.Fprintf(w.err, "assent: connection lost (%s); waiting for the broker\n", readable(err.Error()))
		})
	}()
	lines := make(chan string)
	if !w.json {
		go readLines(ctx, bufio.NewScanner(w.in), lines)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		case m := <-messages:
			if w.json {
				fmt.Fprintf(w.out, "%s\n", show.JSON(m))
				continue
			}
			var msg api.Message
			if err := json.Unmarshal(m, &msg); err != nil {
				return fmt.Errorf("message of the broker: %w", err)
			}
			w.apply(&msg)
		case line, ok := <-lines:
			if !ok {
				lines = nil // standard input is over; go on watching
				continue
			}
			if strings.TrimSpace(line) == "q" {
				return nil
			}
			w.command(ctx, line)
		}
	}
}

func readLines(ctx context.Context, s *bufio.Scanner, lines chan<- string) {
	defer close(lines)
	for s.Scan() {
		select {
		case lines <- s.Text():
		case <-ctx.Done():
			return
		}
	}
}

// follow keeps a WebSocket open through a broker that restarts, and sends every message on out. It says when the connection
// is lost.
func (w *watch) follow(ctx context.Context, out chan<- []byte, lost func(error)) error {
	err := w.reconnecting(ctx, w.client, func(c *client, connected func()) error {
		if c != w.client {
			w.client = c
		}
		return c.listen(ctx, "", out, connected)
	}, lost)
	if e := (*exitError)(nil); errors.As(err, &e) && e.code == exitRefused {
		err = fmt.Errorf("%w; ASSENT_TOKEN, or the owner's token, must be valid and of role view at least", err)
	}
	return err
}

func (w *watch) apply(m *api.Message) {
	if m.Type == api.MessageRules {
		words := ruleTrouble(&hook.InForce{Allowing: m.Allowing, Problems: m.Problems})
		if words == "" {
			words = "rules: all files are in force again"
		}
		fmt.Fprintf(w.out, "! %s\n", words)
		return
	}
	if m.Type == api.MessageHalt && m.Halt != nil {
		words := haltWords(m.Halt, time.Now())
		if words == "" {
			words = "Nothing is stopped or paused any more."
		}
		fmt.Fprintf(w.out, "! %s\n", words)
		return
	}
	if m.Type == api.MessageSnapshot {
		if len(m.Requests) == 0 && len(w.numbers) == 0 {
			fmt.Fprintln(w.out, "Nothing waits. Requests appear here as they come.")
		}
		still := map[string]bool{}
		for _, r := range m.Requests {
			still[r.ID] = true
			w.show(r)
		}
		for id, n := range w.numbers {
			if state := w.shown[id]; !still[id] && strings.HasPrefix(state, "pending") {
				w.shown[id] = "gone"
				w.say("[%d] over while the connection was lost; see: assent trace %s\n", n, show.Line(id))
			}
		}
		return
	}
	for _, c := range m.Changes {
		if c.Request != nil {
			w.show(c.Request)
		}
	}
}

// show prints a request when it is new and a line whenever its state changed.
func (w *watch) show(r *api.Request) {
	state := r.State + string(r.Outcome) + r.Delivery + strconv.FormatBool(r.Detached)
	if w.shown[r.ID] == state {
		return
	}
	n, known := w.numbers[r.ID]
	if !known {
		if r.State != "pending" {
			return // settled before we came
		}
		n = len(w.numbers) + 1
		if r.Number > 0 {
			n = int(r.Number)
		}
		w.numbers[r.ID] = n
		w.keepShown(w.out, r)
	}
	waited := strings.HasPrefix(w.shown[r.ID], "pending")
	w.shown[r.ID] = state
	w.requests[n] = r
	if !known {
		w.say("\n[%d] %s  %s  until %s\n", n, terminal.Project(r), oneRow(readable(r.Verb())), terminal.Clock(r.Deadline, time.Now()))
		w.printInput(n, r, watchRows)
		return
	}
	w.say("[%d] %s\n", n, readable(stateWords(r)))
	if waited {
		for _, l := range allowedLines(r.Allowed, "      ") {
			w.say("%s\n", l)
		}
	}
}

// say prints lines with foreign text in them. None goes on at the left edge, where our own words
// stand.
func (w *watch) say(format string, args ...any) {
	io.WriteString(w.out, hang(fmt.Sprintf(format, args...), 6, columns(w.out)))
}

// printInput prints what is asked, at most this many rows of it; 0: all.
func (w *watch) printInput(n int, r *api.Request, most int) {
	if r.Uninspectable != "" {
		w.say("    ! cannot be shown faithfully: %s; its raw text: assent trace --json %s\n", show.Line(r.Uninspectable), show.Line(r.ID))
	}
	if words := ruleNote(r.Verdict); words != "" {
		fmt.Fprintf(w.out, "    %s\n", words)
	}
	if len(r.Fields()) == 0 {
		fmt.Fprintln(w.out, "    (too long for this list; see the page)")
	}
	var all strings.Builder
	for _, f := range r.Fields() {
		label := oneRow(readable(f.Name))
		if f.Kind == "words" {
			label += " (the agent's words)"
		}
		fmt.Fprintf(&all, "    %s: %s\n", label, strings.ReplaceAll(layout.Fold(readable(f.Text)), "\n", "\n      "))
	}
	if tools.Of(r.ToolName).Kind == tool.Write {
		fmt.Fprintf(&all, "    %s\n", terminal.OverwriteWords(r.Overwrites))
	}
	text := hang(all.String(), 6, columns(w.out))
	if most > 0 {
		var left int
		if text, left = layout.MiddleOut(text, most); left > 0 {
			w.hidden[n] = true
			text += fmt.Sprintf("    to see all of it, type: s %d\n", n)
		}
	}
	io.WriteString(w.out, text)
}

// stateWords says what became of a request.
func stateWords(r *api.Request) string {
	by := ""
	if r.DecidedBy != nil {
		by = " by " + show.Line(api.ApproverName(r.DecidedBy))
	}
	switch {
	case r.Delivery == "overruled" && r.Contained != "":
		return "OVERRULED: allowed contained" + by + ", but the terminal let it run as it was asked for"
	case r.Delivery == "overruled" && r.Outcome == hook.Allowed:
		return "OVERRULED: allowed as edited" + by + ", but it ran as it was asked for"
	case r.Delivery == "overruled":
		return "OVERRULED: denied" + by + ", but the terminal let it run"
	case r.Delivery == "refused":
		return "allowed" + by + ", and refused by the hook: " + show.Line(r.Failure) + "; the agent's own prompt decides"
	case r.State == "pending" && r.Detached:
		return "the agent is not connected; waiting for it to come back"
	case r.State == "pending":
		return "waiting"
	case r.Outcome == hook.Withdrawn && r.Attended == hook.AttendedNo:
		return "withdrawn: the agent went on, or away, without an answer from here"
	case r.Outcome == hook.Withdrawn:
		return "withdrawn: answered or given up at the terminal"
	case r.Outcome == hook.Expired:
		return "expired: nobody answered in time"
	case r.Delivery != "":
		return string(r.Outcome) + asEdited(r.Allowed) + by + ", " + r.Delivery + fared(r.Reason, r.Failure)
	}
	return string(r.Outcome) + asEdited(r.Allowed) + by
}

// command carries out one line of the user's.
func (w *watch) command(ctx context.Context, line string) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if verb == "" {
		return
	}
	num, words, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(num)
	r := w.requests[n]
	if err != nil || r == nil || (verb != "a" && verb != "d" && verb != "s") {
		fmt.Fprintln(w.out, "Type: a NUMBER to allow, d NUMBER WORDS to deny, s NUMBER to show all of it, q to quit")
		return
	}
	if verb == "s" {
		delete(w.hidden, n)
		w.printInput(n, r, 0)
		return
	}
	d := hook.Decision{Behavior: hook.BehaviorAllow}
	if verb == "d" {
		d = hook.Decision{Behavior: hook.BehaviorDeny, Message: strings.TrimSpace(words)}
	}
	if verb == "a" && tools.Of(r.ToolName).Kind == tool.Question {
		fmt.Fprintf(w.out, "[%d] a question needs its answers; use the page, or: assent allow %s --answer WORDS\n", n, show.Line(r.ID))
		return
	}
	if verb == "a" && w.hidden[n] {
		fmt.Fprintf(w.out, "[%d] rows of it are hidden; show them first: s %[1]d\n", n)
		return
	}
	if verb == "a" && (len(r.Fields()) == 0 || r.Uninspectable != "") {
		fmt.Fprintf(w.out, "[%d] not all of it was shown here; use the page, or: assent allow %s\n", n, show.Line(r.ID))
		return
	}
	if _, err := w.decide(ctx, r, d); err != nil {
		var p *api.Problem
		if errors.As(err, &p) {
			err = p
		}
		w.say("[%d] %s\n", n, readable(err.Error()))
	}
}
