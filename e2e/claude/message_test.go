package claude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
)

// reachable gives the broker the client's own directory, where it finds the inboxes of its sessions.
func reachable(a *rig.Agent) {
	a.T.Helper()
	a.Kill()
	a.More = append(a.More, "CLAUDE_CONFIG_DIR="+filepath.Join(a.Config.Home(), ".claude"))
	a.Start()
}

func say(a *rig.Agent, args ...string) hook.Message {
	a.T.Helper()
	var m hook.Message
	if err := json.Unmarshal([]byte(a.Command(append([]string{"say", "--json"}, args...)...)), &m); err != nil {
		a.T.Fatal(err)
	}
	return m
}

// Text that is sent to a session at its prompt begins a turn, which asks as any other, and what stands half
// typed in the terminal stays.
func TestClaudeIsSpokenToWhileIdle(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	reachable(a)
	term := a.Terminal([]modelserver.Use{a.Touch("one.txt")})
	first := a.WaitPending(1)[0]
	a.Allow(first)
	a.ModelDone()
	if _, err := term.Key(a.Ctx, "h", "a", "l", "f"); err != nil {
		t.Fatal(err)
	}
	m := say(a, "--wait", "1m", first.SessionID, modelserver.Prompt([]modelserver.Use{a.Touch("two.txt")}))
	if m.Way != hook.WayInbox || m.State != hook.MessageStarted && m.State != hook.MessageEnded {
		t.Fatalf("the message is %+v", m)
	}
	a.Allow(a.WaitPending(1)[0])
	rig.Eventually(t, rig.Soon, "the second command ran", func() bool { return a.Exists("two.txt") })
	rig.Eventually(t, rig.Soon, "the message's turn is over", func() bool {
		var m2 hook.Message
		a.Get("/v1/sessions/"+first.SessionID+"/messages/"+m.ID, &m2)
		return m2.State == hook.MessageEnded
	})
	if screen, err := term.Screen(a.Ctx); err != nil || !strings.Contains(screen, "half") {
		t.Errorf("what was half typed is gone (%v):\n%s", err, screen)
	}
	if trace := a.Command("trace", "--messages", first.SessionID); !regexp.MustCompile(`(?s)` + m.ID + `  prompt to terminal@\S+, not signed, by .*  sent .*  taken +\+\S+  by inbox.*  started .*  ended `).MatchString(trace) {
		t.Errorf("its trace is\n%s", trace)
	}
}

// A broker that finds no inbox hands the text over at the end of the turn.
func TestClaudeIsSpokenToAtTheEndOfItsTurn(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Terminal([]modelserver.Use{a.Touch("one.txt")})
	first := a.WaitPending(1)[0]
	m := say(a, "--wait", "0s", first.SessionID, modelserver.Prompt([]modelserver.Use{a.Touch("two.txt")}))
	if m.State != hook.MessageSent {
		t.Fatalf("the message is %+v", m)
	}
	a.Allow(first)
	a.Allow(a.WaitPending(1)[0])
	rig.Eventually(t, rig.Soon, "the second command ran", func() bool { return a.Exists("two.txt") })
	rig.Eventually(t, rig.Soon, "the message's turn is over", func() bool {
		a.Get("/v1/sessions/"+first.SessionID+"/messages/"+m.ID, &m)
		return m.State == hook.MessageEnded && m.Way == hook.WayStop
	})
}

// What a paired device signed reaches the model with assent's word whose it is. What it did not sign, what is
// sent again, and a device that may only approve reach nobody.
func TestClaudeIsToldWhoseWordsTheyAre(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	reachable(a)
	a.Terminal()
	a.ModelDone()
	var sessions []struct{ SessionID string }
	a.Get("/v1/sessions", &sessions)
	path := "/v1/sessions/" + sessions[0].SessionID + "/messages"

	phone := a.PairBare("operate")
	bearer := phone.Bearer()
	m := phone.Message(sessions[0].SessionID, "SIGNED-BY-PHONE "+modelserver.Prompt([]modelserver.Use{a.Touch("two.txt")}))
	forged := m
	forged.Prompt += " and more"
	a.Must("POST", path, bearer, forged, http.StatusForbidden, nil)
	approver := a.PairBare("approve")
	a.Must("POST", path, approver.Bearer(), approver.Message(sessions[0].SessionID, "x"), http.StatusForbidden, nil)

	var got hook.Message
	a.Must("POST", path, bearer, m, http.StatusAccepted, &got)
	rig.Valid(t, "Message", rig.Object(t, got))
	a.Must("POST", path, bearer, m, http.StatusOK, nil)
	a.Allow(a.WaitPending(1)[0])
	rig.Eventually(t, rig.Soon, "the message's turn is over", func() bool {
		a.Get(path+"/"+m.ID, &got)
		return got.State == hook.MessageEnded
	})
	if !a.Exists("two.txt") {
		t.Error("its command did not run")
	}
	said, told := 0, false
	for _, c := range a.Model.Calls() {
		said = max(said, strings.Count(string(c.Body), "SIGNED-BY-PHONE"))
		told = told || strings.Contains(string(c.Body), "typed by the user of this session on their paired device")
	}
	if said != 1 || !told {
		t.Errorf("the model read the text %d times; whose it is was said: %v", said, told)
	}
}

