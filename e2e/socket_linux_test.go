package e2e

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// asUser lets a hook run as another user. The programs are copied to where that one can run them.
func (d *daemon) asUser(uid uint32, gid uint32, payload []byte, args ...string) *hookRun {
	d.t.Helper()
	cmd := d.hookCommand(payload, args...)
	copied := filepath.Join(d.dir, "assent-hook")
	if _, err := os.Stat(copied); err != nil {
		b, err := os.ReadFile(cmd.Path)
		if err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(copied, b, 0o700); err != nil {
			d.t.Fatal(err)
		}
		if err := os.Chmod(copied, 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
	home := filepath.Join(d.dir, "home-"+strconv.Itoa(int(uid)))
	if err := os.MkdirAll(home, 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chown(home, int(uid), int(gid)); err != nil {
		d.t.Fatal(err)
	}
	cmd.Path, cmd.Dir = copied, home
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	return d.run(cmd)
}

// TestSocketGroupTellsUsersApart: two users share a socket by its group. What one tells of the
// other's session settles nothing, and a hook talks to the broker of the user that it was told of,
// and to no other.
func TestSocketGroupTellsUsersApart(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test runs programs as other users, which needs root")
	}
	const alice, bob = 65531, 65532
	group, err := user.LookupGroupId(strconv.Itoa(os.Getegid()))
	if err != nil {
		t.Skip("this test needs a group with a name: ", err)
	}
	gid, err := strconv.ParseUint(group.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, "--socket-group", group.Name)
	if err := os.Chmod(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d.start()
	if err := exec.Command("test", "-S", d.socket).Run(); err != nil {
		t.Fatal(err)
	}
	own := []string{"--socket-owner", "root", "--timeout", "90s"}

	waits := d.asUser(alice, uint32(gid), bash("shared", "touch x"), own...)
	r := d.waitPending(1)[0]
	end := payload("SessionEnd", "shared", nil)
	if out := d.asUser(bob, uint32(gid), end, own...).wait(); out != "" {
		t.Errorf("bob's hook printed %q", out)
	}
	if out := d.hook(end).wait(); out != "" {
		t.Errorf("root's hook printed %q", out)
	}
	// Events are looked at in order: when bob's own is settled, his word about alice's was heard.
	second := d.asUser(bob, uint32(gid), bash("bob's", "touch y"), own...)
	d.waitPending(2)
	if out := d.asUser(bob, uint32(gid), payload("SessionEnd", "bob's", nil), own...).wait(); out != "" {
		t.Errorf("bob's hook printed %q", out)
	}
	if out := second.wait(); out != "" {
		t.Errorf("bob's hook printed %q", out)
	}
	if d.request(r.ID).State != "pending" {
		t.Fatalf("alice's request was settled by another: %+v", d.request(r.ID))
	}
	if out := d.asUser(alice, uint32(gid), end, own...).wait(); out != "" {
		t.Errorf("alice's hook printed %q", out)
	}
	if out := waits.wait(); out != "" {
		t.Errorf("alice's hook printed %q; %s", out, waits.stderr.String())
	}

	for _, args := range [][]string{nil, {"--socket-owner", strconv.Itoa(bob)}} {
		h := d.asUser(alice, uint32(gid), bash("shared", "touch z"), append(args, "--timeout", "90s")...)
		if out := h.wait(); out != "" || !strings.Contains(h.stderr.String(), "user 0 listens there") {
			t.Errorf("%v: printed %q, said %q", args, out, h.stderr.String())
		}
	}
	if n := len(d.pending()); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}

// TestHookLooksWhoseSocketItIs needs no other user: it says that another one's is expected.
func TestHookLooksWhoseSocketItIs(t *testing.T) {
	d := serve(t)
	other := strconv.Itoa(os.Geteuid() + 1)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--socket-owner", other}, ""},
		{[]string{"--socket-owner", other, "--on-failure", "abstain", "--on-timeout", "deny"}, ""},
		{[]string{"--socket-owner", "no-such-user-here"}, ""},
	} {
		h := d.hook(bash("s", "touch x"), append(tt.args, "--timeout", "90s")...)
		if out := h.wait(); out != tt.want || !strings.Contains(h.stderr.String(), "socket-owner") {
			t.Errorf("%v: printed %q, said %q", tt.args, out, h.stderr.String())
		}
	}
	var events []struct{ ID string }
	d.get("/v1/requests?state=ended", &events)
	if n := len(d.pending()); n != 0 || len(events) != 0 {
		t.Errorf("%d requests wait, %d are over", n, len(events))
	}
	h := d.hook(bash("s", "touch x"), "--socket-owner", strconv.Itoa(os.Geteuid()), "--timeout", "90s")
	d.allow(d.waitPending(1)[0])
	if out := h.wait(); out != allowed {
		t.Errorf("printed %q, said %q", out, h.stderr.String())
	}
}
