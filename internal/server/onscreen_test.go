package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
)

// TestOnScreen: of a device that may answer it is kept that it has a request on its screen, while that waits; of programs and of devices
// that may only look, nothing.
func TestOnScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var saw []string
		g := newRig(t, server.Config{Saw: func(request string, by hook.Approver, key string) {
			mu.Lock()
			defer mu.Unlock()
			saw = append(saw, strings.Join([]string{request, by.Kind, by.Name, key}, " "))
		}})
		defer g.stop()
		p, looks := g.paired(auth.RoleApprove, "phone"), g.paired(auth.RoleView, "wall")
		w, over := g.raise(call{unix: true, body: bash("x")}), g.raise(call{unix: true, body: bash("y")})
		g.decide(over.id, `{"behavior":"deny","inputSha256":"`+g.get(over.id).InputSHA256+`"}`)
		<-over.reply
		synctest.Wait()
		tell := func(token string, ids ...string) int {
			return g.post("/v1/shown", token, fields{"requests": ids}).status
		}
		if s := tell(looks.bearer, w.id); s != http.StatusForbidden {
			t.Errorf("a device that may only look: %d", s)
		}
		for _, token := range []string{g.tokens[auth.RoleApprove], g.tokens[auth.RoleAdmin], p.bearer} {
			if s := tell(token, over.id, "x", strings.ToUpper(w.id), uuid.NewString()); s != http.StatusNoContent {
				t.Errorf("%d", s)
			}
		}
		if s := tell(p.bearer, make([]string, 51)...); s != http.StatusBadRequest {
			t.Errorf("too many: %d", s)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := w.id + " device phone " + auth.Thumbprint(p.key.JWK()); len(saw) != 1 || saw[0] != want {
			t.Errorf("kept %q, want %q", saw, want)
		}
	})
}

// TestTraceHasScreens: who had a request on the screen stands in its trace, where it was recorded, and nowhere else.
func TestTraceHasScreens(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("x")})
		asked := g.get(w.id)
		by := hook.Approver{Kind: hook.KindDevice, ID: "d", Name: "phone"}
		seen := hook.Record{ID: uuid.NewString(), RequestID: hook.ShownEntry(w.id), Step: hook.StepShown, Time: time.Now(), By: &by, Key: "k"}
		if _, err := g.log.Append(t.Context(), seen, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if q := g.get(w.id); q.State != "pending" || q.DecidedBy != nil {
			t.Errorf("it changed the request: %+v", q)
		}
		g.decide(w.id, `{"behavior":"deny","inputSha256":"`+asked.InputSHA256+`"}`)
		<-w.reply
		synctest.Wait()
		var steps []string
		for _, doc := range validList(t, "Record", g.call(call{path: "/v1/requests/" + w.id + "/trace", token: g.tokens[auth.RoleView]}).body) {
			steps = append(steps, string(decode[api.Record](t, string(doc)).Step))
		}
		if got := strings.Join(steps, " "); !strings.HasPrefix(got, "asked shown decided") {
			t.Errorf("steps: %s", got)
		}
		audited := g.call(call{path: "/v1/requests/" + w.id + "/audit", token: g.tokens[auth.RoleView]}).body
		valid(t, "AuditTrace", audited)
		if s := decode[api.AuditTrace](t, audited).Steps[1]; s.Step != hook.StepShown || s.By.Name != "phone" || s.Key != "k" || s.Shown != "" || s.Signature != "" {
			t.Errorf("audited: %+v", s)
		}
		if list := validList(t, "PermissionRequest", g.call(call{path: "/v1/requests?state=ended", token: g.tokens[auth.RoleView]}).body); len(list) != 1 {
			t.Errorf("%d requests ended", len(list))
		}
	})
}
