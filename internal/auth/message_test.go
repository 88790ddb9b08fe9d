package auth_test

import (
	"strings"
	"testing"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

// TestMessageTextHasOptions: what is signed names each option, and one without options is the text of before.
func TestMessageTextHasOptions(t *testing.T) {
	m := hook.Message{ID: "i", Agent: "coder", SessionID: "s", Kind: hook.MessagePrompt, Prompt: "p", ExpiresAt: "2026-11-22T10:00:00Z"}
	plain := string(auth.MessageText(m))
	if lines := strings.Split(plain, "\n"); len(lines) != 8 || lines[6] != "" {
		t.Errorf("without options: %q", lines)
	}
	m.Options = &hook.MessageOptions{}
	if got := string(auth.MessageText(m)); got != plain {
		t.Errorf("empty options are signed as %q", got)
	}
	seen := map[string]bool{plain: true}
	for _, o := range []hook.MessageOptions{{BudgetUSD: 2.5}, {BudgetUSD: 25}, {TimeoutSeconds: 60}, {AutoPR: true}, {BudgetUSD: 2.5, TimeoutSeconds: 60, AutoPR: true}} {
		m.Options = &o
		if got := string(auth.MessageText(m)); seen[got] {
			t.Errorf("%+v is signed as another", o)
		} else {
			seen[got] = true
		}
	}
	// What docs/hosts.md says, so that a page in JavaScript signs the same.
	m.Options = &hook.MessageOptions{BudgetUSD: 2.5, TimeoutSeconds: 60, AutoPR: true}
	want := "assent message v1\ni\ncoder\ns\nprompt\n148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940\n" +
		"18d929e1921d2a4d1153eb96ccebe8150dc2b4c4a4535f44ded0fc6eaaef8828\n2026-11-22T10:00:00Z"
	if got := string(auth.MessageText(m)); got != want {
		t.Errorf("got %q", got)
	}
}

// TestMessageTextHasHost: what names its host is signed for that one, and no option, text or id can look like it.
func TestMessageTextHasHost(t *testing.T) {
	m := hook.Message{ID: "i", Agent: "coder", SessionID: "s", Kind: hook.MessageCancel, ExpiresAt: "2026-11-22T10:00:00Z", HostID: "box#0123456789abcdef"}
	want := "assent message v2\ni\ncoder\ns\ncancel\n\n\n2026-11-22T10:00:00Z\nbox#0123456789abcdef"
	if got := string(auth.MessageText(m)); got != want {
		t.Errorf("got %q", got)
	}
}

// TestThumbprint: it is that of RFC 7638, of the example key of RFC 7517.
func TestThumbprint(t *testing.T) {
	k := hook.JWK{Kty: "EC", Crv: "P-256", X: "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", Y: "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}
	if got, want := auth.Thumbprint(k), "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHostStandsApart: a host's token does nothing but host, and nobody else hosts, the owner least of all.
func TestHostStandsApart(t *testing.T) {
	roles := []auth.Role{auth.RoleSubmit, auth.RoleView, auth.RoleApprove, auth.RoleOperate, auth.RoleAdmin, ""}
	for _, r := range roles {
		if r.Includes(auth.RoleHost) || auth.RoleHost.Includes(r) {
			t.Errorf("%q and host", r)
		}
	}
	if !auth.RoleHost.Includes(auth.RoleHost) {
		t.Error("a host is none")
	}
	a := open(t, kvtest.New())
	if _, err := a.NewPairing(t.Context(), auth.RoleHost, "x", "http://x"); err == nil {
		t.Error("a browser is paired as a host")
	}
	text, _, err := a.CreateToken(t.Context(), auth.RoleHost, "workstation", 0)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := a.Authenticate(text); err != nil || p.Role != auth.RoleHost {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestDevicesHaveTheirThumbprints: in lists, by themselves, and as they are paired.
func TestDevicesHaveTheirThumbprints(t *testing.T) {
	a := open(t, kvtest.New())
	d, key := pair(t, a, auth.RoleApprove)
	want := auth.Thumbprint(key.JWK())
	one, _ := a.Device(d.ID)
	renamed, err := a.RenameDevice(t.Context(), d.ID, "other")
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []auth.Device{d, one, renamed, a.Devices()[0]} {
		if got.Thumbprint != want {
			t.Errorf("thumbprint %q, want %q", got.Thumbprint, want)
		}
	}
}
