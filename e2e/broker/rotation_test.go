package broker

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
	"assent/internal/agent/agents"
	"assent/internal/auth"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// TestKeyIsRotatedAndLost: once a hook trusts a new key, it prints nothing that the old one signed, also where thief and broker work
// together; the broker lets a revoked device decide no more; and verify finds what that signed, told since when it counts no more.
func TestKeyIsRotatedAndLost(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Start()
	old, fresh := d.PairBare("approve"), d.PairBare("approve")
	conf := filepath.Join(d.Dir, ".config", "assent", "hook.conf")
	if err := os.MkdirAll(filepath.Dir(conf), 0o700); err != nil {
		t.Fatal(err)
	}
	trust := func(b *rig.BareDevice) {
		t.Helper()
		if err := os.WriteFile(conf, []byte("require = signed\ntrust = device:"+b.Thumbprint()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(socket string) *rig.HookRun {
		t.Helper()
		h := &rig.HookRun{T: t, Cmd: exec.Command(rig.Program("assent-hook-strict"), "--socket", socket, "--timeout", "120s")}
		h.Cmd.Env, h.Cmd.Dir, h.Cmd.Stdin = d.Env(), d.Dir, bytes.NewReader(rig.Bash("s", "make x"))
		h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
		if err := h.Cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Cmd.Process.Kill() })
		return h
	}
	allow := func(b *rig.BareDevice, want int) (id string) {
		t.Helper()
		r := d.WaitPending(1)[0]
		sent := b.Allows(r)
		sent.PublicKey = nil
		d.Must("POST", "/v1/requests/"+r.ID+"/decision", b.Bearer(), sent, want, nil)
		return r.ID
	}
	prints := func(h *rig.HookRun, want, why string) {
		t.Helper()
		if out := h.Wait(); out != want || !strings.Contains(h.Stderr.String(), why) {
			t.Errorf("printed %q, want %q; said %q, want %q", out, want, h.Stderr.String(), why)
		}
	}

	trust(old)
	h := ask(d.Socket)
	allow(old, http.StatusOK)
	prints(h, rig.Allowed, "")

	// It is rotated: the new one counts, and the old one no more, although the broker still takes it.
	trust(fresh)
	since := time.Now().UTC()
	h = ask(d.Socket)
	later := allow(old, http.StatusOK)
	untrusted := "not trusted: device:" + old.Thumbprint()
	prints(h, "", untrusted)
	h = ask(d.Socket)
	allow(fresh, http.StatusOK)
	prints(h, rig.Allowed, "")

	// It is lost: the broker takes nothing of it, and who has the phone and the broker gets nothing printed either.
	bearer := old.Bearer()
	d.Command("device", "revoke", old.ID)
	h = ask(d.Socket)
	r := d.WaitPending(1)[0]
	sent := old.Allows(r)
	sent.PublicKey = nil
	d.Must("POST", "/v1/requests/"+r.ID+"/decision", bearer, sent, http.StatusUnauthorized, nil)
	d.Deny(r, "no")
	prints(h, rig.Denied("no"), "")

	socket := filepath.Join(rig.TempDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	thief := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p, err := agents.Reader("claude").Decode("", body)
		if err != nil || strings.HasSuffix(r.URL.Path, hook.RefusedRoute) {
			http.NotFound(w, r)
			return
		}
		shown, _ := json.Marshal(map[string]string{"tool": p.ToolName, "cwd": p.CWD})
		id, key := r.Header.Get(hook.HeaderRequestID), old.JWK()
		forged := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: p.InputSHA256, Shown: string(shown), SignedAt: time.Now().UTC().Format(time.RFC3339Nano), PublicKey: &key}
		forged.Signature = old.Sign(auth.DecisionText(id, forged))
		text, _ := signed.NewAnswer(id, forged, nil).Encode()
		_, _ = w.Write(text)
	})}
	go func() { _ = thief.Serve(l) }()
	t.Cleanup(func() { _ = thief.Close() })
	prints(ask(socket), "", untrusted)
	trust(old) // or else the test would show nothing
	prints(ask(socket), rig.Allowed, "")

	dir := rig.TempDir(t)
	export, pub := filepath.Join(dir, "export"), strings.TrimSpace(d.Command("audit", "checkpoint", "--key"))
	d.Command("audit", "export", "--output", export)
	verify := func(more ...string) (string, bool) {
		cmd := exec.Command(rig.Program("assent"), append([]string{"audit", "verify", export, "--key", pub}, more...)...)
		cmd.Env = []string{"HOME=" + dir}
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	revoked := "Revoked: device:" + old.Thumbprint()
	rig.Eventually(t, rig.Soon, "the record says that the key was revoked", func() bool {
		if err := os.Remove(export); err != nil {
			t.Fatal(err)
		}
		d.Command("audit", "export", "--output", export)
		out, _ := verify()
		return strings.Contains(strings.Join(strings.Fields(out), " "), revoked)
	})
	if out, ok := verify(); !ok || !strings.Contains(strings.Join(strings.Fields(out), " "), "by owner") {
		t.Errorf("it is not verified, or does not say who revoked it: %s", out)
	}
	if out, ok := verify("--revoked", "device:"+old.Thumbprint()+" since "+since.Format(time.RFC3339Nano)); ok || strings.Count(out, "WRONG") != 1 || !strings.Contains(out, "request "+later+": the key that signed it") {
		t.Errorf("what the lost key signed: %s", out)
	}

	// The thief has the broker's state, too, and puts what the phone signs into the record: found, without a word of who verifies.
	d.Stop()
	id, jwk, now := uuid.NewString(), old.JWK(), time.Now().UTC()
	forged := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: strings.Repeat("0", 64), SignedAt: now.Format(time.RFC3339Nano), PublicKey: &jwk}
	forged.Signature = old.Sign(auth.DecisionText(id, forged))
	withRecord(t, d.State, func(js jetstream.JetStream) {
		for _, rec := range []hook.Record{
			{ID: "asked-" + id, RequestID: id, Step: hook.StepAsked, Time: now, Request: &hook.Request{ID: id, ToolName: "Bash", InputSHA256: forged.InputSHA256}},
			{ID: "decided-" + id, RequestID: id, Step: hook.StepDecided, Time: now, Outcome: hook.Allowed, Decision: &forged, By: &hook.Approver{Kind: hook.KindDevice, ID: old.ID, Name: "bare"}},
		} {
			body, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			m := &nats.Msg{Subject: "approvals." + id, Header: nats.Header{"Assent-Salt": {strings.Repeat("5a", 32)}}, Data: body}
			if _, err := js.PublishMsg(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	})
	repair := exec.Command(rig.Program("assent"), "repair", "--state-dir", d.State)
	repair.Env = d.Env()
	if out, err := repair.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.Start()
	if err := os.Remove(export); err != nil {
		t.Fatal(err)
	}
	d.Command("audit", "export", "--output", export)
	if out, ok := verify(); ok || !strings.Contains(strings.Join(strings.Fields(out), " "), "request "+id+": the key that signed it, device:"+old.Thumbprint()+", was revoked before") {
		t.Errorf("what the lost key signed is not found: %s", out)
	}
}
