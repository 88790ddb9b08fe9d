package broker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/internal/audit"
	"assent/internal/hook"
	"assent/internal/host/process"
)

// TestMessagesThroughKills kills the broker again and again while devices send messages, at any step of their
// way. Half of the sessions have an inbox, half are handed messages at the ends of their turns. In the end
// each message that was accepted is in its session's context once, or its record says that it was handed
// over without a receipt, or not at all: none is lost in silence, none is there twice, and none is in
// another session. With ASSENT_E2E_KILLS=200 there are 1,000 messages.
func TestMessagesThroughKills(t *testing.T) {
	t.Parallel()
	kills := 6
	if text := os.Getenv("ASSENT_E2E_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	const senders, perKill, sessions = 5, 5, 8
	f := newFolk(t, sessions)
	chief := f.d.PairBare("admin")
	devices := []*rig.BareDevice{chief}
	for len(devices) < senders {
		devices = append(devices, chief.LetInBare("operate"))
	}
	var sending sync.WaitGroup
	for i, dev := range devices {
		sending.Go(func() {
			for n := range kills * perKill / senders {
				f.send(dev, f.sessions[(i+n)%sessions].id)
			}
		})
	}
	sent := make(chan struct{})
	go func() { sending.Wait(); close(sent) }()
	killed := 0
	for ; killed < kills; killed++ {
		wait := time.NewTimer(time.Duration(rand.IntN(400)) * time.Millisecond)
		select {
		case <-wait.C:
		case <-sent: // faster than the kills: the rest of them hit what is on its way
		}
		wait.Stop()
		f.d.Kill()
		f.d.Start()
	}
	<-sent
	f.check(killed)
}

// folk are sessions of a client that the test plays, with real hooks, and who writes to them.
type folk struct {
	t        *testing.T
	d        *rig.Daemon
	sessions []*standIn
	stop     chan struct{}
	wg       sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]string // guarded by mu; session by message
	tries    int               // guarded by mu; calls that had to be repeated
}

// standIn is one session.
type standIn struct {
	f  *folk
	id string

	mu   sync.Mutex
	seen []string // guarded by mu; ids of the messages in its context
}

