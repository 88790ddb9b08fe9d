package executor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/optin"
	"assent/schemas"
)

const one, two = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"

// What was noted is there again; half a line, which nobody was told of, is not.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	var got []entry
	read := func() *journal {
		t.Helper()
		got = nil
		j, err := testJournal(path, func(e entry) { got = append(got, e) })
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := read()
	cost := 0.5
	want := []entry{
		{At: time.Unix(1, 0).UTC(), Order: &Order{ID: one, Kind: hook.MessagePrompt, Prompt: "a\nb\u2028{"}},
		{At: time.Unix(2, 0).UTC(), Message: one, State: written},
		{At: time.Unix(3, 0).UTC(), Cost: &cost, Offset: 7, Active: time.Minute},
	}
	for _, e := range want {
		if err := j.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"message":"` + one + `","state":"en`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	j = read()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	last := entry{At: time.Unix(4, 0).UTC(), Message: one, State: ended}
	if err := j.add(last); err != nil {
		t.Fatal(err)
	}
	j.close()
	read().close()
	if !reflect.DeepEqual(got, append(want, last)) {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(path, []byte("{}\nnonsense\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := testJournal(path, func(entry) {}); err == nil || !strings.Contains(err.Error(), "journal:2") {
		t.Errorf("%v", err)
	}
}

// Each line of a journal is as the schema says, with all of its members.
func TestJournalSchema(t *testing.T) {
	raw, err := schemas.Raw("HostJournal")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	for what, fields := range map[string]reflect.Type{"": reflect.TypeFor[entry](), "order": reflect.TypeFor[Order](), "process": reflect.TypeFor[began](), "exit": reflect.TypeFor[exit]()} {
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
			_, known := schema.Properties[name]
			if what != "" {
				_, known = schema.Properties[what].Properties[name]
			}
			if !known {
				t.Errorf("%s %s is not in the schema", what, name)
			}
		}
	}
	cost, at := 0.5, time.Now()
	for _, e := range []entry{
		{At: at, Order: &Order{ID: one, Agent: "coder", Session: two, Kind: hook.MessagePrompt, Prompt: "x", By: "device:x", BudgetUSD: 1, Timeout: time.Hour, ExpiresAt: at}},
		{At: at, Message: one, State: claimed, Acked: "x", Cancels: 1, Unmetered: 1, Control: "x", Answered: "y"},
		{At: at, Message: one, State: confirmed},
		{At: at, Message: one, State: written},
		{At: at, Message: one, State: started},
		{At: at, Message: one, State: ended, Outcome: hook.OutcomeFailed, Code: "EXIT", Why: "w", Result: "r", Output: "o", Command: "c"},
		{At: at, Message: one, State: lost},
		{At: at, Message: one, State: dropped},
		{At: at, Process: &began{PID: 1, ID: "x", Version: "1", Budget: 1, Mode: "default", CLI: "/c"}, Base: true, Cost: &cost, Offset: 1, Active: time.Minute, Waited: time.Minute},
		{At: at, Exit: &exit{Saved: true}},
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("HostJournal", line); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"order":{"id":"x"}}` + "\n" + `{"message":"x","state":"started"}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b := book{fresh: true}
		if j, err := testJournal(path, b.apply); err == nil {
			j.close()
		}
		b.outstanding()
		b.cost()
	})
}

// The figures are those of the client: a process goes on with what the one before it saved, which one that
// was killed did not.
func TestCost(t *testing.T) {
	b := book{fresh: true}
	begin := func() { b.apply(entry{Process: &began{}}); b.apply(entry{Process: &began{PID: 1, ID: "x"}}) }
	says := func(total float64) { b.apply(entry{Cost: &total}) }
	is := func(want float64) {
		t.Helper()
		if got := b.cost(); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("cost %v, want %v", got, want)
		}
	}
	begin()
	is(0)
	says(0.0016)
	b.apply(entry{Exit: &exit{Saved: true}})
	begin()
	says(0.0032)
	says(0.0048)
	is(0.0048)
	b.apply(entry{Exit: &exit{Saved: true}})
	begin()
	says(0.0064)
	b.apply(entry{Exit: &exit{}}) // killed
	is(0.0064)
	begin()
	is(0.0064)
	says(0.0064) // 0.0048 and a turn
	is(0.008)
	b.apply(entry{Exit: &exit{}})
	begin()
	says(0.0016) // another client, that goes on with nothing
	is(0.0096)
}

