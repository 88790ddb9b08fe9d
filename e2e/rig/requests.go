package rig

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is what the tests read of the API's PermissionRequest.
type Request struct {
	ID          string          `json:"id"`
	Number      uint64          `json:"number"`
	SessionID   string          `json:"sessionId"`
	ToolName    string          `json:"toolName"`
	ToolInput   json.RawMessage `json:"toolInput"`
	InputSHA256 string          `json:"inputSha256"`
	AgentID     string          `json:"agentId"`
	Agent       string          `json:"agent"`
	AgentType   string          `json:"agentType"`
	Shown       struct {
		Verb string `json:"verb"`
	} `json:"shown"`
	Suggestions json.RawMessage `json:"permissionSuggestions"`
	State       string          `json:"state"`
	Detached    bool            `json:"detached"`
	Outcome     string          `json:"outcome"`
	Reason      string          `json:"reason"`
	Delivery    string          `json:"delivery"`
	Failure     string          `json:"failure"`
	DecidedBy   *Approver       `json:"decidedBy"`
	CreatedAt   time.Time       `json:"createdAt"`
	SettledAt   time.Time       `json:"settledAt"`
	Raw         string          `json:"raw"`
	Verdict     json.RawMessage `json:"verdict"`
	Contained   string          `json:"contained"`
}

// Approver is who decided.
type Approver struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	File string `json:"file"`
}

// Record is one step of `assent trace`.
type Record struct {
	Step     string    `json:"step"`
	Time     time.Time `json:"time"`
	Outcome  string    `json:"outcome"`
	Reason   string    `json:"reason"`
	By       *Approver `json:"by"`
	Decision *Decision `json:"decision"`
	Request  *Request  `json:"request"`
}

// Decision is what the owner sends.
type Decision struct {
	Behavior           string          `json:"behavior"`
	InputSHA256        string          `json:"inputSha256"`
	Message            string          `json:"message,omitempty"`
	UpdatedInput       json.RawMessage `json:"updatedInput,omitempty"`
	UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
}

// Pending returns the requests that wait, checked against their schema.
func (d *Daemon) Pending() []Request {
	d.T.Helper()
	var docs []json.RawMessage
	d.Get("/v1/requests?state=pending", &docs)
	rs := make([]Request, len(docs))
	for i, doc := range docs {
		Valid(d.T, "PermissionRequest", doc)
		if err := json.Unmarshal(doc, &rs[i]); err != nil {
			d.T.Fatal(err)
		}
	}
	return rs
}

// WaitPending waits until exactly n requests wait, and returns them.
func (d *Daemon) WaitPending(n int) []Request {
	d.T.Helper()
	var rs []Request
	Eventually(d.T, 2*Soon, fmt.Sprintf("%d pending requests", n), func() bool {
		rs = d.Pending()
		return len(rs) == n
	})
	return rs
}

// Request returns a request by its id, checked against its schema.
func (d *Daemon) Request(id string) Request {
	d.T.Helper()
	var doc json.RawMessage
	d.Get("/v1/requests/"+id, &doc)
	Valid(d.T, "PermissionRequest", doc)
	var r Request
	if err := json.Unmarshal(doc, &r); err != nil {
		d.T.Fatal(err)
	}
	return r
}

// Until waits until a request is as wanted, and returns it.
func (d *Daemon) Until(id, what string, ok func(Request) bool) Request {
	d.T.Helper()
	var r Request
	Eventually(d.T, 2*Soon, fmt.Sprintf("request %s %s", id, what), func() bool {
		r = d.Request(id)
		return ok(r)
	})
	return r
}

// Trace returns the records of a request, oldest first, without those that say who had it on the screen: see Screens.
func (d *Daemon) Trace(id string) []Record {
	d.T.Helper()
	return slices.DeleteFunc(d.recorded(id), func(r Record) bool { return r.Step == "shown" })
}

// Screens returns the records that say who had a request on the screen, oldest first.
func (d *Daemon) Screens(id string) []Record {
	d.T.Helper()
	return slices.DeleteFunc(d.recorded(id), func(r Record) bool { return r.Step != "shown" })
}

func (d *Daemon) recorded(id string) (rs []Record) {
	d.T.Helper()
	d.Get("/v1/requests/"+id+"/trace", &rs)
	return rs
}

// Steps names the steps of a trace, as in "asked decided delivered".
func Steps(rs []Record) string {
	var s []string
	for _, r := range rs {
		s = append(s, r.Step)
	}
	return strings.Join(s, " ")
}

// Step returns the record of a step, which must be there.
func (d *Daemon) Step(id, step string) Record {
	d.T.Helper()
	rs := d.Trace(id)
	for _, r := range rs {
		if r.Step == step {
			return r
		}
	}
	d.T.Fatalf("request %s has no record %q: %s", id, step, Steps(rs))
	return Record{}
}

// Decide answers a request as the owner; the broker must take it.
func (d *Daemon) Decide(r Request, dec Decision) {
	d.T.Helper()
	dec.InputSHA256 = r.InputSHA256
	Eventually(d.T, Soon, "the decision on "+r.ID+" is taken", func() bool {
		status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", dec)
		if err == nil && status == http.StatusServiceUnavailable { // a slow disk; it says so and waits on
			return false
		}
		if err != nil || status != http.StatusOK {
			d.T.Fatalf("decide %s: %d %s %v", r.ID, status, body, err)
		}
		return true
	})
	d.Until(r.ID, "is over", func(r Request) bool { return r.State != "pending" })
}

// Allow allows a request as the owner, as it is.
func (d *Daemon) Allow(r Request) { d.T.Helper(); d.Decide(r, Decision{Behavior: "allow"}) }

// Deny denies a request as the owner; words are for the model.
func (d *Daemon) Deny(r Request, words string) {
	d.T.Helper()
	d.Decide(r, Decision{Behavior: "deny", Message: words})
}
