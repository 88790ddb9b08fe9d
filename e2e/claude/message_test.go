package claude

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

// How long it takes from a phone's message to its receipt, in a session that waits at its prompt. The figures are
// printed and not judged: they are the machine's. ASSENT_E2E_MESSAGES says how many are sent.
func TestClaudeIsSpokenToSoon(t *testing.T) {
	t.Parallel()
	n := 5
	if text := os.Getenv("ASSENT_E2E_MESSAGES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	a := rig.NewAgent(t)
	reachable(a)
	a.Terminal()
	a.ModelDone()
	var sessions []struct{ SessionID string }
	a.Get("/v1/sessions", &sessions)
	path := "/v1/sessions/" + sessions[0].SessionID + "/messages"
	phone := a.PairBare("operate")
	bearer := phone.Bearer()
	var took []time.Duration
	for i := range n {
		m := phone.Message(sessions[0].SessionID, fmt.Sprint("PING ", i))
		rig.Eventually(t, 2*rig.Soon, "the broker takes it", func() bool { // 20 a minute
			status, _, err := a.As(bearer, "POST", path, m)
			return err == nil && (status == http.StatusAccepted || status == http.StatusOK)
		})
		rig.Eventually(t, rig.Soon, "the message's turn is over", func() bool {
			var got hook.Message
			a.Get(path+"/"+m.ID, &got)
			if got.State != hook.MessageEnded {
				return false
			}
			took = append(took, got.Steps[2].At.Sub(got.Steps[0].At))
			return true
		})
		time.Sleep(time.Second) // one a second goes to a session
	}
	slices.Sort(took)
	t.Logf("%d messages: p50 %v, p99 %v, longest %v", n, took[n/2], took[n*99/100], took[n-1])
}
