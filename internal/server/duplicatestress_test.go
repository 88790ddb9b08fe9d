package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// However hooks and tools of many calls, some of them equal, come, leave and come late: every allow
// that reaches a call was given for it, and one answer reaches one call.
func TestDuplicatesInAnyOrder(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				rnd := rand.New(rand.NewPCG(seed, 8))
				type side struct {
					w    *waiting
					call int
				}
				const calls = 5
				command := func(i int) string { return fmt.Sprintf("make %d", i%3) } // 0 and 3, 1 and 4 are equal
				told := rnd.IntN(4) > 0                                              // where no PreToolUse hook is registered, of no call
				var steps []func() *side
				for i := range calls {
					id := fmt.Sprintf("t%d", i)
					if told {
						g.tell(toolEvent("PreToolUse", id, command(i)))
					}
					steps = append(steps, func() *side { return &side{g.hook(command(i)), i} }, func() *side { return &side{g.tool(id, command(i)), i} })
				}
				rnd.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
				var sides []*side
				for _, s := range steps {
					x := s()
					if rnd.IntN(6) == 0 {
						x.w.cancel()
					}
					sides = append(sides, x)
					time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond)
				}
				time.Sleep(2 * time.Second)
				answered := map[*side]bool{}
				for {
					ids := g.pending()
					if len(ids) == 0 {
						break
					}
					id := ids[rnd.IntN(len(ids))]
					r := g.decide(id, `{"behavior":"allow","inputSha256":"`+g.get(id).InputSHA256+`"}`)
					if r.status != http.StatusOK {
						t.Fatalf("%d %s", r.status, r.body)
					}
					synctest.Wait()
					got := map[int]int{}
					for _, s := range sides {
						if answered[s] {
							continue
						}
						select {
						case reply := <-s.w.reply:
							answered[s] = true
							if strings.Contains(reply.body, "allow") {
								got[s.call]++
							}
						default:
						}
					}
					if len(got) > 1 {
						t.Errorf("one answer reached the calls %v", got)
					}
				}
				for _, s := range sides {
					if !answered[s] {
						select {
						case <-s.w.reply:
						default:
							t.Errorf("call %d has a side that waits for nothing", s.call)
						}
					}
				}
			})
		})
	}
}
