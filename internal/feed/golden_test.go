package feed_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"

	"assent/internal/agent/claude"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/schemas"
)

var update = flag.Bool("update", false, "write what the fold makes into testdata")

// step is one line of a script: an event or a record, or the question how the session stands.
type step struct {
	Event *struct {
		ID      string    `json:"id"`
		Type    string    `json:"type"`
		Seq     uint64    `json:"seq"`
		Time    time.Time `json:"time"`
		Spooled bool      `json:"spooled"`
		Raw     string    `json:"raw"`
	} `json:"event"`
	Record *hook.Record `json:"record"`
	Info   *time.Time   `json:"info"`
}

// in is what a step is to the fold.
type in struct {
	session string
	event   hook.Event
	payload hook.Payload
	detail  hook.Detail
	record  *hook.Record
	info    time.Time
}

func (i in) fold(s *feed.Session) []feed.Event {
	switch {
	case i.record != nil:
		return s.Record(*i.record)
	case i.info.IsZero():
		return s.Event(i.event, i.payload, i.detail)
	}
	return nil
}

// event is an input as the stream and the codec give it.
func event(e hook.Event) in {
	p, _ := claude.Agent{}.Decode(e.Type, e.Raw) // what is unreadable is the fold's to mark
	return in{session: feed.SessionID(p), event: e, payload: p, detail: claude.Agent{}.Detail(e.Type, e.Raw)}
}

// script reads the lines of a script. Records belong to the session that asked.
func script(t testing.TB, lines []byte) []in {
	t.Helper()
	var all []in
	asked := map[string]string{}
	last := feed.NoSession
	sc := bufio.NewScanner(bytes.NewReader(lines))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 || sc.Bytes()[0] == '#' {
			continue
		}
		var st step
		if err := json.Unmarshal(sc.Bytes(), &st); err != nil {
			t.Fatalf("line %d of the script: %v", n, err)
		}
		switch {
		case st.Event != nil:
			e := st.Event
			x := event(hook.Event{ID: e.ID, Type: e.Type, Agent: "claude", Seq: e.Seq, Time: e.Time, Spooled: e.Spooled, Raw: []byte(e.Raw)})
			last = x.session
			all = append(all, x)
		case st.Record != nil:
			r := *st.Record
			if r.Request != nil {
				asked[r.RequestID] = r.Request.SessionID
			}
			sid := asked[r.RequestID]
			if sid == "" {
				sid = last
			}
			all = append(all, in{session: sid, record: &r})
		case st.Info != nil:
			all = append(all, in{session: last, info: *st.Info})
		}
	}
	return all
}

// TestRecorded folds what a real client did, and what broken ones might, and compares with the
// feeds in testdata. Every event that comes out is what its schema says, and is safe to show.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 24 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := render(t, script(t, ar.Files[0].Data))
			if *update {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "feed", Data: got})
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(ar.Files) != 2 {
				t.Fatal("no feed in the script: run the test with -update and read what it wrote")
			}
			if d := diff.Diff("want", ar.Files[1].Data, "got", got); d != nil {
				t.Errorf("%s", d)
			}
		})
	}
}

