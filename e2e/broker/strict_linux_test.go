package broker

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/hook"
	"assent/internal/setup/doctor"
)

// TestStrictMachine: what assent install --strict sets up, the agent's user can neither undo nor go around, by hook.conf, agents.yaml, variables,
// the owner's token or another device; doctor says so, and no more where something lacks.
func TestStrictMachine(t *testing.T) {
	etc := rig.NewEtc(t, rig.TempDir(t))
	group, err := user.LookupGroupId(strconv.Itoa(os.Getegid()))
	if err != nil {
		t.Skip("this test needs a group with a name: ", err)
	}
	d := rig.NewDaemon(t, "--socket-group", group.Name)
	if err := os.Chmod(d.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d.Start()
	phone, stranger := d.PairBare("approve"), d.PairBare("approve")
	bin := etc.Programs()
	const alice = 65531
	home := filepath.Join(d.Dir, "alice")
	if err := os.MkdirAll(filepath.Join(home, ".config", "assent"), 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(home, ".config", "assent", "hook.conf")
	put := func(file, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	run := func(as int, stdin []byte, argv ...string) *rig.HookRun {
		t.Helper()
		words := append([]string{"setpriv", "--reuid", strconv.Itoa(as), "--regid", group.Gid, "--clear-groups"}, argv...)
		h := &rig.HookRun{T: t, Cmd: etc.Command(words[0], words[1:]...)}
		h.Cmd.Dir, h.Cmd.Stdin = "/", bytes.NewReader(stdin)
		h.Cmd.Env = []string{"HOME=" + home, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ASSENT_STATE_DIR=" + filepath.Join(d.Dir, "nobody's"), "ASSENT_REQUIRE=", "ASSENT_TRUST=" + stranger.Thumbprint()}
		h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
		if err := h.Cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Cmd.Process.Kill() })
		return h
	}
	says := func(as int, fails bool, want string, args ...string) string {
		t.Helper()
		h := run(as, nil, append([]string{bin + "/assent"}, args...)...)
		err := h.Cmd.Wait()
		said := h.Stdout.String() + h.Stderr.String()
		if (err != nil) != fails || !strings.Contains(said, want) {
			t.Errorf("assent %v: %v, want %q in:\n%s", args, err, want, said)
		}
		return said
	}
	confs := func() (all string) {
		for _, name := range []string{"assent/hook.conf", "claude-code/managed-settings.json"} {
			b, _ := os.ReadFile(filepath.Join(etc.Dir, name)) // it may not be there
			all += string(b)
		}
		return all
	}
	install := []string{"install", "--strict", "--claude-version", "2.1.329", "--socket", d.Socket, "--socket-owner", "root"}
	trust := []string{"--trust", "device:" + phone.Thumbprint() + " independent"}

	// Nothing is written unless all of it can be.
	says(alice, true, "sudo "+bin+"/assent install --strict --claude-version 2.1.329 --socket "+d.Socket+" --socket-owner root --trust 'device:"+phone.Thumbprint()+" independent' --yes", append(append(install, trust...), "--yes")...)
	says(0, true, "no key is trusted", append(install, "--yes")...)
	says(0, true, "device list prints it, such as", append(install, "--yes", "--trust", "device:short")...)
	says(alice, false, "trust = device:"+phone.Thumbprint()+" independent", append(append(install, trust...), "--print")...)
	if text := confs(); text != "" {
		t.Fatalf("written before it was time: %s", text)
	}
	says(0, false, "Wrote /etc/assent/hook.conf.", append(append(install, trust...), "--yes")...)
	first := confs()
	if !strings.Contains(first, `"allowManagedHooksOnly": true`) || !strings.Contains(first, bin+"/assent-hook-strict") || !strings.HasPrefix(first, "require = signed\ntrust = device:"+phone.Thumbprint()+" independent\n") {
		t.Errorf("written:\n%s", first)
	}
	says(0, false, "Nothing to do", append(install, "--yes")...) // whom the file names is trusted still
	if again := confs(); again != first {
		t.Errorf("a second install changed it to:\n%s", again)
	}

	// Doctor, as the agent's user.
	signatures := func(want doctor.Status, detail string) {
		t.Helper()
		h := run(alice, nil, bin+"/assent", "doctor", "--json")
		_ = h.Cmd.Wait() // this user has no broker, which is broken
		var all []doctor.Finding
		if err := json.Unmarshal(h.Stdout.Bytes(), &all); err != nil {
			t.Fatalf("%v: %s", err, h.Stdout.String())
		}
		for _, f := range all {
			if f.Name == "signatures" {
				if f.Status != want || !strings.Contains(f.Detail, detail) {
					t.Errorf("doctor says %+v, want %s %q", f, want, detail)
				}
				return
			}
		}
		t.Errorf("doctor says nothing of signatures: %s", h.Stdout.String())
	}
	signatures(doctor.OK, "enforced: settings, program and hook.conf are root's")
	settings := filepath.Join(etc.Dir, "claude-code/managed-settings.json")
	for file, mode := range map[string]os.FileMode{settings: 0o644, filepath.Dir(settings): 0o755, filepath.Join(etc.Dir, "assent-bin"): 0o755} {
		if err := os.Chmod(file, 0o777); err != nil {
			t.Fatal(err)
		}
		signatures(doctor.Warn, "advisory only: the agent's user can undo it, because ")
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}

	// The agent's user says whom to trust, and that nothing is required.
	put(own, "require = signed\ntrust = device:"+stranger.Thumbprint()+"\n", 0o644)
	says(alice, true, "run it as root", "install", "--scope", "managed", "--socket", d.Socket, "--yes")
	says(alice, true, "for all users of this machine", "uninstall", "--strict", "--yes")
	for _, line := range []string{"echo >/etc/assent/hook.conf", "rm /etc/assent/hook.conf", "mv /etc/assent /etc/assent2", "echo >/etc/claude-code/managed-settings.json", "rm " + bin + "/assent-hook-strict"} {
		if h := run(alice, nil, "sh", "-c", line); h.Cmd.Wait() == nil {
			t.Errorf("the agent's user can do: %s", line)
		}
	}
	asks := func() (*rig.HookRun, rig.Request) {
		t.Helper()
		h := run(alice, rig.Bash("s", "make x"), bin+"/assent-hook-strict", "--socket", d.Socket, "--socket-owner", "root", "--timeout", "120s")
		return h, d.WaitPending(1)[0]
	}
	decide := func(b *rig.BareDevice, r rig.Request) {
		t.Helper()
		sent := b.Allows(r)
		sent.PublicKey = nil
		d.Must("POST", "/v1/requests/"+r.ID+"/decision", b.Bearer(), sent, http.StatusOK, nil)
	}
	// Whom the agents of a host obey, and which program they are, is that user's word; whose allow a hook prints is not.
	agents := filepath.Join(home, ".config", "assent", "agents.yaml")
	put(agents, "accept: [\"device:"+stranger.Thumbprint()+"\"]\nagents: {coder: {project: "+home+", executor: {kind: claude, cli: /bin/true}}}\n", 0o600)
	for _, path := range []string{home, filepath.Join(home, ".config"), filepath.Join(home, ".config", "assent"), agents} {
		if err := os.Chown(path, alice, -1); err != nil {
			t.Fatal(err)
		}
	}
	host := run(alice, nil, bin+"/assent", "agent", "doctor")
	_ = host.Cmd.Wait() // there is no project
	if !strings.Contains(host.Stdout.String(), "coder") {
		t.Errorf("agents.yaml is not read: %s%s", host.Stdout.String(), host.Stderr.String())
	}
	if confs() != first {
		t.Error("agents.yaml changed what is the administrator's")
	}
	signatures(doctor.OK, "enforced: settings, program and hook.conf are root's")

	h, r := asks()
	decide(stranger, r)
	if out := h.Wait(); out != "" || !strings.Contains(h.Stderr.String(), "not trusted: device:"+stranger.Thumbprint()) {
		t.Errorf("by the device that the user trusts: %q, %s", out, h.Stderr.String())
	}
	h, r = asks()
	d.Allow(r)
	if out := h.Wait(); out != "" || !strings.Contains(h.Stderr.String(), "the owner's token") {
		t.Errorf("by the owner's token: %q, %s", out, h.Stderr.String())
	}
	h, r = asks()
	decide(phone, r)
	if out := h.Wait(); !strings.Contains(out, string(hook.BehaviorAllow)) {
		t.Errorf("by the phone: %q, %s", out, h.Stderr.String())
	}

	// Another key, by the next install; and all out again.
	says(0, false, "-trust = device:"+phone.Thumbprint()+" independent\n+trust = device:"+stranger.Thumbprint(), append(install, "--yes", "--trust", "device:"+stranger.Thumbprint())...)
	signatures(doctor.OK, "comes from the broker: who steals that can have it sign what it did not show")
	h, r = asks()
	decide(phone, r) // lost, and its line is out
	if out := h.Wait(); out != "" || !strings.Contains(h.Stderr.String(), "not trusted: device:"+phone.Thumbprint()) {
		t.Errorf("by the key of before: %q, %s", out, h.Stderr.String())
	}
	h, r = asks()
	decide(stranger, r)
	if out := h.Wait(); !strings.Contains(out, string(hook.BehaviorAllow)) {
		t.Errorf("by the new key: %q, %s", out, h.Stderr.String())
	}
	// Another user's broker is not theirs to repair or to pair at.
	says(alice, true, "", "repair", "--state-dir", d.State)
	says(alice, true, "", "pair", "--state-dir", d.State)
	says(alice, true, "", "allow", r.ID, "--state-dir", d.State)
	says(0, false, "still has hooks want signatures", "uninstall", "--scope", "managed", "--yes")
	says(0, false, "Wrote /etc/assent/hook.conf.", "uninstall", "--strict", "--yes")
	if text := confs(); text != "" {
		t.Errorf("left: %s", text)
	}
}
