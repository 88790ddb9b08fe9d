package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/e2e/rig"
)

// standIn speaks as Claude Code does, as far as a host hears it. A tool of it leaves a process behind that has
// nothing of it: no parent, no session, no environment.
const standIn = `#!/bin/sh
case $1 in --version) echo '2.1.329 (Claude Code)'; exit;; esac
while read -r line; do
	id=${line##*'"uuid":"'} id=${id%%'"'*}
	(env -i setsid sleep 60371 >/dev/null 2>&1 </dev/null &)
	echo '{"type":"system","subtype":"init","permissionMode":"default","claude_code_version":"2.1.329"}'
	echo '{"type":"command_lifecycle","command_uuid":"'$id'","state":"started"}'
	echo '{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0.01}'
done
`

// TestAgentsUnderSystemd: the host of agents is a service of a real systemd user instance; its agents are in scopes
// of their own, outlive it, and leave nothing behind in the end.
func TestAgentsUnderSystemd(t *testing.T) {
	t.Parallel()
	u := newUserSystemd(t)
	must := func(args ...string) string {
		t.Helper()
		out, err := u.run(args...)
		if err != nil {
			t.Fatalf("%q: %v\n%s\n%s", args, err, out, u.log.Tail(2000))
		}
		return string(out)
	}
	assent := rig.Program("assent")
	must(assent, "service", "install", "--", "--listen", "127.0.0.1:0", "--nats-listen", "off")

	// A key of this terminal, and an agent that obeys it.
	key := exec.Command("nsenter", "--target", strconv.Itoa(u.pid1), "--mount", "--pid", "--cgroup", "--", assent, "agent", "key")
	key.Env = append(u.env(), "XDG_STATE_HOME="+u.stateHome())
	var said rig.Output
	accept := &bytes.Buffer{}
	key.Dir, key.Stdout, key.Stderr = u.home(), accept, &said
	if err := key.Start(); err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`code is (\S+)\.`)
	rig.Eventually(t, rig.Soon, "a code", func() bool { return code.MatchString(said.Tail(2000)) })
	must(assent, "pair", code.FindStringSubmatch(said.Tail(2000))[1], "--role", "operate")
	if err := key.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.Tail(2000))
	}
	if out, err := u.assent("service", "install", "--agents"); err == nil || !bytes.Contains(out, []byte("nothing to run")) {
		t.Errorf("without agents.yaml: %v\n%s", err, out)
	}
	project, program := filepath.Join(u.home(), "app"), filepath.Join(u.home(), "claude")
	config := filepath.Join(u.home(), ".config", "assent")
	for _, dir := range []string{project, config} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	yaml := "accept: [" + strings.TrimSpace(accept.String()) + "]\nagents:\n  coder:\n    project: '" + project + "'\n    executor: {kind: claude, cli: '" + program + "'}\n"
	for path, text := range map[string]string{program: standIn, filepath.Join(config, "agents.yaml"): yaml} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}

	if out := must(assent, "up"); !strings.Contains(out, "service install --agents") {
		t.Errorf("up does not offer it: %s", out)
	}
	must(assent, "service", "install", "--agents")
	type status struct{ Installed, Running, Ready bool }
	is := func(want status) func() bool {
		return func() bool {
			out, _ := u.assent("service", "status", "--agents", "--json")
			var got status
			return json.NewDecoder(bytes.NewReader(out)).Decode(&got) == nil && got == want // a sentence may follow
		}
	}
	if !is(status{true, true, true})() {
		t.Error("status does not say that the host runs")
	}
	if out := must(assent, "service", "install", "--agents"); !strings.Contains(out, "Nothing to do") {
		t.Errorf("a second install: %s", out)
	}
	if out := must(assent, "up"); !strings.Contains(out, "offered already") {
		t.Errorf("up offers what is there: %s", out)
	}
	rig.Eventually(t, rig.Soon, "the agent is offered", func() bool {
		return strings.Contains(must(assent, "agent", "list"), "coder")
	})

	said1 := must(assent, "agent", "start", "coder", "hello", "--wait", "60s", "--json")
	var m struct{ SessionID string }
	if err := json.Unmarshal([]byte(said1), &m); err != nil || m.SessionID == "" {
		t.Fatalf("%v: %s", err, said1)
	}
	scopes := func() string {
		return must("systemctl", "--user", "list-units", "--type=scope", "--plain", "--no-legend", "assent-agent-*")
	}
	left := func() bool { _, err := u.run("pgrep", "-f", "^sleep 60371"); return err == nil }
	if got := scopes(); !strings.Contains(got, "assent-agent-"+m.SessionID) || !left() {
		t.Errorf("scopes %q, tool %v", got, left())
	}

	// The host's end is not the agent's, and the next host takes it up.
	agent := strings.TrimSpace(must("pgrep", "-f", "--", "--session-id "+m.SessionID))
	must("systemctl", "--user", "stop", "assent-agents")
	if !is(status{true, false, false})() || scopes() == "" || !left() {
		t.Errorf("after the stop: scopes %q, tool %v", scopes(), left())
	}
	must("systemctl", "--user", "start", "assent-agents")
	rig.Eventually(t, rig.Soon, "the next host has the session", func() bool {
		return strings.Contains(must(assent, "agent", "list"), m.SessionID)
	})
	if now := strings.TrimSpace(must("pgrep", "-f", "--", "--session-id "+m.SessionID)); now != agent {
		t.Errorf("process %s, then %s", agent, now)
	}

	// Its end takes along what it started, however that hid.
	if out := must(assent, "agent", "handover", m.SessionID, "--wait", "60s"); !strings.Contains(out, "--resume "+m.SessionID) {
		t.Errorf("%s", out)
	}
	rig.Eventually(t, time.Minute, "nothing is left", func() bool { return !left() && scopes() == "" })
	must(assent, "service", "uninstall", "--agents")
	if !is(status{})() {
		t.Error("after uninstall something is left")
	}
	must(assent, "service", "uninstall")
}
