package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// seenSize is how many leaves the tree over the record had that this browser saw last; 0 before it saw any.
const seenSize = `Number(JSON.parse(localStorage.getItem("assent.record") ?? "{}").seen?.split("\n")[1] ?? 0)`

// TestPageNoticesAnOlderRecord puts the broker's state directory back to an older copy, and then has another history grow
// from that: a device that has seen the newer one says so, also after a reload, until a person taps it away.
func TestPageNoticesAnOlderRecord(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--listen", rig.FreePort(t)) // the same after the restart: the page's origin
	b := rig.NewBrowser(t)
	b.Pair(d)
	const alarm = "[data-ui=record]"
	url, _ := d.Owner()
	old := filepath.Join(rig.TempDir(t), "old")
	decide := func(command string) {
		t.Helper()
		h := d.Hook(rig.Bash("s", command))
		d.Deny(d.WaitPending(1)[0], "no")
		h.Wait()
	}
	sees := func(more int) int {
		t.Helper()
		size := 0
		rig.Eventually(t, rig.Soon, "the page has seen "+strconv.Itoa(more)+" leaves", func() bool {
			size = rig.Value(b, chromedp.Evaluate[int](seenSize))
			return size >= more
		})
		return size
	}
	putBack := func() {
		t.Helper()
		d.Stop()
		if err := os.RemoveAll(d.State); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-a", old, d.State).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		d.Start()
	}

	decide("make one")
	b.Do(chromedp.Reload())
	first := sees(3)
	d.Stop()
	if out, err := exec.Command("cp", "-a", d.State, old).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.Start()
	decide("make two")
	b.Do(chromedp.Reload())
	sees(first + 2)
	if b.Has(alarm) {
		t.Errorf("a record that went on: %s", b.Text(alarm))
	}
	b.Quiet()

	// The checkpoints' key is kept. Where another one of the same name signed them, that is said; nothing else changes.
	const change = `(() => {
		const k = JSON.parse(localStorage.getItem("assent.record"));
		const was = k.keys[0];
		k.keys[0] = was.split("+").slice(0, 2).join("+") + "+AbKWelChiAX8Ows4RxXLvDEfuN+PKThkX8BjHpoUOqQy";
		localStorage.setItem("assent.record", JSON.stringify(k));
		localStorage.setItem("test.was", was);
		return k.keys.length;
	})()`
	if n := rig.Value(b, chromedp.Evaluate[int](change)); n != 1 {
		t.Errorf("%d keys are kept", n)
	}
	b.Do(chromedp.Reload())
	b.See(alarm, rig.Word("record.unsigned"))
	b.Accessible("record-unsigned")
	b.Looks("record-unsigned")
	rig.Value(b, chromedp.Evaluate[int](`(() => {
		const k = JSON.parse(localStorage.getItem("assent.record"));
		k.keys[0] = localStorage.getItem("test.was");
		localStorage.setItem("assent.record", JSON.stringify(k));
		return 0;
	})()`))
	b.Do(chromedp.Reload())
	b.See("[data-ui=link]", rig.Word("link.live"))
	if b.Has(alarm) {
		t.Errorf("with the right key: %s", b.Text(alarm))
	}

	// The same page, open all the while, says it with its next connection. The request that waits can be answered still.
	putBack()
	b.See(alarm, rig.Word("record.older"))
	h := d.Hook(rig.Bash("s", "make three"))
	b.See(rig.Open, "make three")
	b.See(alarm, "Somebody restored an old copy")
	b.Accessible("record-older")
	b.NothingCut("record-older")
	b.Looks("record-older")
	b.Do(chromedp.Reload())
	b.See(alarm, rig.Word("record.older"))
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()

	b.Tap(alarm + " [data-action=accept]")
	b.Tap(alarm + " [data-action=yes]")
	rig.Eventually(t, rig.Soon, "the alarm is gone", func() bool { return !b.Has(alarm) })
	b.Do(chromedp.Reload())
	b.See("[data-ui=link]", rig.Word("link.live"))
	sees(first + 2)
	if b.Has(alarm) {
		t.Errorf("what was accepted is said again: %s", b.Text(alarm))
	}

	// Another history of the same length and more, while nobody looked.
	b.Do(chromedp.Navigate("about:blank"))
	putBack()
	decide("make four")
	decide("make five")
	b.Do(chromedp.Navigate(url))
	b.See(alarm, rig.Word("record.changed"))
	b.Accessible("record-changed")
}
