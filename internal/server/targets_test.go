package server_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"assent/internal/auth"
	"assent/internal/hook"
)

// TestSocketTakesNoCommands: whatever a client says on a WebSocket, even in the words of the API, has
// no effect, and the socket goes on telling.
func TestSocketTakesNoCommands(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("ls")})
		q := g.get(w.id)
		decision := `{"behavior":"allow","inputSha256":"` + q.InputSHA256 + `"}`
		conn, _, err := g.socket("", g.tokens[auth.RoleAdmin], nil) // who may do everything
		if err != nil {
			t.Fatal(err)
		}
		f := &follower{t: t, conn: conn, state: map[string]requestDoc{}}
		f.until(func() bool { return f.state[w.id].ID != "" })
		steps := g.log.Len()
		for _, frame := range []string{
			decision, `{"type":"decision","id":"` + w.id + `",` + decision[1:],
			`{"type":"decide","requestId":"` + w.id + `","decision":` + decision + `}`,
			`{"method":"POST","path":"/v1/requests/` + w.id + `/decision","body":` + decision + `}`,
			"POST /v1/requests/" + w.id + "/decision HTTP/1.1\r\nHost: 127.0.0.1:7717\r\nAuthorization: Bearer " + g.tokens[auth.RoleAdmin] + "\r\n\r\n" + decision,
			`{"type":"permission_response","permission":"allow"}`, `{"jsonrpc":"2.0","method":"decide","params":["` + w.id + `","allow"]}`,
			`null`, `[]`, `{`, "", strings.Repeat("x", 4000),
		} {
			for _, kind := range []int{websocket.TextMessage, websocket.BinaryMessage} {
				if err := conn.WriteMessage(kind, []byte(frame)); err != nil {
					t.Fatalf("%.40q: %v", frame, err)
				}
			}
			for _, kind := range []int{websocket.PingMessage, websocket.PongMessage} {
				if err := conn.WriteControl(kind, []byte(frame[:min(len(frame), 125)]), time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		if g.log.Len() != steps || g.get(w.id).State != "pending" {
			t.Errorf("something was recorded: %+v", g.get(w.id))
		}
		other := g.raise(call{unix: true, body: bash("pwd")})
		f.until(func() bool { return f.state[other.id].ID != "" })
		w.cancel()
		other.cancel()
		<-w.reply
		<-other.reply
		_ = conn.Close()
	})
}

// TestDecisionsHitWhatTheyName: while requests come and go at random, each decision answers the
// request that it names and no other, those who name what is gone or show another input are told so,
// and nobody is answered without a decision. Many of the inputs are equal.
func TestDecisionsHitWhatTheyName(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		steps := 1500
		if testing.Short() {
			steps = 300
		}
		rng := rand.New(rand.NewPCG(16, 16))
		sums := map[string]string{} // of commands
		sumOf := func(w *waiting, command string) string {
			if sums[command] == "" {
				sums[command] = g.get(w.id).InputSHA256
			}
			return sums[command]
		}
		open, commandOf := map[string]*waiting{}, map[string]string{}
		var order, over []string
		pick := func() string { return order[rng.IntN(len(order))] }
		gone := func(id string) {
			delete(open, id)
			order = slices.DeleteFunc(order, func(x string) bool { return x == id })
			over = append(over, id)
		}
		answers := func(id, behavior string) string {
			body := map[string]any{"behavior": behavior, "inputSha256": sumOf(open[id], commandOf[id])}
			if behavior == "deny" {
				body["message"] = "the answer to " + id
			}
			return mustJSON(body)
		}
		for range steps {
			switch n := rng.IntN(10); {
			case len(order) < 3 || n < 4 && len(order) < 30:
				command := fmt.Sprint("touch ", rng.IntN(4))
				w := g.raise(call{unix: rng.IntN(2) == 0, token: g.tokens[auth.RoleSubmit], body: bash(command)})
				open[w.id], commandOf[w.id] = w, command
				order = append(order, w.id)
			case n < 7:
				id := pick()
				behavior := []string{"allow", "deny"}[rng.IntN(2)]
				if r := g.decide(id, answers(id, behavior)); r.status != http.StatusOK {
					t.Fatalf("%d %s", r.status, r.body)
				}
				synctest.Wait()
				select {
				case r := <-open[id].reply:
					got := decode[hookAnswer](t, r.body).HookSpecificOutput.Decision
					if r.err != nil || string(got.Behavior) != behavior || behavior == "deny" && got.Message != "the answer to "+id {
						t.Fatalf("%s of %s came as %d %s %v", behavior, id, r.status, r.body, r.err)
					}
				default:
					t.Fatalf("%s was decided and not answered", id)
				}
				gone(id)
			case n == 7: // its hook goes away
				id := pick()
				open[id].cancel()
				<-open[id].reply
				synctest.Wait()
				gone(id)
			case n == 8: // the digest of another one
				id, other := pick(), pick()
				if commandOf[id] == commandOf[other] {
					continue
				}
				body := strings.Replace(answers(id, "allow"), sums[commandOf[id]], sumOf(open[other], commandOf[other]), 1)
				if r := g.decide(id, body); r.status != http.StatusConflict && r.status != http.StatusUnprocessableEntity && r.status != http.StatusBadRequest {
					t.Fatalf("a decision about another input: %d %s", r.status, r.body)
				}
			case len(over) > 0: // one that is over
				id := over[rng.IntN(len(over))]
				if r := g.decide(id, `{"behavior":"allow","inputSha256":"`+strings.Repeat("0", 64)+`"}`); r.status == http.StatusOK {
					t.Fatalf("%s is over, and was decided: %s", id, r.body)
				}
			}
			for id, w := range open {
				select {
				case r := <-w.reply:
					t.Fatalf("%s was answered by nobody: %d %s %v", id, r.status, r.body, r.err)
				default:
				}
			}
		}
		var ids []string
		for _, q := range validList(t, "PermissionRequest", g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]}).body) {
			q := decode[requestDoc](t, string(q))
			if !q.Detached { // those of remote hooks that went wait for a moment
				ids = append(ids, q.ID)
			}
		}
		if want := slices.Sorted(maps.Keys(open)); !slices.Equal(slices.Sorted(slices.Values(ids)), want) {
			t.Errorf("waiting are %q, want %q", ids, want)
		}
		for _, w := range open {
			w.cancel()
			<-w.reply
		}
	})
}

type hookAnswer struct {
	HookSpecificOutput struct {
		Decision struct {
			Behavior hook.Behavior
			Message  string
		}
	}
}
