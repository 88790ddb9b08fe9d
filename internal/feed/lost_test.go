package feed_test

import (
	"encoding/json"
	"testing"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
)

func TestLost(t *testing.T) {
	s := feed.New("s")
	if evs := s.Lost(3); len(evs) != 0 {
		t.Fatalf("a session without a feed has lost %v", evs)
	}
	e := hook.Event{ID: "1", Type: "Stop", Seq: 7, Time: time.UnixMilli(1_790_000_000_000)}
	before := s.Event(e, hook.Payload{SessionID: "s"}, hook.Detail{})
	evs := s.Lost(3)
	if len(evs) != 1 {
		t.Fatalf("%d events, want 1", len(evs))
	}
	valid(t, evs[0])
	last := before[len(before)-1]
	if ev := evs[0]; ev.Kind != feed.KindEventsLost || ev.Pos != last.Pos+1 || ev.RunID != last.RunID || ev.Level != feed.LevelWarn {
		t.Errorf("%+v after %+v", ev, last)
	}
	var back feed.Event
	text, _ := json.Marshal(evs[0])
	if err := json.Unmarshal(text, &back); err != nil || back.Data.(*feed.EventsLostData).Count != 3 {
		t.Errorf("read back %+v, %v", back.Data, err)
	}
}
