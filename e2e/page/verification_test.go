package page

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/auth"
)

// face is the part of a browser's system that asks for its owner.
type face struct {
	b  *rig.Browser
	id webauthn.AuthenticatorID
}

func newFace(b *rig.Browser) *face {
	b.Do(rig.Send(webauthn.Enable, webauthn.EnableParams{}))
	f := &face{b: b}
	b.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		added, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}})
		if err == nil {
			f.id = added.AuthenticatorID
		}
		return err
	}))
	return f
}

// owner says whether who is asked is the owner.
func (f *face) owner(yes bool) {
	f.b.Do(rig.Send(webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: f.id, IsUserVerified: yes}))
}

// pairAtLocalhost is Pair under a name, as browsers want it.
func pairAtLocalhost(b *rig.Browser, d *rig.Daemon) {
	url, _ := d.Owner()
	url = strings.Replace(url, "127.0.0.1", "localhost", 1)
	b.Do(chromedp.Navigate(url))
	b.Tap(rig.PairHere)
	d.LetIn(b.Code(""))
	b.See("[data-ui=link]", rig.Word("link.live"))
}

const offer = "[data-ui=verify-offer]"

// TestPageVerifiesItsOwner: on a phone the page asks after pairing; from then on what is dangerous is
// allowed only when its owner confirms that, and nothing is when they do not.
func TestPageVerifiesItsOwner(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	f := newFace(b)
	risky(b, map[string]string{"sudo": "calm"}) // a page that knows nothing of it
	pairAtLocalhost(b, d)

	b.See(offer, rig.Word("verify.offer"))
	b.Accessible("verify-offer")
	f.owner(false)
	b.Tap(offer + " [data-action=verify-on]")
	b.See(offer, rig.Word("verify.notTurnedOn"))
	f.owner(true)
	b.Tap(offer + " [data-action=verify-on]")
	b.See(offer, rig.Word("verify.on"))
	if said := d.Command("device", "list"); !strings.Contains(said, "yes") {
		t.Errorf("the list of devices says %s", said)
	}

	f.owner(false)
	h := d.Hook(rig.Bash("s", "rm -rf /home/dev/build"))
	b.Tap(allowButton)
	b.See(rig.Open+" [data-ui=outcome]", rig.Word("verify.refused"))
	b.Looks("verify-refused")
	r := d.WaitPending(1)[0]
	if len(d.Trace(r.ID)) != 1 {
		t.Errorf("something was recorded: %+v", d.Trace(r.ID))
	}
	f.owner(true)
	b.Tap(allowButton)
	if out := h.Wait(); out != rig.Allowed {
		t.Fatalf("the hook printed %s", out)
	}
	verified(t, d, r.ID)
	if said := d.Command("trace", r.ID); !strings.Contains(said, "confirmed with face, fingerprint or PIN") || !strings.Contains(said, ", verified") {
		t.Errorf("trace says %s", said)
	}

	// The broker asks for it where the page did not know; and a harmless request needs none.
	f.owner(false)
	b.Do(chromedp.Reload())
	b.See("[data-ui=link]", rig.Word("link.live"))
	plain := d.Hook(rig.Bash("s", "ls"))
	b.Tap(allowButton)
	if out := plain.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	f.owner(true)
	h = d.Hook(rig.Bash("s", "sudo reboot"))
	b.See(rig.Open, "sudo reboot")
	r = d.WaitPending(1)[0]
	b.Tap(allowButton)
	if out := h.Wait(); out != rig.Allowed {
		t.Fatalf("the hook printed %s", out)
	}
	verified(t, d, r.ID)

	// A grant wants it too, though what it allows is harmless.
	f.owner(false)
	h = d.Hook(rig.Bash("s", "npm test"))
	b.See(rig.Open, "npm test")
	b.Mode("always")
	b.Tap(rig.Open + " [data-ui=suggestion][data-kind=rule] [data-ui=option]")
	b.See(rig.Open+" [data-ui=obstacle]", "Will be saved for 15 minutes.")
	b.Tap(allowButton)
	b.See(rig.Open+" [data-ui=outcome]", rig.Word("verify.refused"))
	var grants []api.Saved
	if d.Get("/v1/grants", &grants); len(grants) != 0 {
		t.Errorf("saved without the owner: %+v", grants)
	}
	f.owner(true)
	b.Tap(allowButton)
	if out := h.Wait(); out != rig.Allowed {
		t.Fatalf("the hook printed %s", out)
	}
	if d.Get("/v1/grants", &grants); len(grants) != 1 || !grants[0].By.Verified || grants[0].Verification == nil {
		t.Errorf("saved as %+v", grants)
	}

	// The list of what was decided says so, and the switch turns it off, for its owner only.
	b.Tap("[data-ui=views] button:nth-child(3)")
	b.See("main", rig.Word("verify.confirmed")) // in a row of several
	b.Looks("verify-history")
	b.Tap("[data-action=settings]")
	b.See("[data-ui=verify][data-state=on]", rig.Word("verify.label"))
	b.Accessible("verify-on")
	f.owner(false)
	b.Tap("[data-ui=verify] input")
	b.See("[data-ui=verify]", rig.Word("verify.notTurnedOff"))
	f.owner(true)
	b.Tap("[data-ui=verify] input")
	b.See("[data-ui=verify][data-state=off]", rig.Word("verify.off"))
	b.Looks("verify-off")
	b.Quiet()
}

// verified holds the record of a request to have a proof that fits.
func verified(t *testing.T, d *rig.Daemon, id string) {
	t.Helper()
	var records []api.Record
	d.Get("/v1/requests/"+id+"/trace", &records)
	for _, rec := range records {
		if rec.Decision == nil {
			continue
		}
		if !rec.By.Verified || !auth.VerifiedDecision(id, *rec.Decision) {
			t.Errorf("the record does not prove it: %+v", rec)
		}
		return
	}
	t.Error("nothing was decided")
}

// TestPageSaysWhyItCannotVerify: under an numeric address, and without a face to ask for.
func TestPageSaysWhyItCannotVerify(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--require-verification", "danger")
	b := rig.NewBrowser(t)
	newFace(b)
	b.Pair(d)
	b.Tap("[data-action=settings]")
	b.See("[data-ui=verify]", "numeric address")
	b.See("[data-ui=verify]", rig.Word("verify.required"))
	if !b.Has("[data-ui=verify] input[disabled]") {
		t.Error("it can be switched")
	}
	b.Looks("verify-why")
	b.Tap("[data-ui=views] button:nth-child(1)")
	h := d.Hook(rig.Bash("s", "rm -rf /home/dev/build"))
	b.Tap(allowButton)
	b.See(rig.Open+" [data-ui=outcome]", "under You, Devices")
	b.Looks("verify-wanted")
	d.Allow(d.WaitPending(1)[0]) // the owner on this machine
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	b.Quiet()
}
