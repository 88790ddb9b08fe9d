package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
)

// TestAttacksOnTheState does to the state directory of a broker what somebody can do who may write to it and has the broker's programs:
// each is found by verify, with the public key and, where the broker's own key was used, with a checkpoint that was kept elsewhere.
// What a phone says of an older record is TestPageNoticesAnOlderRecord's; what comes of a tree that is signed anew with the broker's own key,
// TestSignedAnew's of package audit.
func TestAttacksOnTheState(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Start()
	dir := rig.TempDir(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("pub"), []byte(d.Command("audit", "checkpoint", "--key")), 0o600); err != nil {
		t.Fatal(err)
	}
	phones := []*rig.BareDevice{d.PairBare("approve"), d.PairBare("approve")}
	var ids []string
	d.Stop()
	copyTree(t, d.State, file("early"))
	d.Start()
	for i, behavior := range []hook.Behavior{hook.BehaviorDeny, hook.BehaviorAllow, hook.BehaviorAllow, hook.BehaviorDeny} {
		h := d.Hook(rig.Bash("s", "make "+string(behavior)))
		r := d.WaitPending(1)[0]
		full := phones[i%2].Allows(r)
		full.Behavior, full.PublicKey = behavior, nil
		full.Signature = phones[i%2].Sign(auth.DecisionText(r.ID, full))
		d.Must("POST", "/v1/requests/"+r.ID+"/decision", phones[i%2].Bearer(), full, http.StatusOK, nil)
		h.Wait()
		d.Until(r.ID, "delivered", func(r rig.Request) bool { return r.Delivery == "delivered" })
		ids = append(ids, r.ID)
	}
	run := func(args ...string) (string, bool) {
		cmd := exec.Command(rig.Program("assent"), args...)
		cmd.Env = d.Env()
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	if out, ok := run("audit", "watch", "--once", "--keep", file("kept"), "--key", file("pub"), "--state-dir", d.State); !ok {
		t.Fatal(out)
	}
	d.Stop()
	copyTree(t, d.State, file("base"))
	t.Run("a backup", func(t *testing.T) { backups(t, d, dir, run) })
	// finds wants these words in a finding of verify; "" takes any.
	finds := func(t *testing.T, words string, more ...string) {
		t.Helper()
		d.Command("audit", "export", "--output", file("export"))
		cmd := exec.Command(rig.Program("assent"), append([]string{"audit", "verify", file("export"), "--key", file("pub"), "--json"}, more...)...)
		cmd.Env = []string{"HOME=" + dir} // nothing of the broker
		out, err := cmd.Output()
		var exit *exec.ExitError
		var rep audit.Report
		if jsonErr := json.Unmarshal(out, &rep); jsonErr != nil || !errors.As(err, &exit) {
			t.Fatalf("%v, %v: %s", err, jsonErr, out)
		}
		if !slices.ContainsFunc(rep.Findings, func(f audit.Finding) bool { return strings.Contains(f.What, words) }) {
			t.Errorf("%q is not found: %+v", words, rep.Findings)
		}
	}

	// step is the place of a step of the request i.
	step := func(ms []storedEntry, i int, step hook.Step) int {
		return slices.IndexFunc(ms, func(m storedEntry) bool {
			asked := m.header.Get("Assent-Record") != ""
			return strings.HasSuffix(m.subject, ids[i]) && (asked && step == hook.StepAsked || bytes.Contains(m.body, []byte(`"step":"`+string(step)+`"`)))
		})
	}
	change := func(ms []storedEntry, i int, from, to string) []storedEntry {
		at := step(ms, i, hook.StepDecided)
		if at < 0 || !bytes.Contains(ms[at].body, []byte(from)) {
			t.Fatalf("there is no %s in %s", from, ms[at].body)
		}
		ms[at].body = bytes.ReplaceAll(ms[at].body, []byte(from), []byte(to))
		return ms
	}
	allowed := func(ms []storedEntry) []storedEntry {
		ms = change(ms, 0, `"behavior":"deny"`, `"behavior":"allow"`)
		return change(ms, 0, `"outcome":"denied"`, `"outcome":"allowed"`)
	}
	forged := func(ms []storedEntry, i int) storedEntry {
		m := ms[step(ms, i, hook.StepDecided)]
		m.header = nats.Header{"Assent-Salt": {strings.Repeat("5a", 32)}}
		return m
	}
	swapped := func(ms []storedEntry) []storedEntry {
		ms = change(ms, 0, phones[0].ID, "x")
		ms = change(ms, 1, phones[1].ID, phones[0].ID)
		return change(ms, 0, `"x"`, `"`+phones[1].ID+`"`)
	}
	const gone = "is missing, and nothing says that it was forgotten" // for what stands there is not what the leaf is about
	for _, c := range []struct {
		name   string
		change func([]storedEntry) []storedEntry
		words  string // in a finding of verify with the public key alone
	}{
		{"a decision is changed", allowed, gone},
		{"a decision is dropped", func(ms []storedEntry) []storedEntry {
			at := step(ms, 0, hook.StepDecided)
			return slices.Delete(ms, at, at+1)
		}, gone},
		{"one is added at the end", func(ms []storedEntry) []storedEntry { return append(ms, forged(ms, 1)) }, "did not wait"},
		{"one is put in between", func(ms []storedEntry) []storedEntry { return slices.Insert(ms, 3, forged(ms, 1)) }, gone},
		{"two are swapped", func(ms []storedEntry) []storedEntry {
			i, j := step(ms, 0, hook.StepAsked), step(ms, 0, hook.StepDecided)
			ms[i], ms[j] = ms[j], ms[i]
			return ms
		}, gone},
		{"two requests are swapped", func(ms []storedEntry) []storedEntry {
			i, j := step(ms, 0, hook.StepDecided), step(ms, 1, hook.StepAsked)
			return slices.Concat(ms[:i-1], ms[j:j+3], ms[i-1:j], ms[j+3:])
		}, gone},
		{"the devices of two are swapped", swapped, gone},
		{"a device's name is put to a decision that it did not sign", func(ms []storedEntry) []storedEntry {
			m := forged(ms, 1)
			var rec map[string]any
			if err := json.Unmarshal(m.body, &rec); err != nil {
				t.Fatal(err)
			}
			d := rec["decision"].(map[string]any)
			delete(d, "signature")
			delete(d, "publicKey")
			body, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			at := step(ms, 1, hook.StepDecided)
			ms[at].body = body
			return ms
		}, gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.T = t
			putBack(t, file("base"), d.State)
			rewrite(t, d.State, c.change)
			for _, f := range []string{"meta.inf", "meta.sum"} { // the stream was made when it was
				in := filepath.Join("nats", "record", "jetstream", "$G", "streams", "APPROVALS", f)
				copyFile(t, filepath.Join(file("base"), in), filepath.Join(d.State, in))
			}
			if out, ok := run("repair", "--state-dir", d.State); !ok { // or the mark says so at the start
				t.Fatal(out)
			}
			d.Start()
			defer d.Stop()
			finds(t, c.words)
			finds(t, "", "--kept", file("kept"))
		})
	}

	t.Run("the tree is thrown away", func(t *testing.T) {
		d.T = t
		putBack(t, file("base"), d.State)
		rewrite(t, d.State, allowed)
		if err := os.RemoveAll(filepath.Join(d.State, "nats", "record", "jetstream", "$G", "streams", "AUDIT")); err != nil {
			t.Fatal(err)
		}
		if out, ok := run("repair", "--state-dir", d.State); !ok {
			t.Fatal(out)
		}
		d.Start()
		defer d.Stop()
		finds(t, "not signed by a key that is trusted")
		finds(t, "the kept checkpoint is of another tree", "--kept", file("kept"))
	})
	t.Run("everything is put back to before", func(t *testing.T) {
		d.T = t
		putBack(t, file("early"), d.State)
		d.Start()
		defer d.Stop()
		finds(t, "older than what the kept checkpoint", "--kept", file("kept"))
	})
}

