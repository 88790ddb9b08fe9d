package server_test

import (
	"testing"
	"testing/synctest"

	"assent/internal/auth"
	reader "assent/internal/policy/files"
	"assent/internal/server"
)

// TestViewSaysHowACommandIsRead: the list, the request and what watchers get agree with the
// schema, with units of every kind.
func TestViewSaysHowACommandIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{Reading: reader.Reading("/home/dev")})
		defer g.stop()
		f := g.follow("")
		f.next()
		w := g.raise(call{unix: true, body: bash(`cd /tmp && X=1 timeout 5 sort < a > "b$c"; sudo sh -c 'rm -rf x' $(ls)`)})
		f.next()
		live := f.state[w.id]
		if len(live.Units) < 6 || len(live.Doubts) == 0 || live.Units[0].Program != "cd" || live.Units[0].Text != "cd /tmp" {
			t.Errorf("units %+v, doubts %+v", live.Units, live.Doubts)
		}
		if one := g.get(w.id); len(one.Units) != len(live.Units) {
			t.Errorf("the request has %d units, the live message %d", len(one.Units), len(live.Units))
		}
		list := validList(t, "PermissionRequest", g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]}).body)
		if len(list) != 1 || len(decode[requestDoc](t, string(list[0])).Units) != len(live.Units) {
			t.Errorf("the list says %s", list)
		}
		w.cancel()
	})
}
