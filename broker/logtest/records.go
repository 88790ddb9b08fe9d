package logtest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/hook"
)

// Asked is a complete asked record of a new request, for tests.
func Asked() hook.Record {
	id := uuid.NewString()
	now := time.Now().UTC().Truncate(time.Microsecond)
	return hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepAsked, Time: now,
		Request: &hook.Request{
			ID: id, SessionID: "session-1", CWD: "/home/dev/project", ToolName: "Bash",
			ToolInput:   hook.JSON(`{"command":"touch  x"}`),
			InputSHA256: "11", Agent: "claude", AgentID: "a1", AgentType: "general-purpose",
			Origin: hook.Origin{
				Host: "box", PID: 42, AgentLabel: "mine", ProjectDir: "/home/dev/project",
				Repo: hook.Repo{Root: "/home/dev/project", Branch: "main", Head: "abc", Remote: "git@x:y"},
			},
			CreatedAt: now, Deadline: now.Add(590 * time.Second), OnTimeout: hook.Deny,
			PermissionMode: "default", Suggestions: hook.JSON(`[{"type":"addRules"}]`),
			Uninspectable: "invalid UTF-8",
			Raw:           []byte("{\"tool_input\": {\"command\":\"touch  x\"}, \"odd\":\"\xff\"}\n"),
			PayloadSHA256: "22", EventSeq: 7, EventTime: now, CallKey: "Bash k",
			Channel: hook.ChannelRemote,
		},
	}
}

// Decided is a decided record for id.
func Decided(id string) hook.Record {
	return hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepDecided,
		Time:    time.Now().UTC().Truncate(time.Microsecond),
		Outcome: hook.Denied,
		By:      &hook.Approver{Kind: "token", ID: "t1", Name: "phone"},
		Decision: &hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: "11", Message: "not on a Friday",
			Interrupt: true, UpdatedInput: hook.JSON(`{"a":1}`), UpdatedPermissions: hook.JSON(`[]`), Shown: `{"risk": "calm"}`, SignedAt: "2026-11-22T10:00:00Z", Signature: "s",
			PublicKey: &hook.JWK{Kty: "EC", Crv: "P-256", X: "x", Y: "y"}},
	}
}

// Ended is an ended record for id.
func Ended(id string) hook.Record {
	return hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepEnded,
		Time:    time.Now().UTC().Truncate(time.Microsecond),
		Outcome: hook.Withdrawn, Reason: hook.ReasonToolRan, EventSeq: 9,
	}
}

// must appends until the log is there to take it: on a machine that is held up one passes for
// unavailable, and is back soon. What comes twice has one id, and is stored once.
func must(t *testing.T, l broker.Log, rec hook.Record, after uint64) uint64 {
	t.Helper()
	seq, err := l.Append(t.Context(), rec, after)
	for end := time.Now().Add(time.Minute); errors.Is(err, broker.ErrUnavailable) && time.Now().Before(end); {
		<-time.After(time.Millisecond)
		seq, err = l.Append(t.Context(), rec, after)
	}
	return appended(t, rec, after, seq, err)
}

func appended(t *testing.T, rec hook.Record, after, seq uint64, err error) uint64 {
	t.Helper()
	if err != nil {
		t.Fatalf("append %s after %d: %v", rec.Step, after, err)
	}
	if seq == 0 {
		t.Fatalf("append %s: sequence 0", rec.Step)
	}
	return seq
}

func requestAt(t *testing.T, l broker.Log) {
	first, second := Asked(), Asked()
	seqs := []uint64{must(t, l, first, 0), must(t, l, second, 0)}
	decided := must(t, l, Decided(first.RequestID), seqs[0])
	for seq, want := range map[uint64]string{seqs[0]: first.RequestID, seqs[1]: second.RequestID, decided: "", decided + 1: "", 1 << 60: ""} {
		got, err := l.RequestAt(t.Context(), seq)
		for n := 0; errors.Is(err, broker.ErrUnavailable) && n < 60; n++ {
			got, err = l.RequestAt(t.Context(), seq)
		}
		if got != want || err != nil {
			t.Errorf("the request at %d: %q, %v; want %q", seq, got, err, want)
		}
	}
}

func recordsOf(t *testing.T, l broker.Log, id string) []hook.Record {
	t.Helper()
	recs, err := l.Records(t.Context(), id)
	// On a machine that is held up a log may have no time to answer.
	for n := 0; errors.Is(err, broker.ErrUnavailable) && n < 60; n++ {
		recs, err = l.Records(t.Context(), id)
	}
	if err != nil {
		t.Fatalf("records of %s: %v", id, err)
	}
	return recs
}

// sameRecord compares all but the representation of times and After, which the log sets.
func sameRecord(a, b hook.Record) bool {
	return reflect.DeepEqual(plain(a), plain(b))
}

func plain(r hook.Record) hook.Record {
	r.Time = r.Time.UTC().Round(0)
	r.After = 0
	if r.Request != nil {
		q := *r.Request
		q.CreatedAt, q.Deadline, q.EventTime = q.CreatedAt.UTC().Round(0), q.Deadline.UTC().Round(0), q.EventTime.UTC().Round(0)
		r.Request = &q
	}
	return r
}
