package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assent/internal/text/show"
)

// A person names a request by its number, or by the last digits of the number where only one of the
// last hour has them. Its id is the submitter's choice, and so is how that begins.
var numberLike = regexp.MustCompile(`^#?[0-9]{1,18}$`)

// NumberLike reports whether a text names a request by its number.
func NumberLike(text string) bool { return numberLike.MatchString(text) }

// NameError says that what a person named is not there, or that the name may mean several.
type NameError struct {
	Text string
	// See is the command that lists what is there; empty: none does.
	See string
	// Short says that more of the name is wanted.
	Short bool
}

func (e *NameError) Error() string { return e.Text }

const (
	wholeID = 36 // characters of a request's id
	// shortestHead is from how many digits on a number that nobody has may be the beginning of an id.
	shortestHead = 8
	// lately is how old a request may be whose number is shortened.
	lately = time.Hour
	// The pages of requests that are over, in which those of the last hour are looked for.
	endedPage, endedPages = 500, 10
	// shortestEnd is how much of a session's id's end says which one is meant; the page shows as much.
	shortestEnd = 4
)

// NotFound reports whether the broker knows no such thing.
func NotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// Request is the request with this whole id; an error of the broker is a *Problem.
func (c *Client) Request(ctx context.Context, id string) (*Request, error) {
	var r Request
	err := c.Call(ctx, "GET", "/v1/requests/"+url.PathEscape(id), nil, &r)
	return &r, err
}

// Find returns the request with this number or id, or the pending one whose id begins with it.
func (c *Client) Find(ctx context.Context, id string) (*Request, error) {
	if len(id) == wholeID {
		r, err := c.Request(ctx, id)
		if NotFound(err) {
			err = &NameError{Text: "no request has the id " + show.Line(id), See: "pending"}
		}
		return r, err
	}
	if NumberLike(id) {
		found, err := c.byNumber(ctx, id)
		if err == nil {
			return c.Find(ctx, found)
		}
		if len(id) < shortestHead {
			return nil, err
		}
	}
	found, err := c.findIn(ctx, "pending", id)
	if err != nil {
		return nil, err
	}
	if found == "" {
		return nil, &NameError{Text: "no pending request has the number " + show.Line(id) + ", or an id that begins with it", See: "pending"}
	}
	return c.Find(ctx, found)
}

// FindID returns the id of the request with this number, or of the one that this is the beginning
// of: one that waits, else one of the last hundred that ended. A whole id it takes as it is.
func (c *Client) FindID(ctx context.Context, id string) (string, error) {
	if len(id) == wholeID {
		return id, nil
	}
	if NumberLike(id) {
		found, err := c.byNumber(ctx, id)
		if err == nil || len(id) < shortestHead {
			return found, err
		}
	}
	for _, state := range []string{"pending", "ended"} {
		if found, err := c.findIn(ctx, state, id); err != nil || found != "" {
			return found, err
		}
	}
	return "", &NameError{Text: "no request that waits or ended lately has the number " + show.Line(id) + ", or an id that begins with it; an older one goes by its whole number or id", See: "pending"}
}

// findIn returns the id of the request in this state that begins with prefix, or nothing. Of
// the ended ones it sees the newest page.
func (c *Client) findIn(ctx context.Context, state, prefix string) (id string, err error) {
	var rs []Request
	if err := c.Call(ctx, "GET", "/v1/requests?state="+state, nil, &rs); err != nil {
		return "", err
	}
	for i := range rs {
		if strings.HasPrefix(rs[i].ID, prefix) {
			if id != "" {
				return "", &NameError{Text: fmt.Sprintf("more than one %s request begins with %q; say more of the id", state, prefix), Short: true}
			}
			id = rs[i].ID
		}
	}
	return id, nil
}

// byNumber returns the id of the request that digits name.
func (c *Client) byNumber(ctx context.Context, digits string) (string, error) {
	digits = strings.TrimPrefix(digits, "#")
	known, err := c.recent(ctx)
	if err != nil {
		return "", err
	}
	found := withNumber(known, digits)
	switch len(found) {
	case 1:
		return found[0].ID, nil
	case 0:
		return c.older(ctx, digits)
	}
	var numbers []string
	for _, r := range found[:min(len(found), 4)] {
		numbers = append(numbers, strconv.FormatUint(r.Number, 10))
	}
	return "", &NameError{Text: fmt.Sprintf("%d requests of the last hour have numbers that end in %s; type one of them whole: %s",
		len(found), digits, strings.Join(numbers, ", "))}
}

// withNumber are the requests that digits may mean: the one with that number, else those whose numbers
// end in it.
func withNumber(known []Request, digits string) []Request {
	var found []Request
	for _, r := range known {
		number := strconv.FormatUint(r.Number, 10)
		switch {
		case r.Number == 0:
		case number == digits:
			return []Request{r}
		case strings.HasSuffix(number, digits):
			found = append(found, r)
		}
	}
	return found
}