// putBack replaces a state directory by a copy.
func putBack(t *testing.T, from, state string) {
	t.Helper()
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	copyTree(t, from, state)
}

// TestAllowForgedInTheState: who writes an allow of a waiting request to the record has the broker hand it out; a hook that requires
// signatures leaves it to the agent's prompt.
func TestAllowForgedInTheState(t *testing.T) {
	d := rig.NewDaemon(t)
	d.Start()
	phone := d.PairBare("approve")
	conf := filepath.Join(d.Dir, ".config", "assent", "hook.conf")
	if err := os.MkdirAll(filepath.Dir(conf), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte("require = signed\ntrust = device:"+phone.Thumbprint()+" independent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for why, forge := range map[string]func(*hook.Record){
		"it is not signed":                 func(*hook.Record) {},
		"it is not signed: a rule allowed": func(r *hook.Record) { r.By = &hook.Approver{Kind: hook.KindRule, ID: "x"} },
		"the key that signed it":           func(r *hook.Record) { signWith(r, authtest.NewKey(), nil) },
		"the signature does not fit":       func(r *hook.Record) { signWith(r, authtest.NewKey(), phone) },
		"":                                 nil, // the phone itself, so that a hook that never prints does not pass
	} {
		h := &rig.HookRun{T: t, Cmd: exec.Command(rig.Program("assent-hook-strict"), "--socket", d.Socket, "--timeout", "120s")}
		h.Cmd.Env, h.Cmd.Dir, h.Cmd.Stdin = d.Env(), d.Dir, bytes.NewReader(rig.Bash("s", "make x"))
		h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
		if err := h.Cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Cmd.Process.Kill() })
		r := d.WaitPending(1)[0]
		if forge == nil {
			full := phone.Allows(r)
			full.PublicKey = nil
			d.Must("POST", "/v1/requests/"+r.ID+"/decision", phone.Bearer(), full, http.StatusOK, nil)
			if out := h.Wait(); !strings.Contains(out, `"allow"`) {
				t.Errorf("signed by the phone: %q, %s", out, h.Stderr.String())
			}
			continue
		}
		d.Kill() // the hook waits for the next one
		dec := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: r.InputSHA256, SignedAt: time.Now().UTC().Format(time.RFC3339), Shown: `{"tool":"Bash","cwd":"/p"}`}
		rec := hook.Record{ID: "forged-" + r.ID, RequestID: r.ID, Step: hook.StepDecided, Time: time.Now().UTC(), Outcome: hook.Allowed, Decision: &dec, By: &hook.Approver{Kind: hook.KindDevice, ID: phone.ID, Name: "bare"}}
		forge(&rec)
		body, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		withRecord(t, d.State, func(js jetstream.JetStream) {
			m := &nats.Msg{Subject: "approvals." + r.ID, Header: nats.Header{"Assent-Salt": {strings.Repeat("5a", 32)}}, Data: body}
			if _, err := js.PublishMsg(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		})
		cmd := exec.Command(rig.Program("assent"), "repair", "--state-dir", d.State)
		cmd.Env = d.Env()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		d.Start()
		if out := h.Wait(); out != "" || !strings.Contains(h.Stderr.String(), why) {
			t.Errorf("forged, wants %q: printed %q, said %s", why, out, h.Stderr.String())
		}
	}
}

