package files

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
)

// TestPublished: what is published counts where there is no file of one's own, names its version, and stays in
// force when a later version cannot be used.
func TestPublished(t *testing.T) {
	s := newShelf(t)
	text, version := "", ""
	publish := func(to, name string) {
		text, version = to, name
		if s.Book != nil {
			s.Reload()
		}
	}
	s.Book = Open(Config{
		User: s.path("user.yaml"), Own: s.path("own.yaml"), Home: s.dir, Host: "here",
		Published: func() (policy.Source, bool) {
			return policy.Source{Name: version, Layer: policy.User, Data: []byte(text)}, text != ""
		},
	})
	want := func(what, command string, action hook.Action, file string, follows Follows) {
		t.Helper()
		if v := s.says(command); v.Action != action || v.File != file {
			t.Errorf("%s: %s is answered %+v, want %s by %s", what, command, v, action, file)
		}
		if got := s.Follows(); got.File != follows.File || got.Published != follows.Published || (got.Problem != "") != (follows.Problem != "") {
			t.Errorf("%s: follows %+v", what, got)
		}
	}
	want("nothing", "ls", hook.ActionAsk, "", Follows{})
	publish(allowLs, "v1")
	want("one", "ls", hook.ActionAllow, "v1", Follows{Published: "v1"})
	publish(allowTwo, "v2")
	want("two", "pwd", hook.ActionAllow, "v2", Follows{Published: "v2"})
	publish(broken, "v3")
	want("a broken one", "pwd", hook.ActionAllow, "v2", Follows{Published: "v2", Problem: "x"})
	if f := s.InForce(); !f.Allowing || len(f.Files) != 1 || f.Files[0].Path != "v2" || f.Files[0].State != hook.FileLastGood || len(f.Problems) != 1 {
		t.Errorf("%+v", f)
	}
	s.put("user.yaml", denyRm)
	s.Reload()
	want("a file of one's own", "ls", hook.ActionAsk, "", Follows{File: s.path("user.yaml")})
	s.put("user.yaml", broken)
	s.Reload()
	want("a broken file of one's own", "rm x", hook.ActionDeny, s.path("user.yaml"), Follows{File: s.path("user.yaml")})
	if err := os.Remove(s.path("user.yaml")); err != nil {
		t.Fatal(err)
	}
	publish(allowLs, "v4")
	want("its own is gone", "ls", hook.ActionAllow, "v4", Follows{Published: "v4"})
	want("its own is gone", "rm x", hook.ActionAsk, "", Follows{Published: "v4"})
	publish("", "v5")
	want("none any more", "ls", hook.ActionAsk, "", Follows{})
	if f := s.InForce(); !f.Allowing || len(f.Files) != 0 {
		t.Errorf("%+v", f)
	}

	// A broker that begins with one that it cannot use allows nothing by rule.
	s.Book = nil
	publish(broken, "v6")
	s.Book = Open(s.cfgOf(func() (policy.Source, bool) {
		return policy.Source{Name: version, Layer: policy.User, Data: []byte(text)}, true
	}))
	if f := s.InForce(); f.Allowing || len(f.Files) != 1 || f.Files[0].State != hook.FileBroken {
		t.Errorf("%+v", f)
	}
	if p := s.Check("x", broken); len(p) != 1 || p[0].Line == 0 {
		t.Errorf("%+v", p)
	}
	if p := s.Check("x", allowLs); p != nil {
		t.Errorf("%+v", p)
	}
}

// TestSigned: what an answer is said to come from has the signature of that very text, as long as it counts.
func TestSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		now := policy.Source{}
		s.Book = Open(s.cfgOf(func() (policy.Source, bool) { return now, now.Data != nil }))
		publish := func(name, text string, until time.Duration) {
			sig := &hook.RulesSignature{SHA256: name, SignedAt: time.Now().Format(time.RFC3339)}
			if until != 0 {
				sig.Until = time.Now().Add(until).Format(time.RFC3339)
			}
			now = policy.Source{Name: name, Layer: policy.User, Data: []byte(text), Signed: sig}
			s.Reload()
		}
		// by is the signature of the answer to a command: the digest in it, which is the name here.
		by := func(command string) string {
			t.Helper()
			from := s.says(command).From
			for _, r := range s.Signed() {
				if r.Name == from && r.Text == string(now.Data) {
					return r.Signature.SHA256
				}
			}
			return ""
		}
		want := func(what, command, signature string) {
			t.Helper()
			if got := by(command); got != signature {
				t.Errorf("%s: %s is answered with the signature %q (%+v), want %q", what, command, got, s.says(command), signature)
			}
		}
		publish("v1", "version: 1\nuse: [builtin/brew-read@1]\nallow: ['Bash(make x)']\n", time.Hour)
		want("a rule", "make x", "v1")
		want("a pack that it uses", "brew list", "v1")
		want("both", "brew list && make x", "v1")
		time.Sleep(time.Hour) // of the fake clock
		want("its time is over", "make x", "")
		want("its time is over", "brew list", "")
		publish("v2", "version: 1\ndeny: ['Bash(rm *)']\nuse: [builtin/brew-read@1]\n", 0)
		want("for always", "rm x", "v2")
		s.put("own.yaml", "version: 1\nallow: ['Bash(make y)']\n")
		s.Reload()
		want("a saved rule", "make y", "")
		want("partly a saved rule", "brew list; make y", "")
		want("beside a saved rule", "brew list", "v2")
		s.put("user.yaml", "version: 1\nuse: [builtin/brew-read@1]\n")
		s.Reload()
		want("the same pack, used by a file of one's own", "brew list", "")
	})
}

func (s *shelf) cfgOf(source func() (policy.Source, bool)) Config {
	return Config{User: s.path("user.yaml"), Own: s.path("own.yaml"), Home: s.dir, Host: "here", Published: source}
}
