package broker

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/audit"
	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// TestSignedAnswersOnly: a hook that requires signatures prints what a trusted device signed and denials, and of the owner's token, a rule,
// another device and a broker that lies nothing.
func TestSignedAnswersOnly(t *testing.T) {
	rules := filepath.Join(rig.TempDir(t), "rules.yaml")
	if err := os.WriteFile(rules, []byte("version: 1\nallow: [\"Bash(git status)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := rig.NewDaemon(t, "--rules", rules)
	d.Start()
	if out := d.Hook(rig.Bash("s", "git status")).Wait(); !strings.Contains(out, "allow") {
		t.Fatalf("the rule does not allow it where nothing is required: %q", out)
	}
	phone, stranger := d.PairBare("approve"), d.PairBare("approve")
	conf := filepath.Join(d.Dir, ".config", "assent", "hook.conf")
	if err := os.MkdirAll(filepath.Dir(conf), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte("require = signed\ntrust = device:"+phone.Thumbprint()+" independent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(argv ...string) *rig.HookRun {
		t.Helper()
		command := argv[len(argv)-1]
		h := &rig.HookRun{T: t, Cmd: exec.Command(rig.Program(argv[0]), argv[1:len(argv)-1]...)}
		h.Cmd.Env, h.Cmd.Dir, h.Cmd.Stdin = d.Env(), d.Dir, bytes.NewReader(rig.Bash("s", command))
		h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
		if err := h.Cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Cmd.Process.Kill() })
		return h
	}
	ask := func(socket, command string) *rig.HookRun {
		t.Helper()
		return run("assent-hook-strict", "--socket", socket, "--timeout", "120s", command)
	}
	decide := func(b *rig.BareDevice, r rig.Request) hook.Decision {
		t.Helper()
		full := b.Allows(r)
		sent := full
		sent.PublicKey = nil
		d.Must("POST", "/v1/requests/"+r.ID+"/decision", b.Bearer(), sent, http.StatusOK, nil)
		return full
	}
	prints := func(h *rig.HookRun, want, why string) {
		t.Helper()
		if out := h.Wait(); out != want || !strings.Contains(h.Stderr.String(), why) {
			t.Errorf("printed %q, want %q; said %q, want %q", out, want, h.Stderr.String(), why)
		}
	}

	h := ask(d.Socket, "make x")
	r := d.WaitPending(1)[0]
	was := decide(phone, r)
	prints(h, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, "")

	h = ask(d.Socket, "make x")
	d.Allow(d.WaitPending(1)[0])
	prints(h, "", "the owner's token")

	h = ask(d.Socket, "make x")
	left := d.WaitPending(1)[0]
	decide(stranger, left)
	prints(h, "", "not trusted: device:"+stranger.Thumbprint())
	// It says so, and the record has it.
	got := d.Until(left.ID, "refused", func(r rig.Request) bool { return r.Delivery == "refused" })
	if want := "the key that signed it is not trusted: device:" + stranger.Thumbprint(); got.Outcome != "allowed" || got.Reason != "refused" || got.Failure != want {
		t.Errorf("recorded: %+v", got)
	}
	if said := d.Command("trace", left.ID); !strings.Contains(said, "refused") || !strings.Contains(said, "by the hook, so the agent's own prompt decides: the key that signed it is not trusted") {
		t.Errorf("the trace says\n%s", said)
	}

	h = ask(d.Socket, "git status") // the rule leaves it to people, and a denial needs no signature
	d.Deny(d.WaitPending(1)[0], "not now")
	prints(h, rig.Denied("not now"), "")

	plain := d.Hook(rig.Bash("s", "make x"))
	prints(plain, "", "this program checks no signatures")

	// A broker that gives out the signature of the first request for another one with the same input.
	socket := filepath.Join(rig.TempDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	replay, err := signed.NewAnswer(r.ID, was, nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	bodies := make(chan []byte, 1)
	lies := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, hook.RefusedRoute) {
			http.NotFound(w, r) // as a broker of before
			return
		}
		_, _ = w.Write(<-bodies)
	})}
	go func() { _ = lies.Serve(l) }()
	t.Cleanup(func() { _ = lies.Close() })
	for why, body := range map[string][]byte{
		"does not fit this request":        replay,
		"no decision as it was signed":     []byte(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`),
		"it is not signed: a rule allowed": []byte(`{"behavior":"allow","by":{"kind":"rule","id":"status"}}`),
	} {
		for _, argv := range [][]string{{"assent-hook-strict"}, {"assent", "hook"}} { // which are to say the same
			h := run(append(argv, "--socket", socket, "--timeout", "120s", "make x")...)
			bodies <- body
			prints(h, "", why)
		}
	}
	// A terminal elsewhere signs what it read itself in the agent's request, and shows it.
	terminal := filepath.Join(rig.TempDir(t), "home")
	elsewhere := func(args ...string) *exec.Cmd {
		url, _ := d.Owner()
		cmd := exec.Command(rig.Program("assent"), append(args, "--url", url)...)
		cmd.Env = []string{"HOME=" + terminal, "PATH=/usr/bin:/bin"}
		return cmd
	}
	pairing := elsewhere("agent", "key")
	var accept bytes.Buffer
	pairing.Stdout = &accept
	if err := pairing.Start(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, rig.Soon, "a code", func() bool { return len(d.WaitingDevices()) == 1 })
	d.Command("pair", d.WaitingDevices()[0].Code, "--role", "operate")
	if err := pairing.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte("require = signed\ntrust = "+strings.TrimSpace(accept.String())+" independent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h = ask(d.Socket, "make x")
	out, err := elsewhere("allow", d.WaitPending(1)[0].ID, "--signed").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "make x") || !strings.Contains(string(out), "signed by "+strings.TrimSpace(accept.String())) {
		t.Errorf("%v: %s", err, out)
	}
	prints(h, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, "")

	// Where no file names a key, none is trusted.
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	h = ask(d.Socket, "make x")
	decide(phone, d.WaitPending(1)[0])
	prints(h, "", "no key is trusted")

	// Afterwards each is found by whose key signed it.
	found := strings.TrimSpace(d.Command("audit", "search", "--device", stranger.Thumbprint(), "--json"))
	var row audit.Row
	if err := json.Unmarshal([]byte(found), &row); err != nil || row.Key != stranger.Thumbprint() || row.Signature != audit.Good || row.Outcome != hook.Allowed || row.Tool != "Bash" {
		t.Errorf("%v: %s", err, found)
	}
	table, err := csv.NewReader(strings.NewReader(d.Command("audit", "report", "--since", "1h"))).ReadAll()
	if err != nil || len(table) != 1+len(d.Settled()) {
		t.Errorf("%v: %q, of %d requests", err, table, len(d.Settled()))
	}
}
