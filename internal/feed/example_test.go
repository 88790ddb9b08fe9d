package feed_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"assent/internal/feed"
	"assent/internal/hook"
	"assent/schemas"
)

// TestExamples: the examples beside the feed's schemas are events that the fold makes, of every
// kind there is. The first event of a kind is the example, the payload examples come first.
func TestExamples(t *testing.T) {
	made := map[string]any{}
	take := func(evs []feed.Event) {
		for _, ev := range evs {
			name := "feed/" + string(ev.Kind)
			if made[name] == nil && len(ev.Marks) == 0 {
				made[name] = ev
				if ev.Kind == feed.KindToolPre {
					made["feed/Base"], made["feed/Event"] = ev, ev
				}
			}
		}
	}
	at := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	payloads, err := filepath.Glob("../../schemas/examples/hooks/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range payloads {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if name == "Base" || strings.HasPrefix(name, "PostTool") {
			continue // a result needs its call: the recordings have those
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		x := event(hook.Event{ID: "e" + name, Type: name, Agent: "claude", Seq: uint64(i + 1), Time: at, Raw: raw})
		take(x.fold(feed.New(x.session)))
	}
	scripts, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sessions := map[string]*feed.Session{}
		for _, x := range script(t, ar.Files[0].Data) {
			if sessions[x.session] == nil {
				sessions[x.session] = feed.New(x.session)
			}
			s := sessions[x.session]
			take(x.fold(s))
			if made["feed/events.lost"] == nil {
				take(s.Lost(118))
			}
			in := s.Info(x.event.Time)
			if made["Run"] == nil && in.CurrentRun != nil && len(in.CurrentRun.Actors.SubagentIDs) > 0 {
				made["Run"], made["Session"], made["AgentState"], made["Actor"] = in.CurrentRun, in.Session, in.State, in.Actors[len(in.Actors)-1]
			}
			if made["Task"] == nil && len(in.Tasks) > 0 {
				made["Task"] = in.Tasks[0]
			}
		}
	}
	for _, name := range schemas.Names() {
		if strings.HasPrefix(name, "feed/") && made[name] == nil {
			t.Errorf("the fold never makes a %s", name)
		}
	}
	for name, v := range made {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var doc bytes.Buffer
		if err := json.Indent(&doc, b, "", "  "); err != nil {
			t.Fatal(err)
		}
		doc.WriteByte('\n')
		path := "../../schemas/examples/" + name + ".json"
		if *update {
			if err := os.WriteFile(path, doc.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(want, doc.Bytes()) {
			t.Errorf("%s is not what the fold makes (%v); go test -update writes it", path, err)
		}
	}
}
