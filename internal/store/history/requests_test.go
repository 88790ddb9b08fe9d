package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
	"assent/internal/text/digest"
)

// What a record says of a request stands in the file in the same way whether its row was written before or is of the
// same transaction: however the steps are divided into transactions, the file and what counts as allowed are the same.
func TestBatches(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t)
	requests := 0
	for i := range 3 {
		r.agent(rnd, fmt.Sprintf("session-%d", i), 6)
	}
	ask := func(tool, input string) (id string, at uint64) {
		requests++
		id = uuid.NewString()
		session := fmt.Sprintf("session-%d", rnd.IntN(3))
		raw := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"PermissionRequest","tool_name":%q,"tool_input":%s}`, session, tool, input)
		seq := r.publish(hook.Event{ID: id, Type: "PermissionRequest", Raw: raw})
		return id, r.append(hook.Record{RequestID: id, Step: hook.StepAsked, Request: &hook.Request{
			ID: id, SessionID: session, ToolName: tool, ToolInput: hook.JSON(input), InputSHA256: digest.Of([]byte(input)), Agent: "claude", Raw: raw, CWD: "/srv/shop",
			CreatedAt: time.Now(), EventSeq: seq, EventTime: time.Now(), Origin: hook.Origin{Attended: []string{"", hook.AttendedNo}[rnd.IntN(2)]},
		}}, 0)
	}
	person := &hook.Approver{Kind: hook.KindDevice, ID: "a", Name: "phone", Verified: true}
	command, questions := `{"command":"npm test"}`, `{"questions":[{"question":"Which?"},{"question":"When?"}]}`
	for range 3 {
		for _, c := range []struct{ tool, input, allowed string }{
			{"Bash", command, ""},
			{"Bash", command, `{"command":"npm run \u0000 LINT"}`},
			{"ExitPlanMode", `{"plan":"# Mend it\nfirst"}`, `{"plan":"# Mend it well\nsecond"}`},
			{"AskUserQuestion", questions, `{"questions":[{"question":"Which?"},{"question":"When?"}],"answers":{"When?":"now","Which?":"Blue"}}`},
		} {
			id, at := ask(c.tool, c.input)
			if rnd.IntN(2) == 0 { // so that something stands between
				r.event("session-0", "Notification", `"message":"waits for you"`)
			}
			decided := hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: hook.Allowed, Decision: &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(c.allowed)}, By: person}
			at = r.append(decided, at)
			r.append(hook.Record{RequestID: id, Step: hook.StepDelivered}, at)
		}
	}
	// A second end, whatever the stream may say, changes nothing.
	id, at := ask("Bash", command)
	at = r.append(hook.Record{RequestID: id, Step: hook.StepEnded, Outcome: hook.Expired}, at)
	edited := func(command string) *hook.Decision {
		return &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: fmt.Appendf(nil, `{"command":%q}`, command)}
	}
	r.append(hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: hook.Allowed, Decision: edited("one"), By: person}, at)
	id, at = ask("Bash", command)
	for _, command := range []string{"two", "three"} {
		at = r.append(hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: hook.Allowed, Decision: edited(command), By: person}, at)
	}

	var want []string
	var counted map[allowedKey]int
	for _, steps := range []int{1, batchSteps, 2, 3, 7, 1 + rnd.IntN(30)} {
		r.cfg.batchSteps = steps
		h := r.start()
		r.catchUp()
		h.allowed.mu.Lock()
		counts := maps.Clone(h.allowed.n)
		h.allowed.mu.Unlock()
		r.halt()
		got := r.dump()
		r.removeFile()
		if want == nil { // each row is written before it changes
			if want, counted = got, counts; len(want) < 10*requests || len(counted) == 0 {
				t.Fatalf("%d rows of %d requests, and what counts is %v", len(want), requests, counted)
			}
			continue
		}
		sameRows(t, got, want)
		if !maps.Equal(counts, counted) {
			t.Errorf("%d steps at a time: %v counts as allowed, one by one %v", steps, counts, counted)
		}
	}
}