// TestEventsForThePage writes the feeds of some scripts as the API gives them: the page's tests make
// transcripts of them.
func TestEventsForThePage(t *testing.T) {
	for _, name := range []string{"allow", "deny", "esc", "failure", "overruled", "parallel", "plan", "question", "subagents", "tasks", "terminal"} {
		t.Run(name, func(t *testing.T) {
			ar, err := txtar.ParseFile("testdata/recorded/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			sessions := map[string]*feed.Session{}
			for _, x := range script(t, ar.Files[0].Data) {
				if sessions[x.session] == nil {
					sessions[x.session] = feed.New(x.session)
				}
				for _, ev := range x.fold(sessions[x.session]) {
					ev.Raw = nil
					doc, err := json.Marshal(ev)
					if err != nil {
						t.Fatal(err)
					}
					b.Write(append(doc, '\n'))
				}
			}
			file := "testdata/events/" + name + ".jsonl"
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := diff.Diff("want", want, "got", b.Bytes()); d != nil {
				t.Errorf("write it with -update, and then the page's transcripts with UPDATE=1 npm test:\n%s", d)
			}
		})
	}
}

// render folds a script and writes the feeds for people to compare.
func render(t *testing.T, ins []in) []byte {
	t.Helper()
	var b bytes.Buffer
	sessions := map[string]*feed.Session{}
	var order []string
	var end time.Time
	for _, x := range ins {
		s := sessions[x.session]
		if s == nil {
			s = feed.New(x.session)
			sessions[x.session] = s
			order = append(order, x.session)
		}
		switch {
		case x.record != nil:
			fmt.Fprintf(&b, "record %s %s\n", x.record.Step, x.record.Outcome)
			end = x.record.Time
		case !x.info.IsZero():
			writeInfo(t, &b, s.Info(x.info))
			continue
		default:
			fmt.Fprintf(&b, "%s\n", x.event.Type)
			end = x.event.Time
		}
		for _, ev := range x.fold(s) {
			valid(t, ev)
			writeEvent(t, &b, ev)
		}
	}
	for _, id := range order {
		writeInfo(t, &b, sessions[id].Info(end.Add(61*time.Second)))
	}
	return b.Bytes()
}

func writeEvent(t *testing.T, b *bytes.Buffer, ev feed.Event) {
	id := strings.TrimPrefix(ev.EventID, ev.SessionID+":")
	parent := strings.TrimPrefix(ev.Cause.ParentEventID, ev.SessionID+":")
	fmt.Fprintf(b, "  %s %s %s by %s", id, ev.Kind, ev.Level, ev.ActorID)
	if parent != "" {
		fmt.Fprintf(b, " after %s", parent)
	}
	if ev.Cause.ToolUseID != "" {
		fmt.Fprintf(b, " of %s", ev.Cause.ToolUseID)
	}
	if ev.UI.Hidden {
		b.WriteString(" hidden")
	}
	if ev.UI.Badge != "" {
		fmt.Fprintf(b, " [%s]", ev.UI.Badge)
	}
	for _, m := range ev.Marks {
		fmt.Fprintf(b, " !%s", m)
	}
	fmt.Fprintf(b, "\n      %s\n", ev.Title)
	if ev.Body != "" {
		fmt.Fprintf(b, "      | %s\n", strings.ReplaceAll(ev.Body, "\n", "\n      | "))
	}
	data, err := json.Marshal(ev.Data)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 400 {
		data = append(data[:400:400], "…"...)
	}
	fmt.Fprintf(b, "      %s\n", data)
}

func writeInfo(t *testing.T, b *bytes.Buffer, in feed.Info) {
	doc, err := json.MarshalIndent(in, "  ", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]any{"Session": in.Session, "AgentState": in.State} {
		validate(t, name, part)
	}
	if in.CurrentRun != nil {
		validate(t, "Run", in.CurrentRun)
	}
	for _, a := range in.Actors {
		validate(t, "Actor", a)
	}
	for _, x := range in.Tasks {
		validate(t, "Task", x)
	}
	fmt.Fprintf(b, "info\n  %s\n", doc)
}

// valid holds an event against its schema, and its texts against what is safe to show.
func valid(t testing.TB, ev feed.Event) {
	t.Helper()
	validate(t, "feed/"+string(ev.Kind), ev)
	if strings.ContainsAny(ev.Title, "\n\r\t\x1b") || ev.Title == "" || len(ev.Title) > 4000 {
		t.Errorf("the title %q of %s", ev.Title, ev.EventID)
	}
}

func validate(t testing.TB, name string, v any) {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode a %s: %v", name, err)
	}
	if !utf8.Valid(doc) {
		t.Errorf("a %s is no UTF-8: %.2000q", name, doc)
	}
	if err := schemas.Validate(name, doc); err != nil {
		t.Errorf("%v in\n%.2000s", err, doc)
	}
}
