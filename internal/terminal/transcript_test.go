package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"assent/internal/feed"
)

// plainRows is a transcript as the page's test writes it, a line for each row.
func plainRows(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		if r.Sub {
			b.WriteString("  ")
		}
		switch r.Kind {
		case RowCall:
			b.WriteString("[" + string(r.Mark) + "] " + r.Tool + " " + r.What)
			var answers []string
			for _, a := range r.Answers {
				answers = append(answers, a.Question+" -> "+a.Answer)
			}
			edited := ""
			if r.Difference != "" {
				edited = "edited"
			}
			var parts []string
			for _, p := range []string{r.Answer, r.Why, strings.Join(answers, "; "), edited, strings.Join(r.Odd, " ")} {
				if p != "" {
					parts = append(parts, p)
				}
			}
			if len(parts) > 0 {
				b.WriteString(" (" + strings.Join(parts, "; ") + ")")
			}
		case RowPrompt:
			b.WriteString("> ")
			if r.From != "" {
				b.WriteString(r.From + ": ")
			}
			b.WriteString(r.Text)
		case RowWords:
			b.WriteString(`" ` + r.Text)
		case RowEnd:
			b.WriteString("-- " + r.Text)
		default:
			b.WriteString(r.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// eventsOf are the events of a feed that a real client made.
func eventsOf(t *testing.T, file string) (events []*feed.Event) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := new(feed.Event)
		if err := json.Unmarshal(lines.Bytes(), e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// The terminal reads a session as the page does: the page's own tests hold the same files.
func TestTranscriptIsThePages(t *testing.T) {
	files, err := filepath.Glob("../feed/testdata/events/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile("../../web/src/story/testdata/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			s := NewTranscript()
			for _, e := range eventsOf(t, file) {
				s.Take(e)
			}
			if got := plainRows(s.Rows(true)); got != string(want) {
				t.Errorf("it reads\n%swant\n%s", got, want)
			}
			if s.Waits() != 0 {
				t.Errorf("%d rows stay", s.Waits())
			}
		})
	}
}

// story is a feed that a test makes.
type story struct {
	t   *testing.T
	s   *Transcript
	pos int
}

// event takes an event of one run, a second later than the last, and returns its id.
func (s *story) event(kind feed.Kind, data string, more ...string) string {
	s.t.Helper()
	s.pos++
	doc := map[string]any{
		"event_id": fmt.Sprintf("E%d", s.pos), "pos": s.pos, "seq": s.pos, "ts": s.pos * 1000, "session_id": "s", "run_id": "R", "kind": kind,
		"level": "info", "actor_id": "agent:root", "title": "● Bash(make)", "data": json.RawMessage(data),
	}
	for i := 0; i < len(more); i += 2 {
		if doc[more[i]] = more[i+1]; more[i] == "cause" {
			doc["cause"] = map[string]any{"parent_event_id": more[i+1]}
		}
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		s.t.Fatal(err)
	}
	e := new(feed.Event)
	if err := json.Unmarshal(raw, e); err != nil {
		s.t.Fatal(err)
	}
	s.s.Take(e)
	return doc["event_id"].(string)
}

// wants are the rows that are new, as they read in a terminal, without their times.
func (s *story) wants(what string, want ...string) {
	s.t.Helper()
	var got []string
	for _, r := range s.s.Rows(false) {
		for _, l := range r.Lines(0) {
			if l = Plain(l); len(l) > rowMargin {
				l = l[rowMargin:]
			}
			if strings.TrimSpace(l) != "" {
				got = append(got, l)
			}
		}
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

const makeCall = `{"tool_name":"Bash","tool_input":{"command":"make"}}`

// While it is followed a call stands once when it waits, and once when it is over, however that ends.
func TestTranscriptThatIsFollowed(t *testing.T) {
	s := &story{t: t, s: NewTranscript()}
	pre := s.event("tool.pre", makeCall)
	s.wants("while it runs")
	asked := s.event("permission.request", makeCall, "title", "⚠ Permission: Bash(make)", "cause", pre)
	s.wants("while it waits", "? Bash  make  · waits for an answer")
	s.event("message", `{"message_id":"m","index":0,"final":false,"delta":"Still "}`)
	s.event("message", `{"message_id":"m","index":1,"final":true,"delta":"here."}`)
	s.wants("beside it", "Still here.")
	s.event("permission.decision", `{"decision_type":"allow","by":{"kind":"device","name":"iPhone"}}`, "cause", asked)
	s.wants("allowed, and not over")
	s.event("tool.failure", `{"tool_name":"Bash","tool_input":{"command":"make"},"error":"Exit code 2\n\u001b[2Jno rule","duration_ms":61000}`, "cause", pre)
	s.wants("over", "✗ Bash  make  · allowed on “iPhone” · failed, 1 min 1 s: Exit code 2", "  ⟦U+001B⟧[2Jno rule")
	s.event("run.end", `{"status":"failed","counters":{}}`, "title", "■ Failed: 1 tool call")
	s.wants("its end", "■ Failed: 1 tool call")

	asked = s.event("permission.request", makeCall, "title", "⚠ Permission: Bash(make)")
	denied := s.event("permission.decision", `{"decision_type":"deny","message":"not now","by":{"kind":"owner-cli"}}`, "cause", asked)
	s.wants("denied", "⊘ Bash  make  · denied from the terminal: not now")
	s.event("permission.overruled", `{}`, "cause", denied)
	s.wants("overruled after that", "‼ Bash  make  · denied from the terminal · ran all the same: overruled in the terminal")

	asked = s.event("permission.request", makeCall, "title", "⚠ Permission: Bash(make)")
	s.event("permission.decision", `{"decision_type":"allow","edited":true,"updated_input":{"command":"make -n\u202e"},"by":{"kind":"device","name":"the rule x"}}`,
		"cause", asked, "body", "command (changed)\n- make\n+ make -n")
	s.event("tool.post", `{"tool_name":"Bash","tool_input":{"command":"make -n\u202e"},"tool_response":{}}`)
	s.wants("edited", "✓ Bash  make -n⟦U+202E⟧  · allowed as edited on “the rule x” · ran, 1 s", "  command (changed)", "  - make", "  + make -n")

	asked = s.event("permission.request", makeCall, "title", "⚠ Permission: Bash(make)")
	contained := s.event("permission.decision", `{"decision_type":"allow","contained":"read","updated_input":{"command":"'/bin/assent-contain' read -- 'make'"},"by":{"kind":"rule","id":"x","name":"x"}}`, "cause", asked)
	s.event("permission.overruled", `{"contained":"read"}`, "cause", contained)
	s.wants("contained, and overruled", "‼ Bash  make  · allowed contained by the rule x · ran all the same: overruled in the terminal: it was allowed to run contained")

	s.event("user.prompt", `{"prompt":"<x>do it</x>","cwd":"/","source":"session_message","from":"ci","summary":"do it"}`)
	s.wants("another session's prompt", "❯ from ci: do it")
}

// Two equal calls and a result without a cause: nobody can say which of them it ended.
func TestTranscriptDoesNotGuess(t *testing.T) {
	s := &story{t: t, s: NewTranscript()}
	result := `{"tool_name":"Bash","tool_input":{ "command": "make" },"tool_response":{}}`
	s.event("tool.pre", makeCall)
	s.event("tool.post", result)
	s.wants("one", "✓ Bash  make  · ran, 1 s")
	s.event("tool.pre", makeCall)
	s.event("tool.pre", makeCall)
	s.event("tool.post", result)
	if got := plainRows(s.s.Rows(true)); got != "[running] Bash make\n[running] Bash make\n[ran] Bash make\n" {
		t.Errorf("two: %s", got)
	}
}

// However long a session is, a transcript of it that is read as it grows stays small, and hostile text stays
// what can be seen.
func TestTranscriptIsBounded(t *testing.T) {
	s := &story{t: t, s: NewTranscript()}
	hostile := `"x\u001b]0;title\u0007\u009b2J\u202e\nend"`
	for i := range 3 * maxCalls {
		s.event("user.prompt", `{"prompt":`+hostile+`,"cwd":"/"}`, "run_id", fmt.Sprint(i))
		s.event("message", fmt.Sprintf(`{"message_id":"m%d","index":0,"final":true,"delta":%s}`, i, hostile))
		pre := s.event("tool.pre", `{"tool_name":"T","tool_input":{}}`)
		s.event("tool.failure", `{"tool_name":"T","tool_input":{},"error":`+hostile+`}`, "cause", pre)
		for _, r := range s.s.Rows(false) {
			for _, l := range r.Lines(40) {
				for _, c := range Plain(l) {
					if unicode.In(c, unicode.Cc, unicode.Cf) {
						t.Fatalf("%U in %q", c, l)
					}
				}
			}
		}
	}
	x := s.s
	if n := len(x.byEvent); n > 2*maxCalls || len(x.calls) > maxCalls || len(x.pieces) > maxPieces || len(x.busy) > maxPieces || len(x.said) > 1 || x.Waits() != 0 {
		t.Errorf("%d ids, %d calls, %d pieces, %d runs, %d words, %d rows", n, len(x.calls), len(x.pieces), len(x.busy), len(x.said), x.Waits())
	}
}
