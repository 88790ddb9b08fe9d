package intake_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
	"assent/internal/intake"
	"assent/internal/reqcontext"
)

func prompted(text string) string {
	return mustJSON(map[string]any{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": text})
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// about is the context of a request that waits.
func (r *rig) about(s *reqcontext.Store, id string) hook.Context {
	r.t.Helper()
	v, err := r.b.Get(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	c := s.Whole(&v)
	if c == nil {
		r.t.Fatalf("no context of a request that is %s", v.State)
	}
	return *c
}

// The current prompt is the newest that a person or another session sent, and says whose it is.
func TestPrompt(t *testing.T) {
	long := strings.Repeat("word ", 200)
	task := "<task-notification>\n<task-id>a</task-id>\n<summary>done</summary>\n</task-notification>"
	session := "<cross-session-message from=\"uds:/x\" from-name=\"phone\u202e\" from-mode=\"prompting\">\ndo it\n</cross-session-message>"
	type sent struct {
		text, attended, submitter string
		spooled                   bool
	}
	mine := func(texts ...string) (all []sent) {
		for _, text := range texts {
			all = append(all, sent{text: text, attended: hook.AttendedYes, submitter: "user:1@x"})
		}
		return all
	}
	for _, c := range []struct {
		name string
		sent []sent
		want hook.Context // of which the time is left out
	}{
		{"none", nil, hook.Context{}},
		{"a person's", mine("fix the test"), hook.Context{Prompt: "fix the test", PromptFrom: hook.PromptYou}},
		{"the newest", mine("fix the test", "now\npush it"), hook.Context{Prompt: "now⏎push it", PromptFrom: hook.PromptYou}},
		{"hostile", mine("a\u202eb\x1b[2J"), hook.Context{Prompt: "a⟦U+202E⟧b⟦U+001B⟧[2J", PromptFrom: hook.PromptYou}},
		{"long", mine(long), hook.Context{Prompt: strings.TrimRight(long[:499], " ") + "…", PromptCut: true, PromptFrom: hook.PromptYou}},
		{"of another session", mine("fix the test", session), hook.Context{Prompt: "do it", PromptFrom: hook.PromptSession, PromptSender: "phone⟦U+202E⟧"}},
		{"with another session's in it", mine("see: " + session), hook.Context{Prompt: "see: " + strings.ReplaceAll(strings.ReplaceAll(session, "\n", "⏎"), "\u202e", "⟦U+202E⟧"), PromptFrom: hook.PromptSession}},
		{"a teammate's", mine("<Teammate-Message teammate_id=\"a\">x</teammate-message>"), hook.Context{Prompt: "<Teammate-Message teammate_id=\"a\">x</teammate-message>", PromptFrom: hook.PromptSession}},
		{"the end of a task is none", mine("fix the test", task), hook.Context{Prompt: "fix the test", PromptFrom: hook.PromptYou}},
		{"of a run without a terminal", []sent{{text: "fix", attended: hook.AttendedNo, submitter: "user:1@x"}}, hook.Context{Prompt: "fix", PromptFrom: hook.PromptProgram}},
		{"another submitter's", append(mine("fix"), sent{text: "never mind", submitter: "token:evil"}), hook.Context{Prompt: "fix", PromptFrom: hook.PromptYou}},
		{"one that came late", append(mine("fix"), sent{text: "old", submitter: "user:1@x", spooled: true}), hook.Context{Prompt: "fix", PromptFrom: hook.PromptYou}},
		{"an empty one", mine("fix", ""), hook.Context{Prompt: "fix", PromptFrom: hook.PromptYou}},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := reqcontext.New(0)
			inBubble(t, intake.Config{Contexts: told}, func(t *testing.T, r *rig) {
				for _, s := range c.sent {
					a := arrival(prompted(s.text))
					a.Event.Origin.Attended, a.Event.Submitter, a.Event.Spooled = s.attended, s.submitter, s.spooled
					if _, err := r.in.Handle(t.Context(), a); err != nil {
						t.Fatal(err)
					}
				}
				p := r.pending(arrival(payload("PermissionRequest", "Bash")))
				defer p.Close()
				got := r.about(told, p.ID())
				if (got.Prompt != "") != !got.PromptAt.IsZero() {
					t.Errorf("at %v", got.PromptAt)
				}
				got.PromptAt, got.SaidWhy = time.Time{}, ""
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("%+v\nwant %+v", got, c.want)
				}
			})
		})
	}
}

// The prompts of a session that began before the broker are looked up once, and forgotten with it. Another's
// session of the same name says nothing about this one, whatever way its hooks come.
func TestPastPrompts(t *testing.T) {
	told := reqcontext.New(0)
	looked := 0
	past := func(_ context.Context, session string, wait bool, each func(hook.Event) bool) bool {
		if looked++; wait {
			t.Error("a new request waits for history")
		}
		for _, e := range []struct{ from, text string }{
			{"user:2@x", "theirs"}, {"", "of an earlier version"}, {"user:1@x", "<task-notification>x</task-notification>"},
			{"user:1@x", "fix the test"}, {"token:t", "from afar"}, {"user:1@x", "older"},
		} {
			if !each(hook.Event{Type: hook.EventUserPromptSubmit, Submitter: e.from, Time: time.Now(), Raw: []byte(prompted(e.text))}) {
				break
			}
		}
		return true
	}
	inBubble(t, intake.Config{Contexts: told, PastPrompts: past}, func(t *testing.T, r *rig) {
		ask := func() hook.Context {
			p := r.pending(arrival(payload("PermissionRequest", "Bash")))
			defer p.Close()
			return r.about(told, p.ID())
		}
		if c := ask(); c.Prompt != "fix the test" || c.PromptFrom != hook.PromptYou {
			t.Errorf("%+v", c)
		}
		if ask(); looked != 1 {
			t.Errorf("looked up %d times", looked)
		}
		if r.in.Forget("s"); ask().Prompt == "" || looked != 2 {
			t.Errorf("looked up %d times", looked)
		}
		for from, want := range map[string]string{"token:t": "from afar", "token:other": ""} {
			a := arrival(payload("PermissionRequest", "Bash"))
			a.Event.Submitter, a.Channel = from, hook.ChannelRemote
			p := r.pending(a)
			if c := r.about(told, p.ID()); c.Prompt != want {
				t.Errorf("%s: %+v", from, c)
			}
			p.Close()
		}
	})
}

const transcript = `{"type":"user","message":{"content":"fix"}}` + "\n" + `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I push\u202e it."}]}}` + "\n"

// What the agent said comes with its request, and with no other event; else there is a reason.
func TestSaid(t *testing.T) {
	for _, c := range []struct {
		name    string
		payload string
		tail    string
		why     string
		want    hook.Context
	}{
		{"words", payload("PermissionRequest", "Bash"), transcript, "", hook.Context{Said: "I push⟦U+202E⟧ it.", SaidBy: hook.SaidByAgent}},
		{"a subagent's", strings.Replace(payload("PermissionRequest", "Bash"), "{", `{"agent_id":"a",`, 1), strings.ReplaceAll(transcript, `{"type":"`+"a", `{"isSidechain":true,"type":"`+"a"), "", hook.Context{Said: "I push⟦U+202E⟧ it.", SaidBy: hook.SaidBySubagent}},
		{"long", payload("PermissionRequest", "Bash"), strings.Replace(transcript, "I push", strings.Repeat("very ", 200), 1), "", hook.Context{Said: "", SaidCut: true, SaidBy: hook.SaidByAgent}},
		{"nothing", payload("PermissionRequest", "Bash"), transcript[:strings.IndexByte(transcript, '\n')+1], "", hook.Context{SaidWhy: hook.SaidNothing}},
		{"switched off", payload("PermissionRequest", "Bash"), "", hook.SaidOff, hook.Context{SaidWhy: hook.SaidOff}},
		{"not readable", payload("PermissionRequest", "Bash"), "", hook.SaidRefused, hook.Context{SaidWhy: hook.SaidRefused}},
		{"a sample", strings.Replace(payload("PermissionRequest", "Bash"), `"s"`, `"simulated-1"`, 1), "", hook.SaidRefused, hook.Context{SaidWhy: hook.SaidUnknown}},
		{"an older hook", payload("PermissionRequest", "Bash"), "", "", hook.Context{SaidWhy: hook.SaidUnknown}},
		{"a hook's own word", payload("PermissionRequest", "Bash"), "", "<b>", hook.Context{SaidWhy: hook.SaidUnknown}},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := reqcontext.New(0)
			inBubble(t, intake.Config{Contexts: told}, func(t *testing.T, r *rig) {
				a := arrival(c.payload)
				a.Transcript, a.NoTranscript = []byte(c.tail), c.why
				p := r.pending(a)
				defer p.Close()
				got := r.about(told, p.ID())
				if c.want.SaidCut {
					if n := len([]rune(got.Said)); n > 600 || !strings.Contains(got.Said, "…") {
						t.Errorf("%d characters: %s", n, got.Said)
					}
					got.Said = ""
				}
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("%+v\nwant %+v", got, c.want)
				}
				for _, e := range r.published {
					if strings.Contains(string(e.Raw), "I push") {
						t.Error("the words were published")
					}
				}
			})
		})
	}
}