// Each message reaches a session that waits at its prompt once, also one with the words of an earlier one, and what
// stands half typed in the terminal stays. The figures are printed and not judged: they are the machine's.
// ASSENT_E2E_MESSAGES says how many are sent; ASSENT_E2E_EVERY how far apart those to an idle session are, from the
// twentieth on: by default as many as the client's inbox takes. What comes faster waits at the broker.
func TestClaudeHearsEachMessageOnce(t *testing.T) {
	t.Parallel()
	n := 20
	if text := os.Getenv("ASSENT_E2E_MESSAGES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	every := 2 * time.Second
	if text := os.Getenv("ASSENT_E2E_EVERY"); text != "" {
		var err error
		if every, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	pace := time.NewTicker(max(every, 1))
	defer pace.Stop()
	a := rig.NewAgent(t)
	reachable(a)
	term := a.Terminal()
	a.ModelDone()
	if _, err := term.Key(a.Ctx, "h", "a", "l", "f"); err != nil {
		t.Fatal(err)
	}
	var sessions []struct{ SessionID string }
	a.Get("/v1/sessions", &sessions)
	path := "/v1/sessions/" + sessions[0].SessionID + "/messages"
	admin := a.PairBare("admin")
	phones, bearers := []*rig.BareDevice{admin}, []string{admin.Bearer()}
	for len(phones)*20 < n { // each may send 20 a minute
		phones = append(phones, admin.LetInBare("operate"))
		bearers = append(bearers, phones[len(phones)-1].Bearer())
	}
	var ids []string
	send := func(text string) {
		t.Helper()
		by := len(ids) % len(phones)
		m := phones[by].Message(sessions[0].SessionID, text)
		ids = append(ids, m.ID)
		rig.Eventually(t, 2*rig.Soon, "the broker takes it", func() bool { // 20 wait at most
			status, _, err := a.As(bearers[by], "POST", path, m)
			return err == nil && (status == http.StatusAccepted || status == http.StatusOK)
		})
	}
	over := func(id string) (m hook.Message) {
		t.Helper()
		rig.Eventually(t, 4*rig.Soon, "the message is over", func() bool {
			a.Get(path+"/"+id, &m)
			return m.State.Over()
		})
		return m
	}
	var took, broker, client []time.Duration // from the phone to the context: in the broker, and from there on
	for i := range n / 2 {                   // each to a session that has nothing to do
		if i >= 20 {
			<-pace.C
		}
		send(fmt.Sprintf("PING-%d.", i))
		if m := over(ids[i]); m.State == hook.MessageEnded {
			taken, started := at(m, hook.MessageTaken), at(m, hook.MessageStarted)
			took = append(took, started.Sub(m.Steps[0].At))
			broker, client = append(broker, taken.Sub(m.Steps[0].At)), append(client, started.Sub(taken))
			if took[len(took)-1] > 300*time.Millisecond {
				t.Logf("message %d took %v: %v in the broker, %v in the client", i, took[len(took)-1], broker[len(broker)-1], client[len(client)-1])
			}
		}
	}
	for len(ids) < n { // as soon as there is room
		send("AGAIN.")
	}
	started, again := 0, 0
	for _, id := range ids {
		m := over(id)
		if m.State == hook.MessageEnded {
			started++
		} else {
			t.Errorf("a message is %s: %+v", m.State, m.Steps)
		}
		again += len(m.Steps) - 4
	}
	heard := map[string]int{}
	for _, c := range a.Model.Calls() {
		for i := range n / 2 {
			text := fmt.Sprintf("PING-%d.", i)
			heard[text] = max(heard[text], strings.Count(string(c.Body), text))
		}
		heard["AGAIN."] = max(heard["AGAIN."], strings.Count(string(c.Body), "AGAIN."))
	}
	missing, doubled := 0, 0
	for i := range n / 2 {
		h := heard[fmt.Sprintf("PING-%d.", i)]
		missing, doubled = missing+max(1-h, 0), doubled+max(h-1, 0)
	}
	same := heard["AGAIN."] - (n - n/2)
	missing, doubled = missing+max(-same, 0), doubled+max(same, 0)
	if missing > 0 || doubled > 0 {
		t.Errorf("the model did not read %d messages, and %d twice: %v", missing, doubled, heard)
	}
	if screen, err := term.Screen(a.Ctx); err != nil || !strings.Contains(screen, "half") {
		t.Errorf("what was half typed is gone (%v):\n%s", err, screen)
	}
	t.Logf("%d messages, %d of them with the same words: %d started, %d missing, %d doubled; handed over again %d times", n, n-n/2, started, missing, doubled, again)
	t.Logf("of %d to an idle session, from the phone to the context: %s; in the broker: %s; in the client: %s", len(took), spread(took), spread(broker), spread(client))
}

// spread says how times are spread.
func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	rank := func(percent int) time.Duration { // the nearest-rank percentile
		return d[(percent*len(d)+99)/100-1].Round(time.Millisecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, longest %v", rank(50), rank(99), rank(100))
}

// at is when a message came to a state, the zero time where it did not.
func at(m hook.Message, state hook.MessageState) time.Time {
	for _, s := range m.Steps {
		if s.State == state {
			return s.At
		}
	}
	return time.Time{}
}
