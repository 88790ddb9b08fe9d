package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// host is a machine: a network namespace, and a home.
type host struct {
	t        *testing.T
	netns    string
	address  string
	home     string
	out      rig.Output
	settings string
}

// twoHosts makes two machines with a wire between them, or skips the test where that cannot be.
func twoHosts(t *testing.T) (a, b *host) {
	t.Helper()
	ip := func(args ...string) error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
		return nil
	}
	skip := func(err error) {
		t.Helper()
		rig.Count(t, "netns", "skipped")
		t.Skipf("this test needs network namespaces of its own: %v", err)
	}
	if os.Geteuid() != 0 {
		skip(errors.New("only root makes them"))
	}
	name := func(which string) string { return fmt.Sprintf("assent-%d-%s", os.Getpid(), which) }
	for _, which := range []string{"a", "b"} {
		if err := ip("netns", "add", name(which)); err != nil {
			skip(err)
		}
		t.Cleanup(func() { _ = ip("netns", "delete", name(which)) })
	}
	if err := ip("-netns", name("a"), "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", name("b")); err != nil {
		skip(err)
	}
	make := func(which, address string) *host {
		h := &host{t: t, netns: name(which), address: address, home: rig.TempDir(t)}
		h.settings = filepath.Join(h.home, ".claude/settings.json")
		for _, args := range [][]string{{"addr", "add", address + "/24", "dev", "wire"}, {"link", "set", "wire", "up"}, {"link", "set", "lo", "up"}} {
			if err := ip(append([]string{"-netns", h.netns}, args...)...); err != nil {
				skip(err)
			}
		}
		return h
	}
	a, b = make("a", "10.13.7.1"), make("b", "10.13.7.2")
	rig.Count(t, "netns", "ran")
	return a, b
}

func (h *host) command(args ...string) *exec.Cmd {
	c := exec.Command("ip", append([]string{"netns", "exec", h.netns}, args...)...)
	c.Env = []string{"HOME=" + h.home, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR=" + h.home, "LANG=C.UTF-8"}
	c.Dir = h.home
	return c
}

func (h *host) try(args ...string) (string, error) {
	out, err := h.command(append([]string{rig.Program("assent")}, args...)...).CombinedOutput()
	return string(out), err
}

func (h *host) assent(args ...string) string {
	h.t.Helper()
	var errs bytes.Buffer
	c := h.command(append([]string{rig.Program("assent")}, args...)...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		h.t.Fatalf("assent %v: %v\n%s%s", args, err, out, errs.String())
	}
	return string(out)
}

// refuses wants a command to fail with these words.
func (h *host) refuses(why string, args ...string) {
	h.t.Helper()
	if out, err := h.try(args...); err == nil || !strings.Contains(out, why) {
		h.t.Errorf("assent %v: %v\n%s, want %q", args, err, out, why)
	}
}

// permissionHook is the command that the settings run for a PermissionRequest.
func (h *host) permissionHook() []string {
	h.t.Helper()
	text, err := os.ReadFile(h.settings)
	if err != nil {
		h.t.Fatal(err)
	}
	var s struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Args    []string
			}
		}
	}
	if err := json.Unmarshal(text, &s); err != nil || len(s.Hooks["PermissionRequest"]) != 1 {
		h.t.Fatalf("%v in %s", err, text)
	}
	hook := s.Hooks["PermissionRequest"][0].Hooks[0]
	return append([]string{hook.Command}, hook.Args...)
}