// recent are the requests that wait, and those that were asked within the last hour.
func (c *Client) recent(ctx context.Context) ([]Request, error) {
	var all []Request
	if err := c.Call(ctx, "GET", "/v1/requests?state=pending", nil, &all); err != nil {
		return nil, err
	}
	since := time.Now().Add(-lately)
	after := ""
	for range endedPages {
		var page []Request
		path := fmt.Sprintf("/v1/requests?state=ended&limit=%d&after=%s", endedPage, url.QueryEscape(after))
		if err := c.Call(ctx, "GET", path, nil, &page); err != nil {
			return nil, err
		}
		for _, r := range page {
			if r.CreatedAt.After(since) {
				all = append(all, r)
			}
		}
		// They come by when they were settled, the newest first, and nothing is settled before it is asked.
		if len(page) < endedPage || page[len(page)-1].SettledAt.Before(since) {
			break
		}
		after = page[len(page)-1].ID
	}
	slices.SortFunc(all, func(x, y Request) int { return cmp.Compare(x.Number, y.Number) })
	return slices.CompactFunc(all, func(x, y Request) bool { return x.ID == y.ID }), nil
}

// older is the id of the request with this number, however old it is.
func (c *Client) older(ctx context.Context, digits string) (string, error) {
	var found []Request
	if err := c.Call(ctx, "GET", "/v1/requests?number="+digits, nil, &found); err != nil {
		return "", err
	}
	for _, r := range found {
		if strconv.FormatUint(r.Number, 10) == digits {
			return r.ID, nil
		}
	}
	return "", &NameError{Text: "no request has the number " + digits + ", and none of the last hour ends in it", See: "pending"}
}

// Ended calls visit with the requests that were asked and ended since then, newest first, until it fails.
func (c *Client) Ended(ctx context.Context, since time.Time, visit func(*Request) error) error {
	after := ""
	for {
		path := "/v1/requests?state=ended&limit=1000"
		if after != "" {
			path += "&after=" + url.QueryEscape(after)
		}
		var page []Request
		if err := c.Call(ctx, "GET", path, nil, &page); err != nil {
			return err
		}
		for i := range page {
			q := &page[i]
			if !q.SettledAt.IsZero() && q.SettledAt.Before(since) {
				return nil
			}
			if q.CreatedAt.Before(since) {
				continue
			}
			if err := visit(q); err != nil {
				return err
			}
		}
		if len(page) == 0 || page[len(page)-1].ID == after {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

// RecordedMessages are the messages to agents that were sent since then, of a session if one is named, the newest first. An error
// is the last that comes.
func (c *Client) RecordedMessages(ctx context.Context, since time.Time, session string) iter.Seq2[RecordedMessage, error] {
	return func(yield func(RecordedMessage, error) bool) {
		query := url.Values{"limit": {"1000"}, "since": {since.UTC().Format(time.RFC3339)}}
		if session != "" {
			query.Set("session", session)
		}
		for {
			var page []RecordedMessage
			if err := c.Call(ctx, "GET", "/v1/audit/messages?"+query.Encode(), nil, &page); err != nil {
				yield(RecordedMessage{}, err)
				return
			}
			for _, m := range page {
				if !yield(m, nil) {
					return
				}
			}
			if len(page) == 0 || page[len(page)-1].ID == query.Get("after") {
				return
			}
			query.Set("after", page[len(page)-1].ID)
		}
	}
}

// FindSession finds a session by its id, else by the beginning of the id, else by its end or what
// the lists show of it, else, if titles count, by its title or a part of that. Of those found
// that way it looks at the newest 1,000.
func (c *Client) FindSession(ctx context.Context, name string, titles bool) (*Session, error) {
	var s Session
	err := c.Call(ctx, "GET", "/v1/sessions/"+url.PathEscape(name), nil, &s)
	if err == nil || !NotFound(err) {
		return &s, err
	}
	var list []Session
	if err := c.Call(ctx, "GET", "/v1/sessions?limit=1000", nil, &list); err != nil {
		return nil, err
	}
	lower := strings.ToLower(name)
	ways := []func(*Session) bool{
		func(s *Session) bool { return strings.HasPrefix(s.SessionID, name) },
		func(s *Session) bool { return idLike(s.SessionID, name) },
	}
	if titles {
		ways = append(ways,
			func(s *Session) bool { return strings.ToLower(s.Title) == lower },
			func(s *Session) bool { return strings.Contains(strings.ToLower(s.Title), lower) })
	}
	for _, is := range ways {
		var found []*Session
		for i := range list {
			if is(&list[i]) {
				found = append(found, &list[i])
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return nil, &NameError{Text: fmt.Sprintf("%d sessions are meant by %q, such as %s and %s; say more of the id, see: assent sessions",
				len(found), show.Line(name), show.Line(found[0].SessionID), show.Line(found[1].SessionID)), Short: true}
		}
	}
	return nil, &NameError{Text: fmt.Sprintf("no session matches %q; see: assent sessions", show.Line(name))}
}

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
