package files

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/signing"
)

// signature is the file FILE.sig of a text, by a key.
func signature(t *testing.T, k *devicekey.Key, text string, valid time.Duration) string {
	t.Helper()
	s, err := signing.Sign([]byte(text), k, time.Now(), valid)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSignatureBeside: FILE.sig beside a file of one's own says who signed it, for that very text and as long as it counts. The
// rules are in force either way.
func TestSignatureBeside(t *testing.T) {
	k, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	other, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		const text = "version: 1\nallow: ['Bash(make x)']\n"
		s.put("user.yaml", text)
		s.Book = Open(s.cfgOf(func() (policy.Source, bool) {
			return policy.Source{Name: "v1", Layer: policy.User, Data: []byte(denyRm), Signed: &hook.RulesSignature{SHA256: "x"}}, true
		}))
		want := func(what, command string, by *devicekey.Key, problem string) {
			t.Helper()
			v := s.says(command)
			if v.Action != hook.ActionAllow {
				t.Errorf("%s: %s is answered %+v", what, command, v)
			}
			var got *hook.RulesSignature
			for _, r := range s.Signed() {
				if r.Name == v.From {
					got = &r.Signature
				}
			}
			f := s.InForce().Files[0]
			if (got != nil) != (by != nil) || by != nil && got.PublicKey != by.JWK() || problem == "" && f.SignatureProblem != "" || !strings.Contains(f.SignatureProblem, problem) {
				t.Errorf("%s: signed by %+v, and it says %q", what, got, f.SignatureProblem)
			}
			if follows := s.Follows(); by != nil && (follows.Signed == nil || follows.Signed.PublicKey != by.JWK()) || problem == "" && by == nil && follows.Signed != nil {
				t.Errorf("%s: follows %+v", what, follows)
			}
		}
		put := func(file, text string) {
			s.put(file, text)
			s.Reload()
		}
		want("no signature", "make x", nil, "")
		put("user.yaml.sig", signature(t, k, text, time.Hour))
		want("signed", "make x", k, "")
		put("user.yaml", text+"#\n")
		want("another text", "make x", nil, "user.yaml.sig: the signature is of another text")
		put("user.yaml.sig", signature(t, other, text+"#\n", 0))
		want("signed anew", "make x", other, "")
		put("user.yaml", broken)
		want("what it said before", "make x", other, "")
		put("user.yaml", text)
		want("the old text", "make x", nil, "another text")
		put("user.yaml.sig", strings.Replace(signature(t, k, text, 0), `"signedAt":"2`, `"signedAt":"3`, 1))
		want("forged", "make x", nil, "user.yaml.sig: the signature does not fit its key")
		put("user.yaml.sig", "{")
		want("no signature at all", "make x", nil, "no signature of rules")
		put("user.yaml.sig", signature(t, k, text, 0)+strings.Repeat(" ", signed.MaxRulesSignature))
		want("too large", "make x", nil, "no signature of rules")
		put("user.yaml.sig", signature(t, k, text, time.Hour))
		if err := os.Chmod(s.path("user.yaml.sig"), 0o666); err != nil {
			t.Fatal(err)
		}
		s.Reload()
		want("others may write to it", "make x", nil, "chmod go-w")
		if err := os.Chmod(s.path("user.yaml.sig"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Reload()
		want("signed again", "make x", k, "")
		time.Sleep(time.Hour) // of the fake clock
		want("its time is over", "make x", nil, "counts no more since")
		if err := os.Remove(s.path("user.yaml.sig")); err != nil {
			t.Fatal(err)
		}
		if s.current(s.look()) {
			t.Error("a signature that goes is not noticed")
		}
		s.Reload()
		want("gone", "make x", nil, "")
		put("own.yaml.sig", signature(t, k, text, 0))
		put("own.yaml", text)
		if f := s.InForce().Files[1]; f.Signed != nil || f.SignatureProblem != "" {
			t.Errorf("what approvers saved is signed: %+v", f)
		}
	})
}