// signWith has a forged record signed with a key, which is said to be that of another device.
func signWith(r *hook.Record, key *authtest.Key, as *rig.BareDevice) {
	jwk := key.JWK()
	if as != nil {
		jwk = as.JWK()
	}
	r.Decision.PublicKey, r.Decision.Signature = &jwk, key.Sign(auth.DecisionText(r.RequestID, *r.Decision))
}

// storedEntry is a message of the record.
type storedEntry struct {
	subject string
	header  nats.Header
	body    []byte
}

// rewrite writes the record anew, changed, with the means of the engine itself.
func rewrite(t *testing.T, state string, change func([]storedEntry) []storedEntry) {
	t.Helper()
	withRecord(t, state, func(js jetstream.JetStream) {
		st, err := js.Stream(t.Context(), "APPROVALS")
		if err != nil {
			t.Fatal(err)
		}
		info, err := st.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ms []storedEntry
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
			m, err := st.GetMsg(t.Context(), seq)
			if err != nil {
				t.Fatal(err)
			}
			ms = append(ms, storedEntry{m.Subject, m.Header, m.Data})
		}
		if err := js.DeleteStream(t.Context(), "APPROVALS"); err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateStream(t.Context(), info.Config); err != nil {
			t.Fatal(err)
		}
		for _, e := range change(ms) {
			m := &nats.Msg{Subject: e.subject, Header: nats.Header{}, Data: e.body}
			for name, values := range e.header {
				if !strings.HasPrefix(name, "Nats-") { // which no leaf covers
					m.Header[name] = values
				}
			}
			if _, err := js.PublishMsg(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// withRecord starts the engine of the record, as long as no broker does.
func withRecord(t *testing.T, state string, do func(jetstream.JetStream)) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: filepath.Join(state, "nats", "record"), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the engine does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	do(js)
}
