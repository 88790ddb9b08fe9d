package history

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// TestMessages: the messages that the record has are listed by when they were sent, in pages, of a session or of all; and no more
// once they were forgotten.
func TestMessages(t *testing.T) {
	r := newRig(t)
	h := r.start()
	began := time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)
	r.event("one", "UserPromptSubmit", `"prompt":"ring the bell"`)
	for i, session := range []string{"one", "two", "one", "two", "one"} {
		at := began.Add(time.Duration(i) * time.Hour)
		rec := hook.Record{
			ID: uuid.NewString(), RequestID: hook.MessageRecord(fmt.Sprint("m", i)), Step: hook.MessageSent.RecordStep(), Time: at, By: &hook.Approver{Kind: hook.KindOwner},
			Message: &hook.MessageEntry{At: at, Sent: &hook.SentMessage{Agent: "a", SessionID: session, Kind: hook.MessagePrompt}},
		}
		after, err := again(func() (uint64, error) { return r.streams.Append(t.Context(), rec, 0) })
		if err != nil {
			t.Fatal(err)
		}
		rec.Step, rec.Message = hook.MessageTaken.RecordStep(), &hook.MessageEntry{N: 1, At: at}
		r.append(rec, after)
	}
	r.catchUp()
	ids := func(q hook.MessageQuery) string {
		t.Helper()
		list, err := h.Messages(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range list {
			got += m.ID + " " + m.SessionID + " " + m.SentAt.Format("15:04") + "\n"
		}
		return got
	}
	for _, c := range []struct {
		query hook.MessageQuery
		want  string
	}{
		{hook.MessageQuery{}, "msg-m4 one 09:00\nmsg-m3 two 08:00\nmsg-m2 one 07:00\nmsg-m1 two 06:00\nmsg-m0 one 05:00\n"},
		{hook.MessageQuery{Limit: 2}, "msg-m4 one 09:00\nmsg-m3 two 08:00\n"},
		{hook.MessageQuery{Limit: 2, After: "msg-m3"}, "msg-m2 one 07:00\nmsg-m1 two 06:00\n"},
		{hook.MessageQuery{Session: "two"}, "msg-m3 two 08:00\nmsg-m1 two 06:00\n"},
		{hook.MessageQuery{Session: "one", Since: began.Add(2 * time.Hour)}, "msg-m4 one 09:00\nmsg-m2 one 07:00\n"},
		{hook.MessageQuery{Session: "nobody"}, ""},
	} {
		if got := ids(c.query); got != c.want {
			t.Errorf("%+v:\n%swant\n%s", c.query, got, c.want)
		}
	}
	if _, err := h.Messages(t.Context(), hook.MessageQuery{After: "msg-m9"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("behind one that is not there: %v", err)
	}
	if err := h.Forget(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if got := ids(hook.MessageQuery{}); got != "msg-m3 two 08:00\nmsg-m1 two 06:00\n" {
		t.Errorf("one session was forgotten, and there are\n%s", got)
	}
}
