package notify

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNoticesFileIsReadAgain: a change counts once the file stands still, and one that cannot be
// used changes nothing.
func TestNoticesFileIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "notices.yaml")
		put := func(text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var said []string
		p := &Push{cfg: Config{NoticesFile: path, Logf: func(format string, _ ...any) { said = append(said, format) }}, status: map[string]*sendStatus{}, changed: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.watchNotices(ctx); close(done) }()
		after := func(d time.Duration, problem string, names ...string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			o := p.Overview()
			got := []string{}
			for _, n := range o.Notices {
				got = append(got, n.ID)
			}
			if !slices.Equal(got, names) || (problem == "") != (o.Problem == "") || !strings.Contains(o.Problem, problem) {
				t.Errorf("notices %q, problem %q; want %q, %q", got, o.Problem, names, problem)
			}
		}
		after(0, "")
		put("notices: [{name: one, url: 'ntfy://x/y'}")
		after(lookEvery, "") // seen
		put("notices: [{name: one, url: 'ntfy://x/y'}]")
		after(settle, "") // not what was seen
		after(settle, "", "one")
		put("notices: [{name: one, url: 'hunter2://x/y'}]")
		after(lookEvery+settle, "no service", "one")
		put("notices: [{name: one, url: 'ntfy://x/y'}, {name: two, url: 'ntfy://x/y'}]")
		after(lookEvery+settle, "", "one", "two")
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		after(lookEvery+settle, "chmod 600", "one", "two")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		after(lookEvery+settle, "")
		cancel()
		<-done
		if len(said) != 4 {
			t.Errorf("said %q", said)
		}
	})
}

// TestRingTakesInOtherNotices: who is new is told of what waits, who is gone is told no more, and
// who stays is not told twice.
func TestRingTakesInOtherNotices(t *testing.T) {
	notice := func(name, url string) Notice { return Notice{Name: name, URL: url, Settings: DefaultSettings()} }
	p := &Push{status: map[string]*sendStatus{}, devices: map[string]*stored{}, notices: []Notice{notice("a", "ntfy://x/1"), notice("b", "ntfy://x/2")}}
	r := &ring{p: p, targets: map[string]*target{}, last: 7}
	r.sync()
	a, b := r.targets[noticeKey("a")], r.targets[noticeKey("b")]
	if a == nil || b == nil || len(r.targets) != 2 {
		t.Fatalf("%+v", r.targets)
	}
	a.cursor, a.requests.failures, a.requests.until = 7, 3, time.Now().Add(time.Minute)
	b.cursor = 7
	p.setStatus(noticeKey("a"), func(s *sendStatus) { s.trouble = "it did not answer in time" })
	p.notices = []Notice{notice("a", "ntfy://fixed/1"), notice("c", "ntfy://x/3")}
	r.sync()
	c := r.targets[noticeKey("c")]
	if r.targets[noticeKey("a")] != a || a.notice.URL != "ntfy://fixed/1" || a.cursor != 7 || a.requests.failures != 0 || !a.requests.until.IsZero() {
		t.Errorf("what was fixed: %+v", a)
	}
	if !b.removed || r.targets[noticeKey("b")] != nil || c == nil || c.cursor != 0 {
		t.Errorf("gone %+v, new %+v", b, c)
	}
	if o := p.Overview(); o.Notices[0].Trouble != "" {
		t.Errorf("%+v", o)
	}
	a.requests.failures = 1
	p.notices = slices.Clone(p.notices)
	r.sync()
	if a.requests.failures != 1 {
		t.Error("what did not change is tried at once again")
	}
}
