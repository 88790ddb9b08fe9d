package hookclient

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

// TestPersist runs scripts of a broker's behaviour: what the client is met with from a moment
// on. The times are exact but for the jitter of a pause.
func TestPersist(t *testing.T) {
	type phase struct {
		from time.Duration
		r    reply
		hold time.Duration // how long the attempt takes, if the deadline comes no sooner
	}
	yes := reply{state: answered, body: []byte("{}")}
	const timeout = 10 * time.Minute
	cases := []struct {
		name   string
		script []phase
		goneAt time.Duration
		// brokers is how many there are; each attempt is at the next, and a phase is of all but dead, of which
		// the first is.
		brokers int
		dead    reply
		end     ending
		after   time.Duration // at the earliest
		within  time.Duration // and at most this much later
	}{
		{name: "answered", script: []phase{{0, yes, time.Minute}}, end: endAnswer, after: time.Minute},
		{name: "no socket file", script: []phase{{0, reply{state: absent}, 0}}, end: endFailed},
		{name: "cannot record", script: []phase{{0, reply{state: unavailable}, 0}}, end: endFailed},
		{name: "refused for good", script: []phase{{0, reply{state: refused}, 0}}, end: endFailed},
		{name: "id taken", script: []phase{{0, reply{state: conflict}, 0}}, end: endAbstain},
		{name: "nobody accepts", script: []phase{{0, reply{state: unreachable}, 0}}, end: endFailed, after: newRetry, within: maxPause},
		{name: "starting", script: []phase{{0, reply{state: unreachable}, 0}, {time.Second, yes, 0}}, end: endAnswer, after: time.Second, within: maxPause},
		{name: "gone while nobody accepts", script: []phase{{0, reply{state: unreachable}, 0}, {time.Second, reply{state: absent}, 0}}, end: endFailed, after: time.Second, within: maxPause},
		{name: "restart while waiting", script: []phase{{0, reply{state: broken}, time.Minute}, {time.Minute, reply{state: unreachable}, 0},
			{70 * time.Second, reply{state: absent}, 0}, {80 * time.Second, reply{state: unavailable}, 0}, {90 * time.Second, yes, time.Minute}},
			end: endAnswer, after: 150 * time.Second, within: maxPause},
		{name: "a long restart", script: []phase{{0, reply{state: broken}, 0}, {1, reply{state: absent}, 0}, {5 * time.Minute, yes, 0}},
			end: endAnswer, after: 5 * time.Minute, within: awayPause},
		{name: "never again", script: []phase{{0, reply{state: broken}, time.Second}, {time.Second, reply{state: unreachable}, 0}}, end: endExpired, after: timeout},
		{name: "proxy's patience", script: []phase{{0, reply{state: gatewayLate}, time.Minute}, {2 * time.Minute, yes, 0}}, end: endAnswer, after: 2 * time.Minute, within: time.Minute},
		{name: "a proxy has lost the broker that held it", script: []phase{{0, reply{state: unreachable, status: 502}, time.Minute}, {time.Minute, reply{state: unavailable}, 0},
			{2 * time.Minute, yes, 0}}, end: endAnswer, after: 2 * time.Minute, within: awayPause},
		{name: "no broker behind a proxy that tries for long", script: []phase{{0, reply{state: unreachable, status: 502}, 5 * time.Second}}, end: endFailed, after: 5 * time.Second},
		{name: "a broker that breaks all the time", script: []phase{{0, reply{state: broken}, 0}}, end: endExpired, after: timeout},
		{name: "no answer", script: []phase{{0, reply{state: broken}, 2 * timeout}}, end: endExpired, after: timeout},
		{name: "agent gone in the wait", script: []phase{{0, reply{state: broken}, 2 * timeout}}, goneAt: time.Minute, end: endGone, after: time.Minute},
		{name: "a cluster chooses a leader", script: []phase{{0, reply{state: unavailable, retry: true}, 0}, {10 * time.Second, yes, time.Minute}},
			end: endAnswer, after: 70 * time.Second, within: electionPause},
		{name: "a cluster that stays away", script: []phase{{0, reply{state: unavailable, retry: true}, 0}}, end: endFailed, after: timeout},
		{name: "a broker that dies while its cluster is away", script: []phase{{0, reply{state: unavailable, retry: true}, 0}, {time.Second, reply{state: unreachable}, 0}, {time.Minute, yes, 0}},
			end: endAnswer, after: time.Minute, within: electionPause},
		{name: "a cluster away while it waits", script: []phase{{0, reply{state: broken}, time.Second}, {time.Second, reply{state: unavailable, retry: true}, 0}},
			end: endExpired, after: timeout},
		{name: "a slow disk", script: []phase{{0, reply{state: unavailable, soon: true}, 0}, {4 * time.Second, yes, time.Minute}},
			end: endAnswer, after: 64 * time.Second, within: maxPause},
		{name: "a disk that stays silent", script: []phase{{0, reply{state: unavailable, soon: true}, 0}, {5 * time.Second, reply{state: unavailable}, 0}},
			end: endFailed, after: 5 * time.Second, within: maxPause},
		{name: "a broker that dies while its disk is slow", script: []phase{{0, reply{state: unavailable, soon: true}, 0}, {5 * time.Second, reply{state: unreachable}, 0}},
			end: endFailed, after: 5 * time.Second, within: maxPause},
		{name: "another broker at once", brokers: 2, dead: reply{state: unreachable}, script: []phase{{0, yes, time.Minute}}, end: endAnswer, after: time.Minute},
		{name: "another broker than one without a record", brokers: 2, dead: reply{state: unavailable, retry: true}, script: []phase{{0, yes, 0}}, end: endAnswer},
		{name: "another broker than one that breaks", brokers: 2, dead: reply{state: broken}, script: []phase{{0, yes, 0}}, end: endAnswer},
		{name: "another broker than one that refuses", brokers: 3, dead: reply{state: refused}, script: []phase{{0, yes, 0}}, end: endAnswer},
		{name: "one starts, the others refuse", brokers: 2, dead: reply{state: refused}, script: []phase{{0, reply{state: unreachable}, 0}}, end: endFailed, after: newRetry, within: maxPause},
		{name: "all refuse", brokers: 3, dead: reply{state: refused}, script: []phase{{0, reply{state: refused}, 0}}, end: endFailed},
		{name: "id taken at one", brokers: 2, dead: reply{state: conflict}, script: []phase{{0, yes, 0}}, end: endAbstain},
		{name: "agent gone in a pause", script: []phase{{0, reply{state: unreachable}, 0}}, goneAt: 1500 * time.Millisecond, end: endGone, after: 1500 * time.Millisecond},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.goneAt > 0 {
					time.AfterFunc(c.goneAt, cancel)
				}
				ctx, stop := context.WithTimeout(gone, timeout)
				defer stop()
				start, last := time.Now(), 0
				_, end := persist(ctx, max(1, c.brokers), func(n int) reply {
					if n != last+1 {
						t.Errorf("attempt %d after %d", n, last)
					}
					if last = n; ctx.Err() != nil {
						t.Error("an attempt after the end")
					}
					if c.brokers > 0 && n%c.brokers == 1 {
						return c.dead
					}
					now := c.script[0]
					for _, p := range c.script {
						if time.Since(start) >= p.from {
							now = p
						}
					}
					select {
					case <-time.After(now.hold):
					case <-ctx.Done():
						return reply{state: broken}
					}
					return now.r
				})
				took := time.Since(start)
				if end != c.end || took < c.after || took > c.after+c.within {
					t.Errorf("ended with %d after %s in %d attempts, want %d after %s (+%s)", end, took, last, c.end, c.after, c.within)
				}
				if last > 4000 {
					t.Errorf("%d attempts", last)
				}
			})
		})
	}
}

// What connecting takes is taken off the time that the broker is told: its answer must come
// before this client gives up.
func TestRemainingAfterASlowConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		got := make(chan string, 1)
		go func() {
			b := make([]byte, 4<<10)
			n, _ := there.Read(b)
			got <- string(b[:n])
			there.Close()
		}()
		c := &client{deadline: time.Now().Add(10 * time.Second), to: &target{}}
		c.to.dial = func(context.Context) (net.Conn, error) {
			time.Sleep(2500 * time.Millisecond)
			return here, nil
		}
		c.attempt(t.Context(), &request{to: c.to, event: &c.event, remaining: 10 * time.Second})
		if head := <-got; !strings.Contains(head, hook.HeaderRemaining+": 7500\r\n") {
			t.Errorf("the broker was told\n%s", head)
		}
	})
}
