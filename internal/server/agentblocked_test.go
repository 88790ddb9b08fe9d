package server_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
)

// What a session of a host's agent waits for is published once, without what it is about; that of others is not.
func TestAgentThatWaitsIsPublished(t *testing.T) {
	withHosts(t, func(t *testing.T, g *hostRig) {
		p := g.paired(auth.RoleOperate, "phone")
		g.host(coder)
		g.send("coder", p.bearer, p.toAgent("coder", aSession, hook.MessagePrompt, "fix it", nil))
		synctest.Wait()
		waits := func() (found []string) {
			g.mu.Lock()
			defer g.mu.Unlock()
			for _, e := range g.published {
				if strings.HasPrefix(e, "coder.session.blocked ") {
					valid(t, "AgentEvent", strings.TrimPrefix(e, "coder.session.blocked "))
					found = append(found, e)
				}
			}
			return found
		}
		fails := func(err error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.refuses = err
		}
		g.hook("make secret")
		if w := waits(); len(w) != 0 {
			t.Errorf("another's session: %q", w)
		}
		fails(errors.New("away"))
		w := g.raise(call{unix: true, body: strings.Replace(bash("make secret"), `"s1"`, `"`+aSession+`"`, 1)})
		synctest.Wait()
		fails(nil)
		synctest.Wait()
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		got := waits()
		if len(got) != 1 || !strings.Contains(got[0], w.id) || !strings.Contains(got[0], "asks for permission to use Bash") || strings.Contains(got[0], "secret") {
			t.Errorf("%q", got)
		}
	})
}