// TestJoinAcrossMachines has one machine join the broker of another over https, with an authority of its
// own: a request there is answered here, under the name that was given here, and what is used twice is
// refused.
func TestJoinAcrossMachines(t *testing.T) {
	t.Parallel()
	box, server := twoHosts(t)
	ca, cert, key := rig.Authority(t, box.home, net.ParseIP(box.address))
	url := "https://" + box.address + ":7717"
	c := box.command(rig.Program("assent"), "serve", "--listen", "0.0.0.0:7717", "--nats-listen", "off", "--tls-cert", cert, "--tls-key", key, "--public-url", url)
	c.Stdout, c.Stderr = &box.out, &box.out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("the broker said:\n%s", box.out.Tail(4000))
		}
	})
	rig.Eventually(t, rig.Soon, "the broker", func() bool { _, err := box.try("pending"); return err == nil })
	invite := func() string {
		t.Helper()
		link := strings.TrimSpace(box.assent("pair", "--join", "--name", "build-server"))
		link, _, _ = strings.Cut(link, "\n")
		if !strings.HasPrefix(link, url+"/#join=") {
			t.Fatalf("the link is %q", link)
		}
		return link
	}
	box.refuses("say which machine", "pair", "--join")

	link := invite()
	join := func(link string, more ...string) []string {
		return append([]string{"join", link, "--claude-version", "2.1.329"}, more...)
	}
	server.refuses("not trusted", join(link, "--yes")...)
	server.refuses("the link is still good", join(link, "--cacert", ca)...)
	server.refuses("want https", join(strings.Replace(link, "https:", "http:", 1), "--yes")...)
	server.refuses("pairs a browser", join(strings.Replace(link, "#join=", "#pair=", 1), "--yes")...)
	server.refuses("put it in quotes", join(url, "--yes")...)
	server.refuses("wrong, used or older", join(link+"x", "--yes", "--cacert", ca)...)
	if _, err := os.Stat(server.settings); err == nil {
		t.Error("hooks were written without a token")
	}
	out := server.assent(join(link, "--yes", "--cacert", ca)...)
	for _, want := range []string{"This machine asks " + url + ", where it is called build-server.", "It answers.", "assent join --undo"} {
		if !strings.Contains(out, want) {
			t.Errorf("join says:\n%s\nwithout %q", out, want)
		}
	}
	conf := filepath.Join(server.home, ".config/assent/hook.conf")
	if fi, err := os.Stat(conf); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", conf, fi.Mode(), err)
	}
	if err := os.Remove(ca); err != nil { // it was copied
		t.Fatal(err)
	}
	server.refuses("wrong, used or older", join(link, "--yes", "--cacert", filepath.Join(server.home, ".config/assent/broker-ca.pem"))...)
	box.refuses("wrong, used or older", append(join(link, "--yes", "--cacert", cert), "--state-dir", filepath.Join(box.home, "other"))...) // not elsewhere either

	// The hook that was written asks, and is answered.
	argv := server.permissionHook()
	hook := server.command(argv...)
	var answer bytes.Buffer
	hook.Stdin, hook.Stdout, hook.Stderr = bytes.NewReader(rig.Bash("far", "make deploy")), &answer, &server.out
	if err := hook.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hook.Process.Kill() })
	var waiting []struct{ ID, Machine, Host, Channel string }
	rig.Eventually(t, rig.Soon, "the request is at the broker", func() bool {
		out, err := box.try("pending", "--json")
		return err == nil && json.Unmarshal([]byte(out), &waiting) == nil && len(waiting) == 1
	})
	if w := waiting[0]; w.Machine != "build-server" || w.Host == "" || w.Channel != "remote" {
		t.Errorf("%+v", w)
	}
	if out := box.assent("pending"); !strings.Contains(out, "build-server") {
		t.Errorf("pending does not name the machine:\n%s", out)
	}
	box.assent("allow", waiting[0].ID)
	if err := hook.Wait(); err != nil || answer.String() != rig.Allowed {
		t.Errorf("the hook: %v %q %s", err, answer.String(), server.out.Tail(2000))
	}

	// Both sides say that all is well; the machine is known, and of this version.
	if out, _ := server.try("doctor", "--json"); !strings.Contains(out, url+" is ready") || !strings.Contains(out, "enough for a hook") {
		t.Errorf("doctor on the machine:\n%s", out)
	}
	if out, _ := box.try("doctor", "--json"); !strings.Contains(out, "hooks of the broker's version, all sessions ask") {
		t.Errorf("doctor at the broker:\n%s", out)
	}

	server.assent("join", "--undo", "--yes")
	for _, gone := range []string{server.settings, conf, filepath.Join(server.home, ".config/assent/broker-ca.pem"), filepath.Join(server.home, ".local/state/assent/joined.json")} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
	}
	server.refuses("has joined no broker", "join", "--undo")
}
