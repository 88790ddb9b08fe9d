package stream_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"assent/broker"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/store/stream"
)

// TestRecordsOfEarlierVersions opens what a version before marks, submitters and secrets wrote,
// message by message: what was decided then is what is told now, credentials count, and hooks that
// wait come back and are answered.
func TestRecordsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/before-marks.json")
	if err != nil {
		t.Fatal(err)
	}
	var was struct {
		Token    string
		Messages []struct {
			Subject string
			Header  nats.Header
			Body    string
		}
	}
	if err := json.Unmarshal(text, &was); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	s, err := stream.Open(ctx, stream.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, m := range was.Messages {
		if err := stream.PublishAsIs(ctx, s, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: []byte(m.Body)}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := auth.Open(ctx, auth.Config{KV: s, NoOwnerToken: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if p, err := a.Authenticate(was.Token); err != nil || p.Role != auth.RoleApprove || p.Approver.Name != "phone" {
		t.Errorf("its token: %+v, %v", p, err)
	}
	b, err := broker.New(ctx, broker.Config{Log: s, SingleReplica: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	id := func(n string) string { return "00000000-0000-4000-8000-00000000000" + n }
	for n, want := range map[string]struct {
		command, state, outcome, reason, delivery, by string
	}{
		"1": {"ls -la <dir>", broker.Ended, "allowed", "", broker.Confirmed, "phone"},
		"2": {"rm -rf build", broker.Ended, "denied", broker.ReasonOverruled, broker.Overruled, "phone"},
		"3": {"make", broker.Ended, "allowed", "", broker.Recorded, "phone"},
		"4": {"sleep 1", broker.Ended, "withdrawn", hook.ReasonHangup, "", ""},
		"5": {"date", broker.Ended, "expired", hook.ReasonDeadline, "", ""},
		"6": {"", broker.Ended, "handed_back", hook.ReasonTooLarge, "", ""},
		"7": {"git push", broker.Pending, "", "", "", ""},
		"8": {"git fetch", broker.Pending, "", "", "", ""},
	} {
		v, err := b.Get(ctx, id(n))
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		var input struct{ Command string }
		_ = json.Unmarshal(v.ToolInput, &input)
		by := ""
		if v.DecidedBy != nil {
			by = v.DecidedBy.Name
		}
		if input.Command != want.command || v.State != want.state || string(v.Outcome) != want.outcome || v.Reason != want.reason || v.Delivery != want.delivery || by != want.by {
			t.Errorf("%s: %q %s %s %q %q by %q, want %+v", n, input.Command, v.State, v.Outcome, v.Reason, v.Delivery, by, want)
		}
	}
	if v, _ := b.Get(ctx, id("3")); v.Decision == nil || string(v.Decision.UpdatedInput) != `{ "command": "make test" }` {
		t.Errorf("what was allowed instead: %+v", v.Decision)
	}
	if v, _ := b.Get(ctx, id("9")); v.Uninspectable == "" || len(v.Raw) == 0 {
		t.Errorf("what could not be inspected: %+v", v)
	}
	ended, err := b.Ended(ctx, 0, 100)
	if err != nil || len(ended) != 6 {
		t.Errorf("%d ended, %v", len(ended), err)
	}
	// Its hooks knew no secrets. They come back, whatever the clock says by now.
	for _, n := range []string{"7", "8"} {
		v, err := b.Get(ctx, id(n))
		if err != nil {
			t.Fatal(err)
		}
		again := v.Request
		again.Submitter, again.CreatedAt, again.Deadline = "user:1000@box", time.Now(), time.Now().Add(500*time.Second)
		w, err := b.Ask(again)
		if err != nil {
			t.Errorf("%s comes back: %v", n, err)
			continue
		}
		d := hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: v.InputSHA256, Message: n}
		if _, err := b.Decide(ctx, id(n), d, hook.Approver{Kind: "device", Name: "phone"}); err != nil {
			t.Errorf("%s is decided: %v", n, err)
		}
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		if a, err := w.Wait(wait); err != nil || a.Outcome != hook.Denied || a.Decision.Message != n {
			t.Errorf("%s is answered: %+v, %v", n, a, err)
		}
		cancel()
	}
}
