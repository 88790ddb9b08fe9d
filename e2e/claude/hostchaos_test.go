package claude

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
	"assent/internal/api"
	"assent/internal/hook"
)

// ASSENT_E2E_CHAOS is how many prompts TestHostChaos sends instead of a few, one kill for every five.
const chaosEnv = "ASSENT_E2E_CHAOS"

const (
	chaosLanes = 4  // sessions side by side
	chaosLong  = 12 // prompts of one session
)

// chaos is a broker, a host and agents that are killed at random.
type chaos struct {
	*host
	tally  string // a line for each time that a prompt's command ran
	log    rig.Output
	phones []*rig.BareDevice
	coder  api.Agent
	over   chan struct{}

	killing sync.Mutex // one kill at a time
	random  *rand.Rand // guarded by killing
	kills   map[string]int
	brokers int            // guarded by killing; how often the broker was killed, whatever else was
	killed  map[string]int // guarded by killing; how often the agent of a session was killed
	faults  map[string]int // guarded by killing; outcomes
}

// Broker, host and agent are killed with kill -9 at whatever step a prompt is: no prompt is lost, none runs twice, and what is said of
// each is so.
func TestHostChaos(t *testing.T) {
	t.Parallel()
	n := 6
	if v, err := strconv.Atoi(os.Getenv(chaosEnv)); err == nil {
		n = v
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	x := newChaos(t, seed)
	prompts := make(chan int)
	go func() {
		defer close(prompts)
		for i := range n {
			prompts <- i
		}
	}()
	var lanes sync.WaitGroup
	for range chaosLanes {
		phone := x.phones[len(x.phones)-1]
		x.phones = x.phones[:len(x.phones)-1]
		lanes.Go(func() {
			session := ""
			done := 0
			for i := range prompts {
				if done++; session == "" || done%chaosLong == 0 {
					session = uuid.NewString()
				}
				x.prompt(phone, session, i)
			}
		})
	}
	lanes.Wait()
	close(x.over)
	t.Logf("%d prompts, killed with kill -9: %v; outcomes: %v", n, x.kills, x.faults)
}

// newChaos starts it all.
func newChaos(t *testing.T, seed uint64) *chaos {
	a := rig.NewAgent(t)
	a.Model.Slim()
	x := &chaos{
		host:   &host{Agent: a, home: a.Config.Home(), state: a.State, work: a.Config.Work()},
		tally:  filepath.Join(a.Dir, "tally.txt"),
		random: rand.New(rand.NewPCG(seed, 0)), kills: map[string]int{}, killed: map[string]int{}, faults: map[string]int{},
		over: make(chan struct{}),
	}
	for _, dir := range []string{filepath.Join(x.home, ".claude"), x.work, filepath.Join(x.home, ".config", "assent")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var accept []string
	admin := a.PairBare("admin")
	for range chaosLanes { // each may send 20 in a minute
		phone := admin.LetInBare("operate")
		x.phones, accept = append(x.phones, phone), append(accept, "device:"+phone.Thumbprint())
	}
	for _, name := range []string{"tally", "ask"} { // of the first one nobody is asked
		script := fmt.Sprintf("#!/bin/sh\n[ -z \"$2\" ] || sleep $2\necho \"$1\" >> %s\n", x.tally)
		if err := os.WriteFile(x.script(name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	x.write(filepath.Join(x.home, ".claude", "settings.json"), fmt.Sprintf(`{"permissions":{"allow":["Bash(%s:*)"]}}`, x.script("tally")))
	x.write(filepath.Join(x.home, ".config", "assent", "agents.yaml"), strings.Join([]string{
		"accept: [" + strings.Join(accept, ", ") + "]", "agents:", "  coder:", "    project: " + x.work,
		"    executor: {kind: claude, cli: " + a.Config.Program + "}", fmt.Sprintf("    sessions: %d", chaosLanes+2), "    budgetUsd: 1000", "",
	}, "\n"))
	t.Cleanup(x.killAgents)
	t.Cleanup(func() {
		if x.cmd != nil {
			x.kill()
		}
		if t.Failed() {
			t.Logf("the host said:\n%s", x.log.Tail(20_000))
		}
	})
	x.launch()
	rig.Eventually(t, rig.Soon, "the agent is there", func() bool {
		status, body, err := a.Try("GET", "/v1/agents/coder", nil)
		return err == nil && status == http.StatusOK && json.Unmarshal(body, &x.coder) == nil
	})
	var approver sync.WaitGroup
	approver.Go(x.approve)
	t.Cleanup(approver.Wait)
	return x
}

func (x *chaos) script(name string) string { return filepath.Join(x.Dir, name) }

// launch starts the host, and does not wait for it.
func (x *chaos) launch() {
	cmd := exec.Command(rig.Program("assent"), "agent", "serve", "--name", "box", "--state-dir", x.State)
	cmd.Env = append([]string{"HOME=" + x.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "ANTHROPIC_API_KEY=sk-ant-dummy-00000000000000000000000000000000"}, claude.Loopback(x.Model.URL())...)
	cmd.Stderr = &x.log
	if err := cmd.Start(); err != nil {
		x.T.Error(err)
	}
	x.cmd = cmd
}

// approve allows whatever is asked, until all is over.
func (x *chaos) approve() {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-x.over:
			return
		case <-tick.C:
		}
		status, body, err := x.Try("GET", "/v1/requests?state=pending", nil)
		var rs []rig.Request
		if err != nil || status != http.StatusOK || json.Unmarshal(body, &rs) != nil {
			continue // the broker is killed now
		}
		for _, r := range rs {
			_, _, _ = x.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256})
		}
	}
}

// hit kills one of them, or more, and starts again what does not start by itself.
func (x *chaos) hit(what, session string) {
	x.killing.Lock()
	defer x.killing.Unlock()
	x.kills[what]++
	if what == "agent" || what == "all" {
		if pid := x.agent(session); pid > 0 {
			x.killed[session]++
			_ = syscall.Kill(pid, syscall.SIGKILL)
		} else {
			x.kills[what]--
			x.kills["agent that was not there"]++
		}
	}
	if what == "host" || what == "host and broker" || what == "all" {
		x.kill()
	}
	if what == "broker" || what == "host and broker" || what == "all" {
		x.brokers++
		x.Kill()
		x.Start()
	}
	if what == "host" || what == "host and broker" || what == "all" {
		x.launch()
	}
}

func (x *chaos) draw(n int) int {
	x.killing.Lock()
	defer x.killing.Unlock()
	return x.random.IntN(n)
}

func (x *chaos) brokerKills() int {
	x.killing.Lock()
	defer x.killing.Unlock()
	return x.brokers
}

func (x *chaos) agentKills(session string) int {
	x.killing.Lock()
	defer x.killing.Unlock()
	return x.killed[session]
}

// prompt sends one prompt, kills what chance says when chance says, and looks at what became of it.
func (x *chaos) prompt(phone *rig.BareDevice, session string, i int) {
	mark := fmt.Sprintf("chaos-%d-x", i)
	command := x.script("tally") + " " + mark
	asks := false
	switch x.draw(4) {
	case 0:
		command, asks = x.script("ask")+" "+mark, true
	case 1:
		command += " 0.5"
	}
	m := phone.AgentMessage(x.coder, session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{rig.Run(command)}), nil)
	what, step := "", -1
	if x.draw(5) == 0 {
		what, step = []string{"agent", "agent", "host", "host", "broker", "broker", "host and broker", "all"}[x.draw(8)], x.draw(5)-1
	}
	before, brokers := x.agentKills(session), x.brokerKills()
	var killer sync.WaitGroup
	if what != "" && step < 0 { // while it is sent
		killer.Go(func() { x.hit(what, session) })
	}
	bearer := phone.TryBearer()
	var said string
	sent := x.until(func() bool {
		status, body, err := x.As(bearer, "POST", "/v1/agents/coder/messages", m)
		said = fmt.Sprint(status, string(body), err)
		if err == nil && status == http.StatusUnauthorized {
			bearer = phone.TryBearer()
		}
		return err == nil && (status == http.StatusAccepted || status == http.StatusOK)
	})
	killer.Wait()
	if !sent {
		x.T.Errorf("prompt %d of %s was never taken: %s", i, session, said)
		return
	}
	var is hook.Message
	look := func(ok func() bool) bool {
		return x.until(func() bool {
			status, body, err := x.Try("GET", "/v1/agents/coder/messages/"+m.ID, nil)
			return err == nil && status == http.StatusOK && json.Unmarshal(body, &is) == nil && ok()
		})
	}
	over := func() bool {
		return slices.Contains([]hook.MessageState{hook.MessageEnded, hook.MessageRefused, hook.MessageLost, hook.MessageExpired}, is.State)
	}
	if what != "" && step >= 0 {
		look(func() bool { return len(is.Steps) > step || over() })
		time.Sleep(time.Duration(x.draw(300)) * time.Millisecond) // the steps have lengths of their own
		x.hit(what, session)
	}
	ended := look(over)
	hit := x.agentKills(session) > before
	ran := x.ran(mark)
	x.killing.Lock()
	defer x.killing.Unlock()
	x.faults[string(is.State)+" "+is.Outcome]++
	switch {
	case is.Outcome == hook.OutcomeCompleted && ran == 0 && asks && x.brokers > brokers:
		x.faults["ended completed, and its call was denied while no broker was there"]++
	case !ended:
		x.T.Errorf("prompt %d (%s in %s, %s killed at %d) is not over: %+v", i, m.ID, session, what, step, is.Steps)
	case is.State != hook.MessageEnded:
		x.T.Errorf("prompt %d (%s in %s, %s killed at %d) is not ended: %+v", i, m.ID, session, what, step, is.Steps)
	case is.Outcome == hook.OutcomeCompleted && ran != 1, ran > 1:
		x.T.Errorf("prompt %d (%s in %s, %s killed at %d) ran %d times, and is said to have %s", i, m.ID, session, what, step, ran, is.Outcome)
	case is.Outcome != hook.OutcomeCompleted && !hit:
		x.T.Errorf("prompt %d (%s in %s, %s killed at %d) %s, and nobody killed its agent: %+v", i, m.ID, session, what, step, is.Outcome, is.Steps)
	}
}

// until is rig.Eventually for any goroutine.
func (x *chaos) until(ok func() bool) bool {
	end := time.Now().Add(5 * time.Minute)
	for !ok() {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(30 * time.Millisecond)
	}
	return true
}

// ran counts how often a command ran.
func (x *chaos) ran(mark string) int {
	text, _ := os.ReadFile(x.tally)
	return strings.Count("\n"+string(text), "\n"+mark+"\n")
}
