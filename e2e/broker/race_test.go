package broker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"assent/e2e/rig"
)

func TestApproversRaceAndEachRequestHasOneWinner(t *testing.T) {
	const approvers, requests = 8, 1000
	d := rig.Serve(t)
	var tokens [approvers]string
	for i := range tokens {
		tokens[i] = d.CreateToken("approve", fmt.Sprintf("approver-%d", i))
	}

	// The hooks: each gets one answer.
	client := d.SocketClient()
	answers := make([]string, requests)
	var hooks sync.WaitGroup
	for i := range requests {
		hooks.Go(func() {
			body := rig.Bash(fmt.Sprintf("s%d", i%10), fmt.Sprintf("echo %d", i))
			status, answer, err := rig.PostHook(t.Context(), client, body)
			if err != nil || status != http.StatusOK {
				t.Errorf("hook %d: %d %s %v", i, status, answer, err)
			}
			answers[i] = answer
		})
	}
	rs := d.WaitPending(requests)
	if t.Failed() {
		t.FailNow()
	}

	// The race: every approver answers every request, all in the same order. The words of a
	// denial name its approver and its request.
	type vote struct {
		status  int
		problem struct {
			Outcome   string        `json:"outcome"`
			Reason    string        `json:"reason"`
			DecidedBy *rig.Approver `json:"decidedBy"`
		}
	}
	votes := make([][approvers]vote, requests)
	var wg sync.WaitGroup
	for a := range approvers {
		wg.Go(func() {
			for i, r := range rs {
				words := fmt.Sprintf("approver-%d on %s", a, r.ID)
				v := &votes[i][a]
				unknown := false // whether the broker could not say, on a busy machine, what became of an attempt
				for range 20 {
					status, body, err := d.As(tokens[a], "POST", "/v1/requests/"+r.ID+"/decision",
						rig.Decision{Behavior: "deny", InputSHA256: r.InputSHA256, Message: words})
					if err != nil {
						t.Errorf("approver %d on %s: %v", a, r.ID, err)
						return
					}
					if v.status = status; status == http.StatusServiceUnavailable {
						unknown = true
						continue
					}
					if status == http.StatusConflict {
						if err := json.Unmarshal(body, &v.problem); err != nil {
							t.Errorf("%s: %v", body, err)
						}
						if by := v.problem.DecidedBy; unknown && by != nil && by.Name == fmt.Sprintf("approver-%d", a) {
							v.status = http.StatusOK // it was the attempt before
						}
					}
					break
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
	if left := d.Pending(); len(left) != 0 {
		t.Errorf("%d requests are still pending", len(left))
	}
}
