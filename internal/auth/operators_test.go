package auth_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

// admin is a paired device of role admin, as it calls.
type admin struct {
	auth.Principal
	key *authtest.Key
}

// lets has the device of an administrator let in one that starts, by the word that edit changed.
func (c admin) lets(t *testing.T, a *auth.Auth, role auth.Role, edit func(*auth.Confirmation)) (auth.Device, *authtest.Key, error) {
	t.Helper()
	key := authtest.NewKey()
	s, err := a.StartPairing(context.Background(), key.JWK(), "laptop", auth.Caller{Addr: here})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.RefusePairing(context.Background(), s.Code) }()
	w, err := a.WaitingDevice(context.Background(), s.Code)
	if err != nil {
		t.Fatal(err)
	}
	word, err := c.VouchPairing(w, role, "", c.key.Sign(auth.PairText(s.Code, key.JWK(), role, "")))
	if err != nil {
		return auth.Device{}, key, err
	}
	if edit != nil {
		edit(&word)
	}
	d, err := a.ConfirmPairing(context.Background(), s.Code, role, "", "", &word)
	return d, key, err
}

// A link or a code gives the role operate, or admin, to one device. From then on a device of role admin does,
// and signs it. A link that was made before is worth nothing any more.
func TestOperateIsGivenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, kvtest.New())
		ctx := context.Background()
		early, err := a.NewPairing(context.Background(), auth.RoleOperate, "", "https://box.example")
		if err != nil {
			t.Fatal(err)
		}
		d, key := pair(t, a, auth.RoleAdmin)
		chief := admin{principal(t, a, d, key), key}
		if !chief.Role.Includes(auth.RoleAdmin) {
			t.Fatalf("the first is of role %s", chief.Role)
		}
		for _, role := range []auth.Role{auth.RoleOperate, auth.RoleAdmin} {
			if _, err := a.NewPairing(context.Background(), role, "", "https://box.example"); !errors.Is(err, auth.ErrOperator) {
				t.Errorf("a second link: %v", err)
			}
			s := start(t, a)
			if _, err := a.ConfirmPairing(ctx, s.Code, role, "", "", nil); !errors.Is(err, auth.ErrOperator) {
				t.Errorf("a code without a signature: %v", err)
			}
			if _, err := confirm(a, s.Code); err != nil {
				t.Errorf("it does not wait any more: %v", err)
			}
		}
		if _, err := a.Redeem(ctx, early.Code, authtest.NewKey().JWK(), "", ""); !errors.Is(err, auth.ErrOperator) {
			t.Errorf("a link of before: %v", err)
		}
		d2, key2, err := chief.lets(t, a, auth.RoleOperate, nil)
		if err != nil || d2.Role != auth.RoleOperate {
			t.Fatalf("%+v, %v", d2, err)
		}
		if p := principal(t, a, d2, key2); p.Role != auth.RoleOperate {
			t.Errorf("it calls as %s", p.Role)
		} else if _, _, err := (admin{p, key2}).lets(t, a, auth.RoleView, nil); !errors.Is(err, auth.ErrSignature) {
			t.Errorf("a device that is no administrator lets others in: %v", err)
		}
	})
}

// What is signed is the code, the key, the role and the name, by the key of an administrator.
func TestPairingIsSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, kvtest.New())
		d, key := pair(t, a, auth.RoleAdmin)
		chief := admin{principal(t, a, d, key), key}
		code := start(t, a).Code
		w, err := a.WaitingDevice(context.Background(), code)
		if err != nil {
			t.Fatal(err)
		}
		good := auth.PairText(w.Code, w.PublicKey, auth.RoleOperate, "desk")
		if _, err := chief.VouchPairing(w, auth.RoleOperate, "desk", key.Sign(good)); err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string][]byte{
			"another code": auth.PairText("AAAA-AAAA", w.PublicKey, auth.RoleOperate, "desk"),
			"another key":  auth.PairText(w.Code, authtest.NewKey().JWK(), auth.RoleOperate, "desk"),
			"another role": auth.PairText(w.Code, w.PublicKey, auth.RoleAdmin, "desk"),
			"another name": auth.PairText(w.Code, w.PublicKey, auth.RoleOperate, "phone"),
		} {
			if _, err := chief.VouchPairing(w, auth.RoleOperate, "desk", key.Sign(text)); !errors.Is(err, auth.ErrSignature) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := chief.VouchPairing(w, auth.RoleOperate, "desk", authtest.NewKey().Sign(good)); !errors.Is(err, auth.ErrSignature) {
			t.Errorf("another device's signature: %v", err)
		}
		token, _ := create(t, a, auth.RoleAdmin, "bot", 0)
		bot, err := a.Authenticate(token)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bot.VouchPairing(w, auth.RoleOperate, "desk", key.Sign(good)); !errors.Is(err, auth.ErrSignature) {
			t.Errorf("a token with its signature: %v", err)
		}
		for what, edit := range map[string]func(*auth.Confirmation){
			"a word for another code": func(c *auth.Confirmation) { c.Code = "AAAA-AAAA" },
			"a word of another key":   func(c *auth.Confirmation) { c.PublicKey = authtest.NewKey().JWK() },
			"no signature":            func(c *auth.Confirmation) { c.Signature = "" },
		} {
			if _, _, err := chief.lets(t, a, auth.RoleOperate, edit); !errors.Is(err, auth.ErrSignature) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// Where the only one that may operate is no administrator, nobody can let in another; once it is removed the
// next one is the first.
func TestOperateAfterTheFirstIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		d, _ := pair(t, a, auth.RoleOperate)
		for _, role := range []auth.Role{auth.RoleOperate, auth.RoleAdmin} {
			if _, err := a.NewPairing(context.Background(), role, "", "https://box.example"); !errors.Is(err, auth.ErrNoAdministrator) {
				t.Errorf("%s: %v", role, err)
			}
		}
		if err := a.RevokeDevice(context.Background(), d.ID, hook.Approver{Kind: hook.KindOwner, Name: "owner"}); err != nil {
			t.Fatal(err)
		}
		d, key := pair(t, a, auth.RoleAdmin)
		if p := principal(t, open(t, kv), d, key); p.Role != auth.RoleAdmin {
			t.Errorf("after a restart it is of role %s", p.Role)
		}
	})
}

