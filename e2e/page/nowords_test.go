package page

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"assent/e2e/rig"
)

// The card of an agent that takes no words, as over ACP: no field for a note, and the two answers side by side
// within the card, on a phone and on a wide screen.
func TestCardOfAnAgentThatTakesNoWords(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	ask := func(agent, session, tool, input string) chan int {
		payload := fmt.Sprintf(`{"hook_event_name":"PermissionRequest","session_id":%q,"cwd":"/srv/shop","tool_name":%q,"tool_use_id":"c1","tool_input":%s,"acp":{"input":"raw","kind":"execute"}}`, session, tool, input)
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://assent/v1/hooks", strings.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Assent-Request-Id": uuid.NewString(), "Assent-Attempt": "1", "Assent-Agent": agent, "Assent-Via": "acp"} {
			req.Header.Set(name, value)
		}
		done := make(chan int, 1)
		go func() {
			res, err := d.SocketClient().Do(req)
			if err != nil {
				done <- 0
				return
			}
			_ = res.Body.Close()
			done <- res.StatusCode
		}()
		return done
	}
	done := ask("acp:gemini-cli", "s1", "acp:execute", `{"command":"git push --force origin main"}`)
	r := d.WaitPending(1)[0]
	card := rig.Part("card") + `[data-request="` + r.ID + `"]`
	b.See(card+" [data-ui=agent]", "Gemini-cli")
	for name, size := range map[string]func(){"phone": func() { b.Do(rig.Phone) }, "desktop": func() { b.Do(rig.Desktop) }} {
		size()
		if b.Has(card + " [data-ui=note]") {
			t.Errorf("%s: a note is offered", name)
		}
		if where := b.Text("body"); strings.Contains(where, "Claude") {
			t.Errorf("%s: the page speaks of Claude:\n%s", name, where)
		}
	}
	if more, deny := b.Box(card+" [data-action=other]"), b.Box(card+" [data-action=deny]"); math.Abs(more.Y-deny.Y) > 1 {
		t.Errorf("the other answers are at %v, not beside %v", more, deny)
	}
	b.Looks("no-words")
	b.Do(rig.Phone)
	b.Tap(card + " [data-action=other]")
	b.See(card+" [data-ui=menu] [data-mode=handback]", rig.Word("answer.editorMode"))
	b.Looks("no-words-menu")
	b.Do(rig.Phone)
	b.Tap(card + " [data-action=other]")
	b.Do(rig.Phone)
	b.Decide("[data-action=deny]", rig.Word("outcome.denied"))
	if status := <-done; status != http.StatusOK {
		t.Errorf("the agent got %d", status)
	}
	b.Quiet()
}