// A session is about one prompt at a time, until it is known what became of it.
func TestBook(t *testing.T) {
	b := book{fresh: true}
	at := time.Unix(1, 0)
	step := func(id string, s state) { b.apply(entry{At: at, Message: id, State: s}) }
	b.apply(entry{At: at, Order: &Order{ID: one, Kind: hook.MessagePrompt}})
	b.apply(entry{At: at, Order: &Order{ID: two, Kind: hook.MessageCancel}})
	if m := b.outstanding(); m == nil || m.ID != one {
		t.Fatalf("%+v", m)
	}
	b.apply(entry{Process: &began{}})
	if !b.starting || b.runs {
		t.Error("it is not being started")
	}
	b.apply(entry{Process: &began{PID: 7, ID: "x"}, Offset: 0})
	step(one, confirmed)
	step(one, written)
	if b.turn() != nil || b.find(one).tries != 1 {
		t.Errorf("%+v", b.find(one))
	}
	step(one, lost)
	if b.outstanding() == nil {
		t.Error("its process runs: the receipt may still come")
	}
	step(one, started)
	b.apply(entry{Message: one, State: started, Cancels: 1})
	if m := b.turn(); m == nil || m.cancels != 1 || m.tries != 1 || !m.began.Equal(at) {
		t.Errorf("%+v", m)
	}
	b.apply(entry{Exit: &exit{}})
	b.apply(entry{At: at, Message: one, State: ended, Outcome: hook.OutcomeFailed, Code: "INTERRUPTED"})
	if b.outstanding() != nil || b.runs {
		t.Errorf("%+v", b.outstanding())
	}
	b.apply(entry{Acked: frameID(one, "ended")})
	s := &session{meta: meta{Session: "s", Agent: "coder"}, book: b}
	var kinds []string
	for _, f := range s.frames() {
		kinds = append(kinds, f.Type+" "+f.ID[37:])
		if f.Event != nil && f.Event.Kind == api.AgentFailed && f.Event.Error.Code != "INTERRUPTED" {
			t.Errorf("%+v", f.Event.Error)
		}
	}
	if want := []string{"taken taken", "started started", "event began", "event over", "taken taken"}; !slices.Equal(kinds, want) {
		t.Errorf("%q", kinds)
	}
}

