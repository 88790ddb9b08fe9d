package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
)

// Every payload of a real agent that is known is an event of the feed that is known and whole, and its bytes
// stay as they are.
func TestFeedOfPayloads(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/golden.json")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, file := range dirs {
		name := filepath.Base(filepath.Dir(file))
		var g golden
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &g)
		}
		if err != nil {
			t.Fatal(err)
		}
		for payload, want := range g.Decode {
			t.Run(name+"/"+payload, func(t *testing.T) {
				raw, err := os.ReadFile(filepath.Join("testdata", name, payload))
				if err != nil {
					t.Fatal(err)
				}
				before := bytes.Clone(raw)
				native := ""
				if !strings.Contains(string(raw), "hook_event_name") {
					native = want.NativeEvent
				}
				a := Reader(name)
				p, err := a.Decode(native, raw)
				if err != nil {
					t.Fatal(err)
				}
				e := hook.Event{ID: fmt.Sprint(name, payload), Type: p.Type, Agent: name, Seq: 1, Time: time.Unix(1e9, 0).UTC(), Raw: raw}
				got := feed.New(feed.SessionID(p)).Event(e, p, a.Detail(native, raw))
				if len(got) == 0 {
					t.Fatal("nothing in the feed")
				}
				for _, x := range got {
					odd := slices.Contains(x.Marks, feed.MarkUnreadable) || slices.Contains(x.Marks, feed.MarkAmbiguous) || slices.Contains(x.Marks, feed.MarkNoSession)
					if x.Kind == feed.KindUnknownHook || odd {
						t.Errorf("%+v", x)
					}
				}
				if !bytes.Equal(raw, before) {
					t.Error("the payload was changed")
				}
			})
		}
	}
}
