package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

func TestPageAnswersAWaitingHook(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--listen", rig.FreePort(t)) // the same after the restart: the page's origin
	b := rig.NewBrowser(t)
	url := d.PairingURL()
	b.Do(chromedp.Navigate(url))
	b.See("main", rig.Word("empty.head"))
	b.Rest()
	b.Shot("empty.png")
	if address := rig.Value(b, chromedp.Location()); strings.Contains(address, "#") {
		t.Errorf("the pairing code stays in the address %s", address)
	}

	payload, err := os.ReadFile(filepath.Join("..", "..", "schemas", "examples", "hooks", "PermissionRequest.json"))
	if err != nil {
		t.Fatal(err)
	}
	b.Allows(d, payload)
	b.DeniesWithWords(d, payload)
	b.SaysWhoAnswered(d, payload)
	b.SaysThatTheTerminalAnswered(d, payload)
	b.ShowsHostileText(d)
	b.SurvivesARestart(d, payload)

	b.Gone() // the cards of what is over go away by themselves
	b.See("main", rig.Word("empty.head"))

	// The link works once. Another name of the host is another origin, without this one's key.
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(strings.Replace(url, "127.0.0.1", "localhost", 1)))
	b.See("main", rig.Word("door.head"))
	b.Quiet()
}

func TestPageWithoutPairingShowsNothing(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	h := d.Hook(rig.Bash("secret-session", "echo secret-command"))
	d.WaitPending(1)
	url, token := d.Owner()
	b.Do(chromedp.Navigate(url))
	b.See("main", rig.Word("door.head"))
	b.Shot("unpaired.png")
	if s := b.Text("body"); strings.Contains(s, "secret") {
		t.Errorf("an unpaired page shows %q", s)
	}
	// A token does as well, until the page is closed.
	b.Do(chromedp.SendKeys(chromedp.CSS("form input"), token))
	b.Tap("form button")
	b.See(rig.Open, "echo secret-command")
	b.Do(chromedp.Reload())
	b.See("main", rig.Word("door.head"))
	d.Allow(d.Pending()[0])
	h.Wait()
}

// TestPageUnfoldsWhatWasSettled: a long command is not cut for good when it is over.
func TestPageUnfoldsWhatWasSettled(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	h := d.Hook(rig.Bash("s", "set -e\n"+strings.Repeat("make target\n", 8)+"rm -rf build"))
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.See("[data-ui=past] [data-ui=summary]", "set -e …")
	if s := b.Text("[data-ui=past] [data-ui=summary]"); strings.Contains(s, "rm -rf") {
		t.Errorf("folded it shows %q", s)
	}
	b.Looks("folded")
	b.Tap("[data-ui=past] button")
	b.See("[data-ui=past] [data-ui=summary]", "rm -rf build")
	b.Looks("unfolded")
	b.Tap("[data-ui=past] button")
	b.See("[data-ui=past] button", rig.Word("past.all"))
	b.Quiet()
}

// TestPageAnswersClaude goes the whole way: the real client asks, a thumb on the page answers,
// and the record can prove whose it was.
func TestPageAnswersClaude(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	b := rig.NewBrowser(t)
	b.Pair(a.Daemon)
	b.Rest()
	term := a.Terminal([]modelserver.Use{a.Touch("out.txt")})
	b.See(rig.Open, "touch "+a.Path("out.txt"))
	a.Dialog(term)
	b.Tap(rig.Open + " [data-action=allow]")
	b.See(rig.Over+" [data-ui=outcome]", rig.Word("outcome.allowed"))
	if res := a.ModelDone(); len(res) != 1 || res[0].IsError {
		t.Errorf("the model read %+v", res)
	}
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	r := a.Settled()[0]
	a.Until(r.ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
	a.Signed(r.ID)
	b.Quiet()
}
