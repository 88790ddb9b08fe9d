package auth_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

// TestCodeOrigin: where a device's code comes from is what it said when it was paired, or what the administrator said who let it
// in; it stands in its decisions, and the store cannot change it.
func TestCodeOrigin(t *testing.T) {
	starts(t, "codeOrigin", func(t *testing.T, kv *kvtest.KV, a *auth.Auth) {
		for _, c := range []struct{ says, admin, want hook.CodeOrigin }{
			{"", "", hook.CodeBroker},
			{hook.CodeIndependent, "", hook.CodeIndependent},
			{hook.CodeIndependent, hook.CodeBroker, hook.CodeBroker},
			{"", hook.CodeIndependent, hook.CodeIndependent},
		} {
			key := authtest.NewKey()
			s, err := a.StartPairing(t.Context(), key.JWK(), "x", auth.Caller{Addr: here, CodeOrigin: c.says})
			if err != nil {
				t.Fatal(err)
			}
			if w := a.WaitingDevices(); len(w) != 1 || (w[0].CodeOrigin == hook.CodeIndependent) != (c.says == hook.CodeIndependent) {
				t.Errorf("%+v: %+v waits", c, w)
			}
			d, err := a.ConfirmPairing(t.Context(), s.Code, auth.RoleApprove, "", c.admin, nil)
			if err != nil || d.CodeOrigin != c.want {
				t.Fatalf("%+v: %+v, %v", c, d, err)
			}
			p, err := a.Authenticate(session(t, a, d, key))
			if err != nil || p.Approver.CodeOrigin != c.want {
				t.Errorf("%+v decides as %+v, %v", c, p.Approver, err)
			}
		}
		p, err := a.NewPairing(t.Context(), auth.RoleApprove, "", "http://x")
		if err != nil {
			t.Fatal(err)
		}
		var bad *hook.FieldError
		if _, err := a.Redeem(t.Context(), p.Code, authtest.NewKey().JWK(), "", "mine"); !errors.As(err, &bad) || bad.Field != "codeOrigin" {
			t.Errorf("a word that means nothing: %v", err)
		}
		if _, err := a.StartPairing(t.Context(), authtest.NewKey().JWK(), "", auth.Caller{Addr: here, CodeOrigin: "mine"}); !errors.As(err, &bad) || bad.Field != "codeOrigin" {
			t.Errorf("a word that means nothing: %v", err)
		}
		d, err := a.Redeem(t.Context(), p.Code, authtest.NewKey().JWK(), "", "")
		if err != nil || d.CodeOrigin != hook.CodeBroker {
			t.Fatalf("%+v, %v", d, err)
		}

		// Who writes to the store does not make it independent.
		for k, v := range kv.Values() {
			if strings.HasSuffix(k, d.ID) {
				var stored map[string]any
				if err := json.Unmarshal([]byte(v), &stored); err != nil || stored["codeOrigin"] != "broker" {
					t.Fatalf("%s, %v", v, err)
				}
				stored["codeOrigin"] = "independent"
				changed, err := json.Marshal(stored)
				if err != nil {
					t.Fatal(err)
				}
				_, rev, err := kv.Get(t.Context(), k)
				if err == nil {
					_, err = kv.Update(t.Context(), k, changed, rev)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		if now, _ := a.Device(d.ID); now.CodeOrigin != hook.CodeBroker {
			t.Errorf("%+v", now)
		}
	})
}
