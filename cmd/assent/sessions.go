package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// session is a session with the words of the commands' lists.
type session struct{ api.Session }

func (s *session) name() string {
	if s.Title != "" { // safe to show where a broker of ours made it
		return oneRow(readable(s.Title))
	}
	if dir := s.dir(); dir != "" {
		return dir
	}
	return "session " + show.Short(s.SessionID, 8)
}

// about is the name, but where that is only the directory's: nothing was asked in it.
func (s *session) about() string {
	if name := s.name(); name != s.dir() {
		return start(name, 60)
	}
	return "-"
}

// dir is the last element of the working directory.
func (s *session) dir() string {
	dir := strings.TrimRight(s.CWD, "/")
	return show.Line(dir[strings.LastIndexByte(dir, '/')+1:])
}

// stateNames are the agent's states in words.
var stateNames = map[feed.AgentState]string{ // read-only
	feed.StateStarting: "starting", feed.StateWorking: "working", feed.StateAskUser: "asks a question", feed.StatePlan: "has a plan",
	feed.StateBlocked: "wants permission", feed.StateWaiting: "waits for a prompt", feed.StateExited: "over",
}

// stateName says what the agent does. For a minute after a turn the broker still has it work, for a
// hook may have it go on; a person wants to know that the turn is over.
func (s *session) stateName() string {
	if s.LastTurn != "" {
		return show.Line(strings.ToLower(s.LastTurn[:1]) + s.LastTurn[1:])
	}
	if s.State == feed.StateExited && s.AgentProcess == api.AgentGone {
		return "agent is gone"
	}
	if s.State == feed.StateWorking && s.TurnOver {
		return "turn is over"
	}
	if name := stateNames[s.State]; name != "" {
		return name
	}
	return "unknown"
}

// stateRole is how a state stands out: amber where a person is wanted, green where the agent works.
func (s *session) stateRole() terminal.Role {
	switch s.State {
	case feed.StateBlocked, feed.StateAskUser, feed.StatePlan:
		return terminal.Attention
	case feed.StateStarting, feed.StateWorking:
		if !s.TurnOver {
			return terminal.Calm
		}
	}
	return terminal.Dim
}

func (a *app) sessionsCmd() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List the agents' sessions and what each is doing",
		Long: `List the agents' sessions, most recent first: what each one is doing, how many of its requests are
waiting, and what it is about.`,
		Example: "  assent sessions\n  assent sessions --limit 5\n  assent sessions --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 1000 {
				return usagef("--limit %d: want 1 to 1000", limit)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := b.call(cmd.Context(), "GET", fmt.Sprintf("/v1/sessions?limit=%d", limit), nil, &raw); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(raw)
			}
			var list []session
			if err := json.Unmarshal(raw, &list); err != nil {
				return fmt.Errorf("the broker's answer: %w", err)
			}
			if len(list) == 0 {
				fmt.Fprintln(a.out, "No sessions yet. Is the hook installed? See: assent doctor")
				return nil
			}
			header, rows := []string{"SESSION", "STATE", "WAIT", "LAST", "WHERE", "ABOUT"}, make([][]string, 0, len(list))
			named := slices.ContainsFunc(list, func(s session) bool { return terminal.IsOtherAgent(s.Agent) })
			if named {
				header = slices.Insert(header, 1, "AGENT")
			}
			for i := range list {
				s := &list[i]
				row := []string{show.Short(s.SessionID, 13), s.stateRole().On(s.stateName()), s.waits(), ago(s.LastEventAt), s.where(), s.about()}
				if s.QueueCount > 0 {
					row[2] = terminal.Attention.On(row[2])
				}
				if named {
					row = slices.Insert(row, 1, show.Line(s.AgentTitle))
				}
				rows = append(rows, row)
			}
			a.printTable(header, rows)
			return nil
		},
	}
	c.Flags().IntVar(&limit, "limit", 30, "at most this many")
	c.Flags().BoolVar(&a.json, "json", false, "the API's JSON")
	return c
}

func (s *session) waits() string {
	if s.QueueCount == 0 {
		return "-"
	}
	return fmt.Sprint(s.QueueCount)
}

func (s *session) where() string {
	dir := s.Repo.Root
	if dir == "" {
		dir = s.CWD
	}
	dir = strings.TrimRight(dir, "/")
	name := show.Short(dir[strings.LastIndexByte(dir, '/')+1:], 24)
	if s.Repo.Branch != "" {
		name += "@" + show.Short(s.Repo.Branch, 24)
	}
	if name == "" {
		return "-"
	}
	return name
}

func ago(t time.Time) string { return terminal.Ago(t, time.Now()) }

// oneSession is the argument of commands about a session.
func oneSession(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("want one SESSION: its id, the beginning or the end of it, or its title (assent sessions lists them)")
	}
	return nil
}

// shortestEnd is how much of an id's end says which one is meant; the page shows as much.
const shortestEnd = 4

// idLike says whether a session's id may be meant by what is shown of it: "25e5…b606", "…b606", "b606".
func idLike(id, name string) bool {
	head, tail, cut := strings.Cut(strings.Replace(name, "...", "…", 1), "…")
	if !cut {
		head, tail = "", name
	}
	if tail == "" {
		return head != "" && strings.HasPrefix(id, head)
	}
	return len(tail) >= shortestEnd && len(head)+len(tail) <= len(id) && strings.HasPrefix(id, head) && strings.HasSuffix(id, tail)
}

// session finds a session by its id, else by the beginning of the id, else by its end or what
// the lists show of it, else, if titles count, by its title or a part of that. Of those found
// that way it looks at the newest 1,000.
func (c *client) session(ctx context.Context, name string, titles bool) (*session, error) {
	var s session
	err := c.call(ctx, "GET", "/v1/sessions/"+url.PathEscape(name), nil, &s)
	var p *api.Problem
	if err == nil || !errors.As(err, &p) || p.Status != 404 {
		return &s, err
	}
	var list []session
	if err := c.call(ctx, "GET", "/v1/sessions?limit=1000", nil, &list); err != nil {
		return nil, err
	}
	lower := strings.ToLower(name)
	ways := []func(*session) bool{
		func(s *session) bool { return strings.HasPrefix(s.SessionID, name) },
		func(s *session) bool { return idLike(s.SessionID, name) },
	}
	if titles {
		ways = append(ways,
			func(s *session) bool { return strings.ToLower(s.Title) == lower },
			func(s *session) bool { return strings.Contains(strings.ToLower(s.Title), lower) })
	}
	for _, is := range ways {
		var found []*session
		for i := range list {
			if is(&list[i]) {
				found = append(found, &list[i])
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return nil, usagef("%d sessions are meant by %q, such as %s and %s; say more of the id, see: assent sessions",
				len(found), show.Line(name), show.Line(found[0].SessionID), show.Line(found[1].SessionID))
		}
	}
	return nil, &exitError{exitRefused, fmt.Errorf("no session matches %q; see: assent sessions", show.Line(name))}
}