// Of devices that are paired at once, here and by another broker, one gets the role.
func TestOperateOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		brokers := []*auth.Auth{open(t, kv), open(t, kv)}
		var codes []string
		for i := range 20 {
			p, err := brokers[i%2].NewPairing(context.Background(), auth.RoleOperate, fmt.Sprint("phone ", i), "https://box.example")
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, p.Code)
		}
		var all sync.WaitGroup
		for i, code := range codes {
			all.Go(func() {
				_, _ = brokers[i%2].Redeem(context.Background(), code, authtest.NewKey().JWK(), "", "")
			})
		}
		all.Wait()
		synctest.Wait()
		for _, a := range append(brokers, open(t, kv)) {
			n := 0
			for _, d := range a.Devices() {
				if d.Role.Includes(auth.RoleOperate) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d devices may operate", n)
			}
		}
	})
}

// Who can write into the store changes the role of a device, or its key: while a broker runs nothing comes of it,
// and one that starts later sees that the device cannot show for its role.
func TestRoleInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		a := open(t, kv)
		ctx := context.Background()
		d, key := pair(t, a, auth.RoleAdmin)
		chief := admin{principal(t, a, d, key), key}
		low, lowKey := pair(t, a, auth.RoleApprove)
		view, viewKey, err := chief.lets(t, a, auth.RoleView, nil)
		if err != nil {
			t.Fatal(err)
		}
		change := func(id, was, is string) {
			t.Helper()
			value, rev, err := kv.Get(ctx, "auth.device."+id)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(value), was, is, 1)
			if changed == string(value) {
				t.Fatalf("%s does not hold %s", value, was)
			}
			if _, err := kv.Update(ctx, "auth.device."+id, []byte(changed), rev); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		change(low.ID, `"role":"approve"`, `"role":"operate"`)
		change(view.ID, `"role":"view"`, `"role":"admin"`)
		for _, c := range []struct {
			d    auth.Device
			key  *authtest.Key
			live auth.Role
		}{{low, lowKey, auth.RoleApprove}, {view, viewKey, auth.RoleView}} {
			if p := principal(t, a, c.d, c.key); p.Role != c.live {
				t.Errorf("paired as %s, calls as %s", c.live, p.Role)
			}
			if p := principal(t, open(t, kv), c.d, c.key); p.Role.Includes(auth.RoleOperate) {
				t.Errorf("after a restart, paired as %s, calls as %s", c.live, p.Role)
			}
		}
		thief := authtest.NewKey()
		change(d.ID, key.JWK().X, thief.JWK().X)
		change(d.ID, key.JWK().Y, thief.JWK().Y)
		if p := principal(t, a, d, key); p.Role != auth.RoleAdmin {
			t.Errorf("the administrator calls as %s", p.Role)
		}
	})
}

// Devices that were paired before there was a list keep their role.
func TestOperatorsOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		d, key := pair(t, open(t, kv), auth.RoleAdmin)
		value := kv.Values()["auth.device."+d.ID]
		old := kvtest.New()
		if _, err := old.Create(context.Background(), "auth.device."+d.ID, []byte(value)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if p := principal(t, open(t, old), d, key); p.Role != auth.RoleAdmin {
				t.Errorf("it is of role %s", p.Role)
			}
		}
	})
}
