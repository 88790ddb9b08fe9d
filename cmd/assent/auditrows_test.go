package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/hook"
	"assent/internal/setup/statedir"
)

// TestAuditMerges: requests and messages come as one list, newest first; a broker that knows no list of messages is told of, and one
// that cannot give it is an error that says how to do without.
func TestAuditMerges(t *testing.T) {
	began := time.Now().Add(-time.Hour).UTC()
	at := func(minute int) time.Time { return began.Add(time.Duration(minute) * time.Minute) }
	by := &hook.Approver{Kind: hook.KindOwner, Name: "owner"}
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/requests/"), "/trace")
		minute := 0
		_, _ = fmt.Sscanf(strings.TrimPrefix(id, "msg-"), "m%d", &minute)
		switch {
		case r.URL.Path == "/v1/audit/messages" && status != http.StatusOK:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			answer = api.Problem{Status: status, Title: http.StatusText(status)}
		case r.URL.Path == "/v1/audit/messages" && r.URL.Query().Get("after") == "":
			answer = []api.RecordedMessage{{ID: "msg-m50", SentAt: at(50)}, {ID: "msg-m30", SentAt: at(30)}}
		case r.URL.Path == "/v1/audit/messages" && r.URL.Query().Get("after") == "msg-m30":
			answer = []api.RecordedMessage{{ID: "msg-m29", SentAt: at(29)}, {ID: "msg-m10", SentAt: at(10)}}
		case r.URL.Path == "/v1/audit/messages":
			answer = []api.RecordedMessage{}
		case r.URL.Path == "/v1/requests" && r.URL.Query().Get("after") == "":
			var list []api.Request
			for _, minute := range []int{40, 20} {
				q := api.Request{Outcome: hook.Allowed, DecidedBy: by, SettledAt: at(minute)}
				q.ID, q.CreatedAt = fmt.Sprint("m", minute), at(minute-1)
				list = append(list, q)
			}
			answer = list
		case r.URL.Path == "/v1/requests":
			answer = []api.Request{}
		case strings.HasPrefix(id, "msg-"):
			answer = []api.Record{{Record: hook.Record{
				RequestID: id, Step: hook.MessageSent.RecordStep(), Time: at(minute), By: by,
				Message: &hook.MessageEntry{At: at(minute), Sent: &hook.SentMessage{Agent: "a", SessionID: "s", Kind: hook.MessagePrompt}},
			}}}
		default:
			answer = []api.Record{{Record: hook.Record{RequestID: id, Step: hook.StepDecided, Time: at(minute), By: by, Outcome: hook.Allowed, Decision: &hook.Decision{Behavior: hook.BehaviorAllow}}}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer srv.Close()
	c := newClient(api.ClientConfig{URL: srv.URL, Token: "x"}, statedir.Broker{})
	list := func(q audit.Query) (ids, notes string, err error) {
		var said strings.Builder
		err = c.audit(t.Context(), &said, began, &q, func(r *audit.Row, _ string) error {
			ids += r.Request + " "
			return nil
		})
		return ids, said.String(), err
	}
	for _, x := range []struct {
		query audit.Query
		want  string
	}{
		{audit.Query{}, "msg-m50 m40 msg-m30 msg-m29 m20 msg-m10 "},
		{audit.Query{Kind: audit.MessageRow}, "msg-m50 msg-m30 msg-m29 msg-m10 "},
		{audit.Query{Kind: audit.RequestRow}, "m40 m20 "},
		{audit.Query{Outcome: hook.Allowed}, "m40 m20 "},
		{audit.Query{Session: "t"}, ""},
	} {
		if got, notes, err := list(x.query); got != x.want || notes != "" || err != nil {
			t.Errorf("%+v: %q, %q, %v; want %q", x.query, got, notes, err, x.want)
		}
	}
	status = http.StatusNotFound
	if got, notes, err := list(audit.Query{}); got != "m40 m20 " || !strings.Contains(notes, "earlier version") || err != nil {
		t.Errorf("an earlier broker: %q, %q, %v", got, notes, err)
	}
	status = http.StatusServiceUnavailable
	if _, _, err := list(audit.Query{}); err == nil || !strings.Contains(err.Error(), "--kind request") {
		t.Errorf("no list: %v", err)
	}
	if got, _, err := list(audit.Query{Kind: audit.RequestRow}); got != "m40 m20 " || err != nil {
		t.Errorf("without them: %q, %v", got, err)
	}
}
