package claude

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// TestClaudeStrict: the real client under assent install --strict, and a broker that was stolen: it records what it is told, and gives out
// allows of its own. What the phone signed runs, and what signed rules allow; every other allow ends at the client's own prompt, and the
// record says so.
func TestClaudeStrict(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	etc := rig.NewEtc(t, a.Config.Dir)
	phone := a.PairBare("approve")

	// The broker's answers pass through here, where some are replaced.
	var lie atomic.Pointer[[]byte]
	var last atomic.Pointer[[]byte] // that the broker gave
	to := &url.URL{Scheme: "http", Host: "broker"}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", a.Socket)
	}
	stolen := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{DialContext: dial},
	}
	socket := filepath.Join(rig.TempDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &kept{header: http.Header{}, status: http.StatusOK}
		stolen.ServeHTTP(held, r)
		if len(held.body) > 0 {
			last.Store(&held.body)
			if b := lie.Load(); b != nil {
				held.body = *b
			}
		}
		held.header.Del("Content-Length")
		for name, values := range held.header {
			w.Header()[name] = values
		}
		w.WriteHeader(held.status)
		_, _ = w.Write(held.body)
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })

	keyFile := filepath.Join(a.Config.Dir, "rules-key.json")
	rulesKey := strings.TrimSpace(a.Command("rules", "key", keyFile))
	// The hook wants HOME to be what the system says.
	if err := os.WriteFile(filepath.Join(etc.Dir, "passwd"), []byte("root:x:0:0:root:"+a.Config.Home()+":/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := etc.Command(etc.Programs()+"/assent", "install", "--strict", "--claude-version", "2.1.329", "--socket", socket, "--socket-owner", "root",
		"--trust", "device:"+phone.Thumbprint()+" independent", "--trust-rules", rulesKey, "--yes")
	cmd.Env = []string{"HOME=" + a.Config.Home(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ASSENT_STATE_DIR=" + filepath.Join(a.Config.Dir, "root-state")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
	a.Config.Program = etc.Wrap(a.Config.Program)
	a.NoHooks()
	// The agent's user brings a hook that allows everything.
	own := filepath.Join(a.Config.Dir, "own.json")
	allows := `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	command, err := json.Marshal("cat >/dev/null; touch " + a.Path("own-hook-ran") + "; echo '" + allows + "'")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte(`{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":`+string(command)+`}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Config.Args = []string{"--permission-mode", "default", "--settings", own}

	touch := func(name string) []modelserver.Use { return []modelserver.Use{rig.Run("touch " + name)} } // short: a long prompt is pasted otherwise
	term := a.Terminal(touch("signed.txt"), touch("owner.txt"))
	done := 0
	idle := func() { // until the script is over once more, and the client takes another
		t.Helper()
		n := 0
		if _, err := a.Model.Wait(a.Ctx, func(c modelserver.Call) bool {
			if c.Done {
				n++
			}
			return n > done
		}); err != nil {
			t.Fatal(err)
		}
		done = n
	}
	r := a.WaitPending(1)[0]
	was := phone.Allows(r)
	sent := was
	sent.PublicKey = nil
	a.Must("POST", "/v1/requests/"+r.ID+"/decision", phone.Bearer(), sent, http.StatusOK, nil)
	encode := func(id string, d hook.Decision, by *hook.Approver) []byte {
		t.Helper()
		b, err := signed.NewAnswer(id, d, by).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := r
	for _, c := range []struct {
		file, why string
		body      func(r rig.Request) []byte // nil: what the broker says
	}{
		{"owner.txt", "the owner's token", nil},
		{"forged.txt", "does not fit this request", func(r rig.Request) []byte {
			d := phone.Allows(r)
			d.Signature = was.Signature
			return encode(r.ID, d, nil)
		}},
		{"signed.txt", "does not fit this request", func(rig.Request) []byte { return encode(first.ID, was, nil) }}, // replayed, for the same input
		{"pointed.txt", "another input", func(r rig.Request) []byte { return encode(r.ID, was, nil) }},
		{"rule.txt", "a rule allowed it", func(rig.Request) []byte {
			return encode("", hook.Decision{Behavior: hook.BehaviorAllow}, &hook.Approver{Kind: hook.KindRule, ID: "all"})
		}},
	} {
		switch c.file {
		case "forged.txt":
			idle()
			a.Prompt(term, touch("forged.txt"), touch("signed.txt"))
		case "pointed.txt":
			idle()
			a.Prompt(term, touch("pointed.txt"), touch("rule.txt"))
		}
		r := a.PendingAfter(r)
		if !a.Exists("signed.txt") {
			t.Fatal("what the phone signed did not run")
		}
		if c.file == "signed.txt" {
			if err := os.Remove(a.Path(c.file)); err != nil {
				t.Fatal(err)
			}
		}
		lie.Store(nil)
		if c.body != nil {
			b := c.body(r)
			lie.Store(&b)
		}
		a.Allow(r)
		got := a.Until(r.ID, "refused", func(r rig.Request) bool { return r.Delivery == "refused" })
		if got.Outcome != "allowed" || !strings.Contains(got.Failure, c.why) || a.Exists(c.file) {
			t.Errorf("%s: %+v, want %q; it ran: %v", c.file, got, c.why, a.Exists(c.file))
		}
		a.Answer(term, "Yes") // the client's own prompt is there, and decides
	}
	idle()
	// What signed rules allow runs without a person.
	lie.Store(nil)
	waited := a.Settled()[0].ID
	rules := filepath.Join(a.Config.Dir, "team.yaml")
	if err := os.WriteFile(rules, []byte("version: 1\nallow: ['Bash(touch byrule.txt)']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Command("rules", "sign", rules, "--key", keyFile)
	a.Command("rules", "publish", rules)
	a.Prompt(term, touch("byrule.txt"))
	idle()
	if !a.Exists("byrule.txt") {
		t.Error("what signed rules allow did not run")
	}
	if said := a.Command("trace", a.Settled()[0].ID); !strings.Contains(said, "signed with "+rulesKey) || strings.Contains(said, "refused") {
		t.Errorf("of what the rules allowed the trace says\n%s", said)
	}
	if a.Exists("own-hook-ran") {
		t.Error("a hook of the user's ran")
	}
	for _, name := range []string{"owner.txt", "forged.txt", "signed.txt", "pointed.txt", "rule.txt"} {
		if !a.Exists(name) {
			t.Errorf("%s: the client's own prompt did not decide", name)
		}
	}
	if !json.Valid(*last.Load()) || strings.Contains(string(*last.Load()), "hookSpecificOutput") {
		t.Errorf("the broker's own answer: %s", *last.Load())
	}
	if said := a.Command("trace", r.ID); !strings.Contains(said, "confirmed") || strings.Contains(said, "refused") {
		t.Errorf("of what ran the trace says\n%s", said)
	}
	if said := a.Command("trace", waited); !strings.Contains(said, "refused") || !strings.Contains(said, "the agent's own prompt decides: it is not signed: a rule allowed it") {
		t.Errorf("of the last the trace says\n%s", said)
	}
}

// kept is an answer that is looked at before it goes on.
type kept struct {
	header http.Header
	status int
	body   []byte
}

func (k *kept) Header() http.Header { return k.header }
func (k *kept) WriteHeader(s int)   { k.status = s }
func (k *kept) Write(b []byte) (int, error) {
	k.body = append(k.body, b...)
	return len(b), nil
}
