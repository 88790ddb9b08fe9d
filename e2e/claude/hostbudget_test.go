package claude

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/api"
	"assent/internal/hook"
)

// A session that has spent its budget stops and asks: devices are told, the page says how much was spent of what and
// asks for more, and what is allowed there, signed by the device, has the same session go on.
func TestASpentBudgetIsAskedAbout(t *testing.T) {
	t.Parallel()
	x, b := newPhone(t, "    budgetUsd: 8")
	told := make(chan string, 100)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var doc struct {
			Type string
			Data struct{ Waits string }
		}
		if json.NewDecoder(r.Body).Decode(&doc) == nil {
			told <- strings.TrimSpace(doc.Type + " " + doc.Data.Waits)
		}
	}))
	t.Cleanup(service.Close)
	x.WriteNotices(fmt.Sprintf("notices:\n  - {name: bot, webhook: %q, secret: %q, after: 0s}\n", service.URL, "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32))))
	x.serve()
	b.Rest()
	b.View("Sessions")
	b.Tap("[data-ui=agents] button[data-agent=coder]")

	echo := []modelserver.Use{rig.Run("echo x")}
	session := func() (s api.AgentSession) {
		if l := x.agents(); len(l) == 1 && len(l[0].Sessions) == 1 {
			s = l[0].Sessions[0]
		}
		return s
	}
	// last is the newest message, once it is over.
	last := func(n int) (m hook.Message) {
		t.Helper()
		rig.Eventually(t, time.Minute, fmt.Sprint("message ", n, " is over"), func() bool {
			id := session().SessionID
			if id == "" {
				return false
			}
			var list []hook.Message
			x.Get("/v1/sessions/"+id+"/messages", &list)
			if len(list) == n {
				m = list[n-1]
			}
			return m.State == hook.MessageEnded
		})
		return m
	}
	say := func(prompt string, n int) hook.Message {
		t.Helper()
		b.See("[data-ui=composer]", rig.Word("say.send"))
		b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=composer] textarea"), prompt))
		b.Tap("[data-ui=composer] [data-action=say]:enabled")
		return last(n)
	}
	const budget = "[data-ui=start-agent] input[name=budget]"
	b.See("[data-ui=start-agent]", x.work)
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=start-agent] textarea"), modelserver.Prompt()), chromedp.SetValue(chromedp.CSS(budget), ""), chromedp.SendKeys(chromedp.CSS(budget), "5"))
	b.Tap("[data-ui=start-agent] [data-action=start-agent]:enabled")
	m := last(1)
	// costs waits until the session has cost more than before.
	costs := func(before float64) (now float64) {
		t.Helper()
		rig.Eventually(t, time.Minute, "the cost is told", func() bool { now = session().CostUSD; return now > before })
		return now
	}
	first := costs(0)
	x.Model.Costs(1020)
	say(modelserver.Prompt(), 2)
	spent := costs(first)
	token := (spent - 2*first) / 1000

	// Ten more calls are $5.10: the tenth is the one that passes it, and there is no eleventh.
	x.Model.Costs(20 + int(math.Round(((5.10-spent)/10-first)/token)))
	calls := len(x.Model.Calls())
	over := say(modelserver.Prompt(slices.Repeat([][]modelserver.Use{echo}, 15)...), 3)
	if over.Outcome != hook.OutcomeFailed || len(x.Model.Calls()) != calls+10 {
		t.Errorf("after %d calls more: %+v", len(x.Model.Calls())-calls, over)
	}
	if got := <-told; got != "turn.blocked budget" {
		t.Errorf("told %q", got)
	}
	const card = "[data-ui=last-turn]"
	b.See(card, rig.Word("lastTurn.budgetMore", "$5.10", "$5", "$3"))
	b.Looks("budget-spent")

	x.Model.Costs(20)
	b.Tap(card + " [data-action=go-on]:enabled")
	b.See(card, rig.Word("lastTurn.costOf", "$5.10", "$8"))
	b.See(card, rig.Word("lastTurn.completed"))
	if s := session(); s.BudgetUSD != 8 || s.CostUSD <= 5.09 {
		t.Errorf("%+v", s)
	}
	if more := last(4); more.Kind != hook.MessageResume || more.Options == nil || more.Options.BudgetUSD != 8 || more.By.Kind != "device" || more.Outcome != hook.OutcomeCompleted || more.SessionID != m.SessionID {
		t.Errorf("%+v", more)
	}
	select {
	case more := <-told:
		t.Errorf("told %q, too", more)
	default:
	}
}
