package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// What is kept of a request for the list of what was decided.
const (
	maxSummary     = 240     // characters
	maxRequestText = 1 << 10 // bytes
	maxChanges     = 2 << 10 // bytes
)

// summaryOf returns a request in one line that is safe to show, and the text that a search looks in.
func summaryOf(detail func(agent, event string, raw []byte) hook.Detail, r *hook.Request) (summary, text string) {
	arg := string(r.ToolInput)
	if len(r.Raw) > 0 {
		d := detail(r.Agent, cmp.Or(r.Event, hook.EventPermissionRequest), r.Raw)
		if d.ToolArg != "" {
			arg = d.ToolArg
		} else if r.Event == hook.EventElicitation {
			arg = d.Message
		}
	}
	return show.Short(settledArg(r.ToolName, arg), maxSummary), findable(r.ToolName, where(r), arg)
}

// settledArg is what a row says of a request: of a plan its title, because a plan in one line cannot
// be read.
func settledArg(tool, arg string) string {
	if feed.WaitingFor(tool) == feed.StatePlan {
		return feed.PlanTitle(arg)
	}
	return arg
}

// firstLines are the first lines of a text that is safe to show, max bytes or fewer.
func firstLines(s string, max int) string {
	if len(s) <= max {
		return s
	}
	if end := strings.LastIndexByte(s[:max], '\n'); end > 0 {
		return s[:end] + "\n…"
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}

// clipped is the beginning of a line that is safe to show.
func clipped(s string, max int) string {
	if r := []rune(s); len(r) > max {
		return string(r[:max-1]) + "…"
	}
	return s
}

// where says for people where a request came from: its repository, or the directory.
func where(r *hook.Request) string {
	if r.Repo.Root != "" {
		return r.Repo.Root
	}
	return r.CWD
}

// findable is a text to be looked into, without capitals.
func findable(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		left := maxRequestText - b.Len()
		if left <= 0 {
			break
		}
		b.WriteString(strings.ToValidUTF8(p[:min(len(p), left)], ""))
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(strings.ToLower(b.String()), "\x00", " ")
}

// Settled returns the requests that are over, the last settled one first. An After that is not
// known is ErrNotFound; a query that takes too long is ErrSlow.
func (h *History) Settled(ctx context.Context, q hook.SettledQuery) ([]hook.Settled, error) {
	where, args, err := h.settledWhere(ctx, q)
	if err != nil {
		return nil, err
	}
	list := []hook.Settled{}
	sessions := map[int64]feed.Info{}
	var keys []int64
	err = h.slow(ctx, "read decisions", func(ctx context.Context) error {
		return h.query(ctx, "read decisions", `SELECT r.id, s.key, s.id, r.tool, r.summary, r.repo, r.asked, r.settled, r.outcome, r.by_kind, r.by_name, r.reason, r.edited, r.wanted, r.answers, r.changes, r.unattended, r.verified,
			coalesce((SELECT message FROM decisions WHERE request = r.id AND step = 'decided' ORDER BY record LIMIT 1), ''),
			coalesce((SELECT step FROM decisions WHERE request = r.id AND step IN ('delivered', 'refused', 'confirmed', 'overruled') ORDER BY record DESC LIMIT 1), ''),
			coalesce((SELECT reason FROM decisions WHERE request = r.id AND step = 'confirmed' ORDER BY record LIMIT 1), ''),
			coalesce((SELECT message FROM decisions WHERE request = r.id AND step IN ('refused', 'confirmed', 'overruled') ORDER BY record LIMIT 1), ''),
			coalesce((SELECT reason FROM decisions WHERE request = r.id AND step = 'decided' ORDER BY record LIMIT 1), '')
			FROM requests r JOIN sessions s ON s.key = r.session WHERE `+where+` ORDER BY r.settled DESC, r.id DESC LIMIT ?`,
			append(args, pageLimit(q.Limit)), func(row *sql.Rows) error {
				var x hook.Settled
				var by hook.Decider
				var key, asked, settled int64
				var ran, failure, how string
				if err := row.Scan(&x.ID, &key, &x.SessionID, &x.ToolName, &x.Summary, &x.Repo, &asked, &settled, &x.Outcome, &by.Kind, &by.Name, &x.Reason,
					&x.Edited, &x.Asked, &x.Answers, &x.Changes, &x.Unattended, &by.Verified, &x.Message, &x.Delivery, &ran, &failure, &how); err != nil {
					return err
				}
				x.Contained = how == reasonContained
				x.CreatedAt, x.SettledAt = time.UnixMilli(asked).UTC(), time.UnixMilli(settled).UTC()
				x.Failed, x.Failure = ran == hook.ReasonFailed || failure != "" && x.Delivery != hook.StepRefused, show.Short(failure, maxSummary)
				if by.Kind != "" {
					x.By = &by
				}
				list, keys = append(list, x), append(keys, key)
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if _, known := sessions[key]; !known {
			if sessions[key], err = h.sessionInfo(ctx, key); err != nil {
				return nil, err
			}
		}
		list[i].Title, list[i].Agent = sessions[key].Title, sessions[key].Agent
	}
	return list, nil
}

// settledWhere is the condition of a query.
func (h *History) settledWhere(ctx context.Context, q hook.SettledQuery) (string, []any, error) {
	conditions, args := []string{"r.settled > 0"}, []any{}
	add := func(condition string, values ...any) {
		conditions, args = append(conditions, condition), append(args, values...)
	}
	if q.After != "" {
		var settled int64
		if err := h.query(ctx, "read decisions", `SELECT settled FROM requests WHERE id = ? AND settled > 0`, []any{q.After}, func(row *sql.Rows) error {
			return row.Scan(&settled)
		}); err != nil {
			return "", nil, err
		}
		if settled == 0 {
			return "", nil, fmt.Errorf("request %q: %w", q.After, ErrNotFound)
		}
		add("(r.settled, r.id) < (?, ?)", settled, q.After)
	}
	for column, value := range map[string]string{
		"s.id": q.Session, "r.by_kind": q.Kind, "r.by_name": q.By, "r.tool": q.Tool, "r.outcome": string(q.Outcome),
	} {
		if value != "" {
			add(column+" = ?", value)
		}
	}
	if q.Repo != "" { // with the work trees of its own sessions
		add("(r.repo = ? OR instr(r.repo, ?) = 1)", q.Repo, strings.TrimRight(q.Repo, "/")+hook.OwnTrees)
	}
	if !q.Since.IsZero() {
		add("r.settled >= ?", q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		add("r.settled < ?", q.Until.UnixMilli())
	}
	words := strings.Fields(findable(q.Words))
	for _, word := range words[:min(len(words), maxTerms)] {
		add("(instr(r.text, ?) > 0 OR instr(lower(r.by_name), ?) > 0)", word, word)
	}
	return strings.Join(conditions, " AND "), args, nil
}

// sessionTitle is the title of a session, "" without one.
func (h *History) sessionInfo(ctx context.Context, key int64) (info feed.Info, err error) {
	err = h.query(ctx, "read session", `SELECT info FROM sessions WHERE key = ?`, []any{key}, func(row *sql.Rows) error {
		var packed []byte
		if err := row.Scan(&packed); err != nil {
			return err
		}
		text, err := unpack(packed)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &info); err != nil {
			return fmt.Errorf("%w: %w", errPacked, err)
		}
		return nil
	})
	return info, err
}

// slow runs a read that may have to look at everything: it has the time of a search, and leaves
// connections to other reads as searches do.
func (h *History) slow(ctx context.Context, what string, read func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, h.cfg.searchTime)
	defer cancel()
	var err error
	select {
	case h.searches <- struct{}{}:
		err = read(bounded)
		<-h.searches
	case <-bounded.Done():
		err = bounded.Err()
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil && !errors.Is(err, ErrNotReady) {
		return fmt.Errorf("%s: %w", what, ErrSlow)
	}
	return err
}
