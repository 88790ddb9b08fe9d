package relay

import (
	"testing"

	"assent/e2e/rig"
)

// TestRelay is the way of a phone: it opens NAME.DOMAIN, pairs, and allows a request. Then the relay is
// killed, and is back.
func TestRelay(t *testing.T) {
	w := newWorld(t)
	w.start()
	d := w.broker(w.token("box"))
	d.Start()
	w.served("box")
	b := rig.NewBrowser(t, w.root())
	b.ApprovesOver(d, w.page("box"))
}