// Nobody speaks for another's request: not under its id, and not after it is over.
func TestContextOfAnothersRequest(t *testing.T) {
	told := reqcontext.New(0)
	inBubble(t, intake.Config{Contexts: told}, func(t *testing.T, r *rig) {
		a := arrival(payload("PermissionRequest", "Bash"))
		a.ReattachSHA256 = "mine"
		p := r.pending(a)
		words := func(secret, id string) intake.Arrival {
			b := arrival(payload("PermissionRequest", "Bash"))
			b.Event.ID, b.Event.Attempt, b.ReattachSHA256 = id, 2, secret
			b.Transcript = []byte(transcript)
			return b
		}
		told.Drop(p.ID()) // as after a restart
		if q, err := r.in.Handle(t.Context(), words("another's", p.ID())); q != nil || err == nil {
			t.Fatal("a stranger was taken in")
		}
		if n, _ := told.Held(); n != 0 {
			t.Errorf("%d contexts of a stranger", n)
		}
		q, err := r.in.Handle(t.Context(), words("mine", p.ID()))
		if err != nil {
			t.Fatal(err)
		}
		if c := r.about(told, p.ID()); c.Said == "" {
			t.Errorf("the hook's own words are lost: %+v", c)
		}
		v, err := r.b.Get(t.Context(), p.ID())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.b.Decide(over(), p.ID(), hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: v.InputSHA256}, hook.Approver{Kind: "token"}); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*intake.Pending{p, q} {
			r.wants(w, hook.Allowed, allowed)
		}
		told.Drop(p.ID()) // the broker's Recorded does this
		again, err := r.in.Handle(t.Context(), words("mine", p.ID()))
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
		if n, _ := told.Held(); n != 0 {
			t.Errorf("%d contexts of what is over", n)
		}
		r.b.Close()
		if _, err := r.in.Handle(t.Context(), words("x", uuid.NewString())); err == nil {
			t.Error("a broker that stops takes requests")
		}
		if n, _ := told.Held(); n != 0 {
			t.Errorf("%d contexts of what was never asked", n)
		}
	})
}

