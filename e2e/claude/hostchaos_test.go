package claude

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/hook"
)

// ASSENT_E2E_CHAOS is how many prompts TestHostChaos sends instead of a few.
const chaosEnv = "ASSENT_E2E_CHAOS"

// Host and agent are killed at whatever step a prompt is: each prompt is said to be over in the end, none runs
// twice, one that completed ran, and nothing is lost.
func TestHostChaos(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	n := 6
	if v, err := strconv.Atoi(os.Getenv(chaosEnv)); err == nil {
		n = v
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	h.serve()
	session := uuid.NewString()
	sent, kills, outcomes := map[string]string{}, 0, map[string]int{}
	for i := range n {
		mark := fmt.Sprintf("chaos-%d-x", i)
		id := h.broker.send(session, hook.MessagePrompt, modelserver.Prompt([]modelserver.Use{rig.Run("sleep 1; echo " + mark)}), nil)
		sent[id] = mark
		step := random.IntN(4) // of the steps sent, taken, started and ended
		rig.Eventually(t, time.Minute, "it is so far", func() bool {
			m := h.broker.message(id)
			return len(m.Steps) > min(step, 2) || m.State == hook.MessageEnded
		})
		what := random.IntN(4)
		if what == 1 || what == 3 {
			if pid := h.agent(session); pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				kills++
			}
		}
		if what >= 2 {
			h.kill()
			kills++
			h.serve()
		}
		var m hook.Message
		rig.Eventually(t, 2*time.Minute, "it is over", func() bool {
			m = h.broker.message(id)
			return m.State == hook.MessageEnded || m.State == hook.MessageRefused || m.State == hook.MessageLost
		})
		outcomes[string(m.State)+" "+m.Outcome]++
		if m.State != hook.MessageEnded {
			t.Errorf("prompt %d, killed %d at %d: %+v", i, what, step, m.Steps)
		}
	}
	for id, mark := range sent {
		ran := 0
		for _, c := range h.Model.Calls() {
			for _, r := range c.Results {
				if strings.Contains(r.Content, mark) {
					ran++
				}
			}
		}
		if m := h.broker.message(id); ran > 1 || m.Outcome == hook.OutcomeCompleted && ran != 1 {
			t.Errorf("%s ran %d times, and is said to have %s", mark, ran, m.Outcome)
		}
	}
	t.Logf("%d prompts, %d kills: %v", n, kills, outcomes)
}
