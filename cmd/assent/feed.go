package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) feedCmd() *cobra.Command {
	var f feedPrinter
	var follow bool
	c := &cobra.Command{
		Use:   "feed SESSION",
		Short: "Read what happened in a session",
		Long: `Read what happened in a session, as on the page: prompts, what the agent said, and one row for
each call that shows who allowed it, whether it ran or why it failed, and how it was edited.
SESSION is an id, the beginning or the end of one (at least 4 characters), or a title that only
one session has. The calls of subagents are indented. With --follow, a call is printed when it is
over, and before that if it waits for an answer.

With --lines each event has its own line, in the order in which the events came. Events that
matter to no person are left out, unless --all is given; --all also prints the id of each request,
for assent trace.`,
		Example: "  assent feed 25e5a0e9\n  assent feed \"fix the login\" -f\n  assent feed 25e5a0e9 --lines --all\n  assent feed 25e5a0e9 --json | jq .title",
		Args:    oneSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			b, err := a.broker()
			if err != nil {
				return err
			}
			s, err := b.session(ctx, args[0], true)
			if err != nil {
				return err
			}
			f.app = a
			if !f.lines && !f.all && !a.json {
				f.story = terminal.NewTranscript()
			}
			if !a.json {
				head := fmt.Sprintf("%s · %s · %s", s.Name(), s.Where(), show.Line(s.SessionID))
				if terminal.IsOtherAgent(s.Agent) {
					head = show.Line(s.AgentTitle) + " · " + head
				}
				for _, row := range terminal.Wrap(head, columns(a.out), 2) {
					fmt.Fprintln(a.out, row)
				}
			}
			if err := f.pages(ctx, b, s.SessionID); err != nil {
				return err
			}
			f.rows(!follow)
			if !follow {
				if f.printed == 0 && !a.json {
					fmt.Fprintln(a.out, "Nothing happened yet.")
				}
				return nil
			}
			return f.follow(ctx, b, s.SessionID)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow live, until Ctrl-C")
	c.Flags().BoolVar(&f.lines, "lines", false, "a line for each event")
	c.Flags().BoolVar(&f.all, "all", false, "a line for each event, also for what is hidden, and all of each text")
	c.Flags().BoolVar(&a.json, "json", false, "each event as one line of JSON, hidden ones too")
	return c
}

// feedPrinter prints the events of one feed, each once.
type feedPrinter struct {
	*app
	lines   bool
	all     bool
	story   *terminal.Transcript // nil: each event is printed by itself
	after   uint64               // pos of the last event
	last    string               // its id
	printed int
	day     string
	spoke   bool // a message of the agent was printed since the last prompt
	subs    terminal.Subagents
}

// pages prints what there is.
func (f *feedPrinter) pages(ctx context.Context, c *client, id string) error {
	for {
		var page []json.RawMessage
		path := fmt.Sprintf("/v1/sessions/%s/feed?limit=500&after=%d", url.PathEscape(id), f.after)
		if err := c.call(ctx, "GET", path, nil, &page); err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		for _, doc := range page {
			if err := f.print(doc); err != nil {
				return err
			}
		}
		if f.story != nil && f.story.Waits() > mostRows {
			f.rows(true)
		}
	}
}

// mostRows bounds the rows of a transcript in memory: of a longer one a call may stand as it stood then, and
// again when it is over.
const mostRows = 20_000

// rows prints the rows of the transcript that there are by now; with all also calls that still run.
func (f *feedPrinter) rows(all bool) {
	if f.story == nil {
		return
	}
	palette, width := f.palette(), columns(f.out)
	for _, r := range f.story.Rows(all) {
		f.printed++
		f.newDay(time.UnixMilli(r.TS))
		for _, l := range r.Lines(width) {
			fmt.Fprintln(f.out, palette.Paint(l))
		}
	}
}

// newDay prints the day of what comes next, if that is another one.
func (f *feedPrinter) newDay(at time.Time) {
	if day := at.Local().Format("Monday, 2 January 2006"); day != f.day {
		f.day = day
		fmt.Fprintf(f.out, "\n%s\n", day)
	}
}

// follow prints what comes, through a broker that restarts.
func (f *feedPrinter) follow(ctx context.Context, c *client, id string) error {
	err := f.reconnecting(ctx, c, func(c *client, connected func()) error { return f.listen(ctx, c, id, connected) }, func(err error) {
		fmt.Fprintf(f.err, "assent: connection lost (%v); waiting for the broker\n", err)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// listen prints what one connection brings. Its goroutine ends with it.
func (f *feedPrinter) listen(ctx context.Context, c *client, id string, connected func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages, failed := make(chan []byte), make(chan error, 1)
	query := fmt.Sprintf("?feed=%s&after=%d&last=%s", url.QueryEscape(id), f.after, url.QueryEscape(f.last))
	go func() { failed <- c.listen(ctx, query, messages, connected) }()
	for {
		select {
		case err := <-failed:
			return err
		case m := <-messages:
			var msg api.Message
			if err := json.Unmarshal(m, &msg); err != nil {
				return fmt.Errorf("message of the broker: %w", err)
			}
			if msg.Reset {
				if f.after, f.last = 0, ""; f.story != nil {
					f.story = terminal.NewTranscript()
				}
				fmt.Fprintln(f.err, "assent: the session was forgotten, or history is made anew; its feed begins again")
			}
			for _, doc := range msg.Events {
				if err := f.print(doc); err != nil {
					cancel()
					<-failed
					return err
				}
			}
			f.rows(false)
		}
	}
}

// print prints one event unless it was printed or is hidden.
func (f *feedPrinter) print(doc json.RawMessage) error {
	e, err := terminal.ReadEvent(doc)
	if err != nil {
		return err
	}
	if e.Pos <= f.after {
		return nil
	}
	f.after, f.last = e.Pos, e.EventID
	if f.json {
		f.printed++
		return f.printJSON(doc)
	}
	if f.story != nil {
		f.story.Take(e)
		return nil
	}
	if e.UI.Hidden && !f.all {
		return nil
	}
	f.printed++
	at := time.UnixMilli(e.TS).Local()
	f.newDay(at)
	switch {
	case e.Kind == feed.KindUserPrompt && e.ActorID == feed.ActorIDUser:
		fmt.Fprintln(f.out)
		f.spoke = false
	case e.Kind == feed.KindMessage:
		f.spoke = true
	case e.Kind == feed.KindStopRequest && f.spoke && !f.all:
		e.Body = "" // it would repeat the agent's last message
	}
	_, err = io.WriteString(f.out, hang(terminal.FeedText(e, at, f.subs.Have(e), f.all), terminal.FeedMargin, columns(f.out)))
	return err
}

func (a *app) searchCmd() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "search WORDS",
		Short: "Find events of all sessions by their words",
		Long: `Find the events of all sessions that contain every given word, newest first. A word also matches
the beginning of a longer one; words in double quotes must be adjacent.`,
		Example: "  assent search migration\n  assent search '\"not on a Friday\"'\n  assent search out.txt --json",
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return errors.New("want WORDS to look for")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > 1000 {
				return usagef("--limit %d: want 1 to 1000", limit)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			path := fmt.Sprintf("/v1/search?limit=%d&q=%s", limit, url.QueryEscape(strings.Join(args, " ")))
			if err := b.call(cmd.Context(), "GET", path, nil, &raw); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(raw)
			}
			var found []api.Found
			if err := json.Unmarshal(raw, &found); err != nil {
				return fmt.Errorf("the broker's answer: %w", err)
			}
			if len(found) == 0 {
				fmt.Fprintln(a.out, "Nothing was found.")
			}
			named := slices.ContainsFunc(found, func(f api.Found) bool { return terminal.IsOtherAgent(f.Agent) })
			for i := range found {
				about := terminal.Start(oneRow(readable(found[i].Title)), 40)
				if named && found[i].AgentTitle != "" {
					about = show.Line(found[i].AgentTitle) + " · " + about
				}
				e, err := terminal.ReadEvent(found[i].Event)
				if err != nil {
					return err
				}
				line := fmt.Sprintf("%s  %s  %s  (%s)\n", time.UnixMilli(e.TS).Local().Format("2006-01-02 15:04:05"), show.Short(e.SessionID, 13), e.Title, about)
				fmt.Fprint(a.out, hang(line, terminal.FeedMargin, columns(a.out)))
				if l := terminal.FoundLine(e, args); l != "" {
					fmt.Fprint(a.out, hang(fmt.Sprintf("%36s%s\n", "", elide(l, 120)), 36, columns(a.out)))
				}
			}
			return nil
		},
	}
	c.Flags().IntVar(&limit, "limit", 30, "at most this many")
	c.Flags().BoolVar(&a.json, "json", false, "the API's JSON")
	return c
}