func newFolk(t *testing.T, n int) *folk {
	t.Helper()
	f := &folk{t: t, d: rig.NewDaemon(t), stop: make(chan struct{}), accepted: map[string]string{}}
	dir := filepath.Join(f.d.Dir, "client")
	if err := os.MkdirAll(filepath.Join(dir, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.d.More = append(f.d.More, "CLAUDE_CONFIG_DIR="+dir)
	f.d.Start()
	for i := range n {
		s := &standIn{f: f, id: fmt.Sprint("session-", i)}
		f.sessions = append(f.sessions, s)
		f.hook(s, "SessionStart", `,"source":"startup"`)
		if i%2 == 0 {
			s.listen(dir, i)
		} else {
			f.wg.Go(s.turns)
		}
	}
	t.Cleanup(f.end)
	return f
}

func (f *folk) end() {
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
	f.wg.Wait()
}

// hook runs the program of an event, as the client does, and returns what it prints.
func (f *folk) hook(s *standIn, event, more string) string {
	cmd := f.d.HookCommand(fmt.Appendf(nil, `{"session_id":%q,"cwd":"/tmp","permission_mode":"default","hook_event_name":%q%s}`, s.id, event, more))
	out, err := cmd.Output()
	if err != nil {
		f.t.Errorf("%s: %v", event, err)
	}
	return string(out)
}

// The text of a message names it.
var named = regexp.MustCompile(`message-([0-9a-f-]{36})`)

// takes notes what is in the session's context now.
func (s *standIn) takes(text string) {
	found := named.FindStringSubmatch(text)
	if found == nil {
		s.f.t.Errorf("%s is handed %q", s.id, text)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, found[1])
}

// listen gives the session an inbox: each whole line is a prompt, with a turn of its own.
func (s *standIn) listen(dir string, i int) {
	socket := filepath.Join(s.f.d.Dir, fmt.Sprint(i, ".sock"))
	l, err := net.Listen("unix", socket)
	if err != nil {
		s.f.t.Fatal(err)
	}
	start, _, _ := strings.Cut(process.ID(os.Getpid()), ".")
	doc := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"procStart":%q,"kind":"interactive","status":"idle","messagingSocketPath":%q}`, os.Getpid(), s.id, start, socket)
	if err := os.WriteFile(filepath.Join(dir, "sessions", fmt.Sprint(i, ".json")), []byte(doc), 0o600); err != nil {
		s.f.t.Fatal(err)
	}
	prompts := make(chan string, 100)
	s.f.wg.Go(func() {
		<-s.f.stop
		_ = l.Close()
	})
	s.f.wg.Go(func() {
		defer close(prompts)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b, _ := io.ReadAll(c) // a broker that dies here has sent half a line
			_ = c.Close()
			var line struct{ Message struct{ Content string } }
			if bytes.HasSuffix(b, []byte("\n")) && json.Unmarshal(b, &line) == nil && line.Message.Content != "" {
				prompts <- line.Message.Content
			}
		}
	})
	s.f.wg.Go(func() {
		for text := range prompts {
			s.takes(text)
			quoted, _ := json.Marshal(text) // a string
			s.f.hook(s, "UserPromptSubmit", `,"prompt":`+string(quoted))
			s.stops()
		}
	})
}

// turns lets one turn of the session follow on another; what its Stop hook prints goes on with it.
func (s *standIn) turns() {
	for {
		s.f.hook(s, "UserPromptSubmit", `,"prompt":"go on"`)
		select {
		case <-s.f.stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
		s.stops()
	}
}

// stops ends a turn of the session, unless its Stop hook has something to go on with.
func (s *standIn) stops() {
	for again := false; ; again = true {
		out := s.f.hook(s, "Stop", fmt.Sprintf(`,"stop_hook_active":%v`, again))
		var said struct{ Decision, Reason string }
		if json.Unmarshal([]byte(out), &said) != nil || said.Decision != "block" {
			return
		}
		s.takes(said.Reason)
		s.f.hook(s, "PreToolUse", `,"tool_name":"Read","tool_use_id":"t","tool_input":{}`)
	}
}

// send sends one message until the broker has it, under one id.
func (f *folk) send(dev *rig.BareDevice, session string) {
	id := uuid.NewString()
	m := dev.MessageAs(id, session, "message-"+id)
	bearer := ""
	for {
		select {
		case <-f.stop:
			return
		default:
		}
		if bearer == "" {
			bearer = dev.TryBearer()
		}
		status, body, err := f.d.As(bearer, "POST", "/v1/sessions/"+session+"/messages", m)
		switch {
		case err == nil && (status == http.StatusAccepted || status == http.StatusOK):
			f.mu.Lock()
			f.accepted[m.ID] = session
			f.mu.Unlock()
			return
		case err == nil && status == http.StatusUnauthorized:
			bearer = "" // the broker is another one
		case err == nil && status != http.StatusConflict && status != http.StatusTooManyRequests && status < 500:
			f.t.Errorf("%d %s", status, body)
			return
		}
		f.mu.Lock()
		f.tries++
		f.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

// check waits until nothing is on its way, and holds each message against what its session saw.
func (f *folk) check(kills int) {
	f.t.Helper()
	states := map[string]hook.Message{}
	defer func() {
		for _, m := range states {
			if !m.State.Over() {
				f.t.Logf("still on its way: %s %+v", m.State, m.Steps)
			}
		}
	}()
	rig.Eventually(f.t, 5*rig.Soon, "nothing is on its way", func() bool {
		for _, s := range f.sessions {
			var list []hook.Message
			f.d.Get("/v1/sessions/"+s.id+"/messages", &list)
			for _, m := range list {
				states[m.ID] = m
			}
		}
		for _, m := range states {
			if !m.State.Over() {
				return false
			}
		}
		return true
	})
	f.end()
	runs, count := map[string]int{}, map[string]int{}
	for _, s := range f.sessions {
		for _, id := range s.seen {
			runs[id]++
			if f.accepted[id] != s.id {
				f.t.Errorf("%s is in the context of %s, not of %s", id, s.id, f.accepted[id])
			}
		}
	}
	for id := range f.accepted {
		m := states[id]
		count[string(m.State)+" "+m.Way]++
		if runs[id] > 1 {
			f.t.Errorf("%s ran %d times: %+v", id, runs[id], m.Steps)
		}
		switch m.State {
		case hook.MessageEnded:
			if runs[id] != 1 {
				f.t.Errorf("%s is said to have ended, and ran %d times", id, runs[id])
			}
		case hook.MessageLost:
			if runs[id] == 1 {
				count["ran without a receipt"]++
			}
		default:
			f.t.Errorf("%s is %q: %+v", id, m.State, m.Steps)
		}
	}
	f.checkRecord(states)
	f.t.Logf("%d messages, %d kills, %d calls again: %v", len(f.accepted), kills, f.tries, count)
}

// checkRecord waits until each step of the messages is an entry of the record, once, and verifies that as anybody can.
func (f *folk) checkRecord(states map[string]hook.Message) {
	f.t.Helper()
	for id := range f.accepted {
		want := []hook.Step{}
		for _, s := range states[id].Steps {
			want = append(want, s.State.RecordStep())
		}
		got := []hook.Step{}
		defer func() {
			if !slices.Equal(got, want) {
				f.t.Errorf("the record of %s has %v, want %v", id, got, want)
			}
		}()
		rig.Eventually(f.t, 5*rig.Soon, "the record has each step", func() bool {
			var recs []hook.Record
			f.d.Get("/v1/requests/"+hook.MessageRecord(id)+"/trace", &recs)
			got = got[:0]
			for _, r := range recs {
				got = append(got, r.Step)
			}
			return slices.Equal(got, want)
		})
	}
	if rep := verified(f.t, f.d); rep.Messages < int64(len(f.accepted)) || rep.MessagesSigned != rep.Messages {
		f.t.Errorf("verified: %d messages, %d signed; %d were accepted", rep.Messages, rep.MessagesSigned, len(f.accepted))
	}
}

// verified exports the record of a broker, and has that verified as anybody can.
func verified(t *testing.T, d *rig.Daemon) (rep audit.Report) {
	t.Helper()
	dir := t.TempDir()
	key, export := filepath.Join(dir, "key"), filepath.Join(dir, "export")
	if err := os.WriteFile(key, []byte(d.Command("audit", "checkpoint", "--key")), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Command("audit", "export", "--output", export)
	if err := json.Unmarshal([]byte(d.Command("audit", "verify", export, "--key", key, "--json")), &rep); err != nil {
		t.Fatal(err)
	}
	return rep
}