// What a rule decides nobody looks at.
func TestNoContextWithoutAPerson(t *testing.T) {
	told := reqcontext.New(0)
	rules := func(*hook.Request, hook.JSON) hook.Verdict {
		return hook.Verdict{Action: hook.ActionDeny, Rule: "r"}
	}
	inBubble(t, intake.Config{Contexts: told, Rules: rules}, func(t *testing.T, r *rig) {
		p := r.pending(arrival(payload("PermissionRequest", "Bash")))
		defer p.Close()
		if n, _ := told.Held(); n != 0 {
			t.Errorf("%d contexts", n)
		}
	})
}

// The file that a call would change is read for the broker's own user, on this host, unless it may hold
// secrets.
func TestFileBefore(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	code := file("a.go", "one\ntwo\nthree\n\tfour\nfive\nsix\nseven\neight\n")
	windows := file("w.txt", "one\r\ntwo\r\nthree\r\n")
	env := file(".env", "KEY=1\n")
	write := func(path string) string {
		return mustJSON(map[string]any{"session_id": "s", "cwd": dir, "hook_event_name": "PermissionRequest", "tool_name": "Write", "tool_input": map[string]any{"file_path": path, "content": "x"}})
	}
	edit := func(path, old string) string {
		return mustJSON(map[string]any{"session_id": "s", "cwd": dir, "hook_event_name": "PermissionRequest", "tool_name": "Edit", "tool_input": map[string]any{"file_path": path, "old_string": old, "new_string": "x"}})
	}
	text := func(s string) *hook.Before { return &hook.Before{Text: &s} }
	why := func(w string) *hook.Before { return &hook.Before{Why: w} }
	const self = "user:1@x"
	for _, c := range []struct {
		name, payload string
		host, from    string
		channel       hook.Channel
		before        *hook.Before
		at            *hook.Place
	}{
		{"a file", write(code), host, self, hook.ChannelSocket, text("one\ntwo\nthree\n\tfour\nfive\nsix\nseven\neight\n"), nil},
		{"named from the working directory", write("a.go"), host, self, hook.ChannelSocket, text("one\ntwo\nthree\n\tfour\nfive\nsix\nseven\neight\n"), nil},
		{"hostile", write(file("h", "a\u202eb")), host, self, hook.ChannelSocket, text("a⟦U+202E⟧b"), nil},
		{"empty", write(file("e", "")), host, self, hook.ChannelSocket, text(""), nil},
		{"a new one", write(code + ".new"), host, self, hook.ChannelSocket, nil, nil},
		{"a secret", write(env), host, self, hook.ChannelSocket, why(hook.BeforeSecret), nil},
		{"binary", write(file("b", "a\x00")), host, self, hook.ChannelSocket, why(hook.BeforeBinary), nil},
		{"large", write(file("l", strings.Repeat("x", 256<<10+1))), host, self, hook.ChannelSocket, why(hook.BeforeLarge), nil},
		{"large once it is visible", write(file("v", strings.Repeat("\x01", 100<<10))), host, self, hook.ChannelSocket, why(hook.BeforeLarge), nil},
		{"a directory", write(dir), host, self, hook.ChannelSocket, why(hook.BeforeUnseen), nil},
		{"another user's request", write(code), host, "user:2@x", hook.ChannelSocket, why(hook.BeforeUnseen), nil},
		{"another host", write(code), "elsewhere.example", self, hook.ChannelSocket, why(hook.BeforeRemote), nil},
		{"over the network", write(code), host, "token:1", hook.ChannelRemote, why(hook.BeforeRemote), nil},
		{"no path", strings.Replace(write(code), "file_path", "FILE_PATH", 1), host, self, hook.ChannelSocket, nil, nil},
		{"an edit", edit(code, "four\nfi"), host, self, hook.ChannelSocket, nil, &hook.Place{Line: 4, Above: []string{"one", "two", "three"}, Below: []string{"six", "seven", "eight"}}},
		{"an edit of the first line", edit(code, "one\n"), host, self, hook.ChannelSocket, nil, &hook.Place{Line: 1, Below: []string{"two", "three", "\tfour"}}},
		{"an edit of the last line", edit(code, "eight"), host, self, hook.ChannelSocket, nil, &hook.Place{Line: 8, Above: []string{"five", "six", "seven"}}},
		{"an edit of all", edit(code, "one\ntwo\nthree\n\tfour\nfive\nsix\nseven\neight\n"), host, self, hook.ChannelSocket, nil, &hook.Place{Line: 1}},
		{"an edit in lines of another end", edit(windows, "one\ntwo"), host, self, hook.ChannelSocket, nil, &hook.Place{Line: 1, Below: []string{"three"}}},
		{"an edit that stands there twice", edit(code, "e\n"), host, self, hook.ChannelSocket, nil, nil},
		{"an edit that overlaps itself", edit(file("o", "aaa"), "aa"), host, self, hook.ChannelSocket, nil, nil},
		{"an edit that is not there", edit(code, "ten"), host, self, hook.ChannelSocket, nil, nil},
		{"an edit of nothing", edit(code, ""), host, self, hook.ChannelSocket, nil, nil},
		{"an edit of a secret", edit(env, "KEY"), host, self, hook.ChannelSocket, nil, nil},
		{"an edit on another host", edit(code, "one"), "elsewhere.example", self, hook.ChannelSocket, nil, nil},
		{"an edit of a long line", edit(file("ll", strings.Repeat("ä", 300)+"\nx\n"), "x"), host, self, hook.ChannelSocket, nil, &hook.Place{Line: 2, Above: []string{strings.Repeat("ä", 200) + "…"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := reqcontext.New(0)
			secret := func(_ *hook.Request, path string) bool { return filepath.Base(path) == ".env" }
			inBubble(t, intake.Config{Contexts: told, Secret: secret, Self: self}, func(t *testing.T, r *rig) {
				a := arrival(c.payload)
				a.Channel, a.Event.Submitter, a.Event.Origin.Host = c.channel, c.from, c.host
				p := r.pending(a)
				defer p.Close()
				got := r.about(told, p.ID())
				if !reflect.DeepEqual(got.Before, c.before) || !reflect.DeepEqual(got.At, c.at) {
					t.Errorf("%s, want %s and %s", mustJSON(got), mustJSON(c.before), mustJSON(c.at))
				}
				rec, err := r.b.Trace(t.Context(), p.ID())
				if err != nil {
					t.Fatal(err)
				}
				if b := mustJSON(rec); strings.Contains(b, "seven") && !strings.Contains(string(a.Event.Raw), "seven") {
					t.Errorf("the record holds the file: %s", b)
				}
			})
		})
	}
}
