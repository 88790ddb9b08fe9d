package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// socketClient speaks HTTP over the hook socket, as many hooks at once.
func (d *daemon) socketClient() *http.Client {
	tr := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", d.socket)
		},
		DisableKeepAlives: true,
	}
	d.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// postHook asks as the hook client does: while the broker says 503 it comes back, with the same
// id.
func postHook(ctx context.Context, client *http.Client, body []byte) (status int, answer string, err error) {
	id := uuid.NewString()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for attempt, end := 1, time.Now().Add(3*soon); ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, "POST", "http://assent/v1/hooks", bytes.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		req.Header.Set("Assent-Request-Id", id)
		req.Header.Set("Assent-Attempt", strconv.Itoa(attempt))
		res, err := client.Do(req)
		if err != nil {
			return 0, "", err
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		switch late := time.Now().After(end); {
		case attempt > 1 && res.StatusCode == http.StatusNoContent && !late:
			// What was sent away was recorded after all, and handed back, as nobody waited for it any more.
			id, attempt = uuid.NewString(), 0
		case res.StatusCode != http.StatusServiceUnavailable || late:
			return res.StatusCode, string(b), err
		}
		<-tick.C
	}
}

func TestApproversRaceAndEachRequestHasOneWinner(t *testing.T) {
	const approvers, requests = 8, 1000
	d := serve(t)
	var tokens [approvers]string
	for i := range tokens {
		tokens[i] = d.createToken("approve", fmt.Sprintf("approver-%d", i))
	}

	// The hooks: each gets one answer.
	client := d.socketClient()
	answers := make([]string, requests)
	var hooks sync.WaitGroup
	for i := range requests {
		hooks.Go(func() {
			body := bash(fmt.Sprintf("s%d", i%10), fmt.Sprintf("echo %d", i))
			status, answer, err := postHook(t.Context(), client, body)
			if err != nil || status != http.StatusOK {
				t.Errorf("hook %d: %d %s %v", i, status, answer, err)
			}
			answers[i] = answer
		})
	}
	rs := d.waitPending(requests)
	if t.Failed() {
		t.FailNow()
	}

	// The race: every approver answers every request, all in the same order. The words of a
	// denial name its approver and its request.
	type vote struct {
		status  int
		problem struct {
			Outcome   string    `json:"outcome"`
			Reason    string    `json:"reason"`
			DecidedBy *approver `json:"decidedBy"`
		}
	}
	votes := make([][approvers]vote, requests)
	var wg sync.WaitGroup
	for a := range approvers {
		wg.Go(func() {
			for i, r := range rs {
				words := fmt.Sprintf("approver-%d on %s", a, r.ID)
				status, body, err := d.as(tokens[a], "POST", "/v1/requests/"+r.ID+"/decision",
					decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: words})
				if err != nil {
					t.Errorf("approver %d on %s: %v", a, r.ID, err)
					return
				}
				v := &votes[i][a]
				v.status = status
				if status == http.StatusConflict {
					if err := json.Unmarshal(body, &v.problem); err != nil {
						t.Errorf("%s: %v", body, err)
					}
				}
			}
		})
	}
	wg.Wait()
	hooks.Wait()

	for i, r := range rs {
		winner := -1
		for a, v := range votes[i] {
			switch {
			case v.status == http.StatusOK && winner < 0:
				winner = a
			case v.status == http.StatusOK:
				t.Errorf("%s: both approver %d and %d won", r.ID, winner, a)
			case v.status != http.StatusConflict:
				t.Errorf("%s: approver %d got %d", r.ID, a, v.status)
			}
		}
		if winner < 0 {
			t.Errorf("%s: nobody won", r.ID)
			continue
		}
		name := fmt.Sprintf("approver-%d", winner)
		for a, v := range votes[i] {
			if a != winner && (v.problem.DecidedBy == nil || v.problem.DecidedBy.Name != name || v.problem.Outcome != "denied" || v.problem.Reason != "ended") {
				t.Errorf("%s: approver %d was told %+v, want that %s won", r.ID, a, v.problem, name)
			}
		}
		var input struct {
			Command string `json:"command"`
		}
		var n int
		if err := json.Unmarshal(r.ToolInput, &input); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(input.Command, "echo %d", &n); err != nil {
			t.Fatal(err)
		}
		if want := name + " on " + r.ID; !strings.Contains(answers[n], want) {
			t.Errorf("hook %d was told %s, want %q", n, answers[n], want)
		}
	}
	if left := d.pending(); len(left) != 0 {
		t.Errorf("%d requests are still pending", len(left))
	}
}