func TestEnvironmentIsOfAllowedNames(t *testing.T) {
	got := agentEnv([]string{
		"HOME=/h", "PATH=.:/bin::bin:/usr/bin:../x", "LC_ALL=C", "ANTHROPIC_API_KEY=k", "ASSENT_TOKEN=t", "ASSENT_SOCKET=/s", "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1",
		"CLAUDE_CONFIG_DIR=/c", "LD_PRELOAD=/x.so", "NODE_OPTIONS=--require /x", "BASH_ENV=/x", "GIT_DIR=/x", mark + "=other", "HOMEX=1", "nonsense",
	}, "s", "coder", "/d")
	if want := []string{"HOME=/h", "PATH=/bin:/usr/bin", "LC_ALL=C", "ANTHROPIC_API_KEY=k", mark + "=s", placeMark + "=/d", "ASSENT_AGENT_NAME=coder"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestClip(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", 400), strings.Repeat("\u00e4", 300), strings.Repeat("\U0001F600", 100), "\xff" + strings.Repeat("\xfe", 400)} {
		got := clip(text, maxWhy)
		if len(got) > maxWhy || !utf8.ValidString(got) || len(text) <= maxWhy && utf8.ValidString(text) && got != text {
			t.Errorf("%.20q: %d bytes, %q", text, len(got), got)
		}
	}
}

func TestContains(t *testing.T) {
	const size = 256 << 10
	for at := size - 40; at <= size+1; at++ {
		if ok, err := contains(strings.NewReader(strings.Repeat("x", at)+one+"\n"), []byte(one)); !ok || err != nil {
			t.Errorf("at %d: %v, %v", at, ok, err)
		}
	}
	if ok, err := contains(strings.NewReader(strings.Repeat("x", 3*size)), []byte(one)); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// An order that names anything but what it may is refused in words.
func TestCheck(t *testing.T) {
	now := time.Unix(1000, 0)
	good := Order{ID: one, Agent: "coder", Session: two, Kind: hook.MessagePrompt, Prompt: "x", ExpiresAt: now.Add(1)}
	if why := check(good, now); why != "" {
		t.Error(why)
	}
	for want, change := range map[string]func(*Order){
		"UUIDs":        func(o *Order) { o.Session = "../../etc" },
		"lower case":   func(o *Order) { o.ID = strings.ToUpper("abcdefab-1111-4111-8111-111111111111") },
		"was over":     func(o *Order) { o.ExpiresAt = now },
		"of this kind": func(o *Order) { o.Kind = "shell" },
		"longer than":  func(o *Order) { o.Prompt = strings.Repeat("x", MaxPrompt+1) },
		"is empty":     func(o *Order) { o.Prompt = " \n" },
		"no prompt":    func(o *Order) { o.Kind = hook.MessageCancel },
		"/config":      func(o *Order) { o.Prompt = "/config permissionMode=dontAsk" },
		"@~/.ssh/id":   func(o *Order) { o.Kind, o.Prompt = hook.MessageResume, "tell me @~/.ssh/id" },
	} {
		o := good
		change(&o)
		if why := check(o, now); !strings.Contains(why, want) {
			t.Errorf("%q, want %q", why, want)
		}
	}
}

// Who says what a broker says may be anybody: it can fill neither a journal nor the memory, and keep nothing back that
// it has not been told.
func TestALyingBroker(t *testing.T) {
	dir := t.TempDir()
	j, err := testJournal(filepath.Join(dir, journalFile), func(entry) {})
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	h := &Host{cfg: Config{Dir: dir, Logf: t.Logf}, wake: make(chan struct{}, 1), sessions: map[string]*session{}}
	s := &session{h: h, dir: dir, meta: meta{Session: two}, journal: j, book: book{fresh: true}}
	h.sessions[two] = s
	if err := s.note(entry{Order: &Order{ID: one, Session: two, Kind: hook.MessagePrompt}}); err != nil {
		t.Fatal(err)
	}
	size := j.size
	for _, what := range []string{"ended", "over", "x", strings.Repeat("x", 1<<20)} {
		h.Acked(frameID(one, what), true)
		h.Refuse(strings.Repeat("x", 1<<20), "no device signed it")
		h.Held([]api.HeldMessage{{ID: what}})
	}
	if j.size != size || len(s.find(one).acked) > 0 || len(h.extra) > 0 {
		t.Errorf("%d bytes of journal, %d acknowledged, %d frames", j.size-size, len(s.find(one).acked), len(h.extra))
	}
	h.Acked(frameID(one, "taken"), true)
	_ = s.note(entry{Message: one, State: ended, Outcome: hook.OutcomeCompleted})
	if f := s.frames(); len(f) == 0 || f[0].Type != api.HostEnded {
		t.Errorf("%+v", f)
	}
	// What an agent's program says of itself goes to the broker in one frame with everything else.
	s.event(time.Now(), streamjson.Event{Kind: streamjson.Init, Mode: "default", Version: strings.Repeat("9", 1<<20)})
	if len(s.version) > maxVersion {
		t.Errorf("a version of %d bytes", len(s.version))
	}
}

// An order that waits is looked at again by the keys that are accepted when its turn comes.
func TestAcceptIsReadWhenAnOrdersTurnComes(t *testing.T) {
	file := optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder"}}}
	h := &Host{cfg: Config{Dir: t.TempDir(), Logf: t.Logf, File: func() (optin.File, error) { return file, nil }}, sessions: map[string]*session{}, timeouts: map[string]time.Duration{}}
	for _, kind := range []string{hook.MessagePrompt, hook.MessageResume, hook.MessageCancel} {
		o := Order{ID: one, Agent: "coder", Session: two, Kind: kind, By: "key", ExpiresAt: time.Now().Add(time.Minute)}
		if kind != hook.MessageCancel {
			o.Prompt = "x"
		}
		if _, _, why := h.ceilings(nil, o); why != "" {
			t.Error(why)
		}
		file.Accept = []string{"other"}
		if _, _, why := h.ceilings(nil, o); !strings.Contains(why, "not accepted here any more") {
			t.Errorf("%s: %q", kind, why)
		}
		h.extra, h.offers = nil, []Order{o}
		h.consider(t.Context(), o)
		if len(h.extra) != 1 || !strings.Contains(h.extra[0].Why, "not accepted here any more") {
			t.Errorf("%s: %+v", kind, h.extra)
		}
		file.Accept = []string{"key"}
	}
}

// A session has a bound of messages, behind which it can still be cancelled.
func TestMessagesOfASessionAreBounded(t *testing.T) {
	s := working(t, "")
	s.h.cfg.File = func() (optin.File, error) {
		return optin.File{Accept: []string{"key"}, Agents: []optin.Agent{{Name: "coder"}}}, nil
	}
	s.messages = slices.Repeat(s.messages, maxMessages)
	for kind, taken := range map[string]bool{hook.MessageResume: false, hook.MessageCancel: true} {
		o := Order{ID: uuid.NewString(), Agent: "coder", Session: two, Kind: kind, By: "key", ExpiresAt: time.Now().Add(time.Minute)}
		s.h.offers = []Order{o}
		if s.h.consider(t.Context(), o); (s.find(o.ID) != nil) != taken {
			t.Errorf("%s: %+v", kind, s.h.extra)
		}
	}
}

// A mode that does not ask ends an agent also within a turn, and so does what only another process can have told it.
func TestWhatTheAgentSaysOfItsMode(t *testing.T) {
	answer := func(id string) streamjson.Event { return streamjson.Event{Kind: streamjson.Answer, Request: id} }
	for name, c := range map[string]struct {
		events []streamjson.Event
		stops  bool
	}{
		"a mode that asks":              {[]streamjson.Event{{Kind: streamjson.Mode, Mode: "acceptEdits"}}, false},
		"one that does not":             {[]streamjson.Event{{Kind: streamjson.Mode, Mode: "auto"}}, true},
		"one that does not, at a turn":  {[]streamjson.Event{{Kind: streamjson.Init, Mode: "dontAsk"}}, true},
		"none":                          {[]streamjson.Event{{Kind: streamjson.Init}}, true},
		"an answer to a cancel":         {[]streamjson.Event{answer(cancels + two)}, false},
		"to one that was written again": {[]streamjson.Event{answer(repeats + one)}, false},
		"to both":                       {[]streamjson.Event{answer(repeats + one), answer(cancels + two)}, false},
		"to a cancel, twice":            {[]streamjson.Event{answer(cancels + two), answer(cancels + two)}, true},
		"to a cancel of nobody's":       {[]streamjson.Event{answer(cancels + one)}, true},
		"to a prompt written again":     {[]streamjson.Event{answer(repeats + two)}, true},
		"to anything else":              {[]streamjson.Event{answer("x")}, true},
	} {
		s := working(t, "")
		s.cancel(time.Now(), &message{Order: Order{ID: two, Kind: hook.MessageCancel}})
		_ = s.note(entry{Control: repeats + one}) // as of the next host
		for _, e := range c.events {
			s.event(time.Now(), e)
		}
		if (s.stopping == "REFUSED") != c.stops || (s.forced == 3) != c.stops {
			t.Errorf("%s: %q, %d", name, s.stopping, s.forced)
		}
	}
}

// A session that was told to make room has made it: who needs the place is not refused for as long as the process
// takes to end.
func TestWhoMakesRoomIsNotCounted(t *testing.T) {
	idle := &session{meta: meta{Agent: "coder"}, book: book{runs: true}}
	works := &session{meta: meta{Agent: "coder"}, book: book{runs: true, messages: []*message{{Order: Order{Kind: hook.MessagePrompt}, state: started}}}}
	h := &Host{sessions: map[string]*session{one: idle, two: works}}
	if all, same, found := h.live("coder"); all != 2 || same != 2 || found != idle {
		t.Errorf("%d, %d, %v", all, same, found)
	}
	idle.stopping, works.stopping = "EXIT", "CANCELLED"
	if all, same, found := h.live("coder"); all != 1 || same != 1 || found != nil {
		t.Errorf("%d, %d, %v", all, same, found)
	}
}

// A claim and what the broker says of it are one line of the journal: whoever is killed between two would have
// a message that nobody asks about any more.
func TestAcknowledgedClaimIsOneEntry(t *testing.T) {
	for ok, want := range map[bool]state{true: confirmed, false: dropped} {
		dir := t.TempDir()
		j, err := testJournal(filepath.Join(dir, journalFile), func(entry) {})
		if err != nil {
			t.Fatal(err)
		}
		h := &Host{cfg: Config{Dir: dir, Logf: t.Logf}, wake: make(chan struct{}, 1), sessions: map[string]*session{}}
		s := &session{h: h, dir: dir, meta: meta{Session: two}, journal: j, book: book{fresh: true}}
		h.sessions[two] = s
		if err := s.note(entry{Order: &Order{ID: one, Session: two, Kind: hook.MessagePrompt}}); err != nil {
			t.Fatal(err)
		}
		h.Acked(frameID(one, "taken"), ok)
		if got := s.find(one).state; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
		n, again := 0, book{fresh: true}
		j, err = testJournal(filepath.Join(dir, journalFile), func(e entry) { n++; again.apply(e) })
		if err != nil {
			t.Fatal(err)
		}
		j.close()
		if m := again.find(one); n != 2 || m.state != want || !m.acked[frameID(one, "taken")] {
			t.Errorf("%d entries, %+v", n, m)
		}
	}
}
