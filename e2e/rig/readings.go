package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"assent/internal/hook"
)

// MismatchReport says which payloads were not as their schemas have them.
type MismatchReport struct {
	Checked, Unchecked int
	Mismatches         []struct {
		Event, Path, Problem string
		Count                int
	}
}

// Mismatches is what the broker says about payloads that are not as their schemas have them.
func (d *Daemon) Mismatches() (r MismatchReport) {
	d.T.Helper()
	d.Get("/v1/schema-mismatches", &r)
	return r
}

// Sessions are the ids of all sessions; each is valid by its schema.
func (d *Daemon) Sessions() (ids []string) {
	d.T.Helper()
	var docs []json.RawMessage
	d.Get("/v1/sessions", &docs)
	for _, doc := range docs {
		Valid(d.T, "SessionInfo", doc)
		var s struct{ SessionID string }
		if err := json.Unmarshal(doc, &s); err != nil {
			d.T.Fatal(err)
		}
		ids = append(ids, s.SessionID)
	}
	return ids
}

// ReadFeed returns the feed of a session as far as there is one, as its bytes.
func (d *Daemon) ReadFeed(id string) (events []json.RawMessage) {
	d.T.Helper()
	for {
		after := uint64(0)
		if len(events) > 0 {
			after = Number(d.T, events[len(events)-1], "pos")
		}
		status, body, err := d.Try("GET", fmt.Sprintf("/v1/sessions/%s/feed?after=%d&limit=50", url.PathEscape(id), after), nil)
		if err != nil || status != 200 {
			return events // unknown yet
		}
		var page []json.RawMessage
		if err := json.Unmarshal(body, &page); err != nil {
			d.T.Fatal(err)
		}
		if len(page) == 0 {
			return events
		}
		events = append(events, page...)
	}
}

// WholeFeed is readFeed when nothing more comes: many times the same, and some time apart. Looks count
// besides, for a machine that stands still makes nothing more come either.
func (d *Daemon) WholeFeed(id string) (events []json.RawMessage) {
	d.T.Helper()
	rest, looks := time.Now(), 0
	Eventually(d.T, Soon, "the feed comes to rest", func() bool {
		if now := d.ReadFeed(id); len(now) != len(events) {
			events, rest, looks = now, time.Now(), 0
		}
		looks++
		return len(events) > 0 && time.Since(rest) > 2*time.Second && looks > 50
	})
	return events
}

// Number returns a member of a JSON object that must be a number.
func Number(t *testing.T, doc json.RawMessage, member string) uint64 {
	t.Helper()
	var m map[string]json.RawMessage
	var n uint64
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m[member], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Follower is one WebSocket on a feed, and how far it has come.
type Follower struct {
	Conn *websocket.Conn
	Last uint64
}

// FollowFeed opens a WebSocket on a session's feed.
func (d *Daemon) FollowFeed(id string, after uint64) *Follower {
	d.T.Helper()
	url, token := d.Owner()
	address := fmt.Sprintf("ws%s/v1/ws?feed=%s&after=%d", strings.TrimPrefix(url, "http"), id, after)
	conn, _, err := websocket.DefaultDialer.Dial(address, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		d.T.Fatal(err)
	}
	d.T.Cleanup(func() { _ = conn.Close() })
	return &Follower{conn, after}
}

// Until reads up to a position; every position has to come once, in order.
func (f *Follower) Until(pos uint64) error {
	for f.Last < pos {
		if err := f.Conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		_, b, err := f.Conn.ReadMessage()
		if err != nil {
			return fmt.Errorf("after position %d: %w", f.Last, err)
		}
		var m struct {
			Type   string
			Reset  bool
			Events []struct{ Pos uint64 }
		}
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		if m.Type != "feed" || m.Reset {
			return fmt.Errorf("after position %d: %s", f.Last, b)
		}
		for _, e := range m.Events {
			if e.Pos != f.Last+1 {
				return fmt.Errorf("position %d comes after %d", e.Pos, f.Last)
			}
			f.Last = e.Pos
		}
	}
	return nil
}

// Notify posts n notifications of a session, as its hooks would, over the socket. Like theirs, one
// that the broker did not take, which may have been held up for seconds, comes again under its id.
func (d *Daemon) Notify(client *http.Client, session string, from, n int) {
	d.T.Helper()
	for i := from; i < from+n; i++ {
		body := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"Notification","message":"message %d","notification_type":"other"}`, session, i)
		id := uuid.NewString()
		Eventually(d.T, Soon, fmt.Sprintf("event %d is taken", i), func() bool {
			req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
			if err != nil {
				d.T.Fatal(err)
			}
			req.Header.Set(hook.HeaderAgent, "claude")
			req.Header.Set(hook.HeaderRequestID, id)
			res, err := client.Do(req)
			if err != nil {
				return false
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusServiceUnavailable {
				d.T.Fatalf("event %d: %s", i, res.Status)
			}
			return res.StatusCode == http.StatusNoContent
		})
	}
}

// Metrics are what the broker shows, read as Prometheus reads it.
func (d *Daemon) Metrics() map[string]*dto.MetricFamily {
	d.T.Helper()
	status, body, err := d.Try("GET", "/metrics", nil)
	if err != nil || status != http.StatusOK {
		d.T.Fatalf("GET /metrics: %d %s %v", status, body, err)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		d.T.Fatalf("GET /metrics: %v\n%s", err, body)
	}
	return families
}

// Look opens the WebSocket with a token.
func (d *Daemon) Look(token string) *websocket.Conn {
	d.T.Helper()
	url, _ := d.Owner()
	c, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/v1/ws", http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		d.T.Fatalf("%v %v", err, res)
	}
	d.T.Cleanup(func() { _ = c.Close() })
	return c
}

// Metric reads one number of /metrics, -1 if it is not there.
func (d *Daemon) Metric(name string) float64 {
	d.T.Helper()
	status, body, err := d.Try("GET", "/metrics", nil)
	if err != nil || status != http.StatusOK {
		d.T.Fatalf("GET /metrics: %d %v", status, err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(body)
	if found == nil {
		return -1
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		d.T.Fatal(err)
	}
	return n
}
