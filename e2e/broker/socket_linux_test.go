package broker

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"assent/e2e/rig"
)

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
	d := rig.NewDaemon(t, "--socket-group", group.Name)
	if err := os.Chmod(d.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d.Start()
	if err := exec.Command("test", "-S", d.Socket).Run(); err != nil {
		t.Fatal(err)
	}
	own := []string{"--socket-owner", "root", "--timeout", "90s"}

	waits := d.AsUser(alice, uint32(gid), rig.Bash("shared", "touch x"), own...)
	r := d.WaitPending(1)[0]
	end := rig.Payload("SessionEnd", "shared", nil)
	if out := d.AsUser(bob, uint32(gid), end, own...).Wait(); out != "" {
		t.Errorf("bob's hook printed %q", out)
	}
	if out := d.Hook(end).Wait(); out != "" {
		t.Errorf("root's hook printed %q", out)
	}
	// Events are looked at in order: when bob's own is settled, his word about alice's was heard.
	second := d.AsUser(bob, uint32(gid), rig.Bash("bob's", "touch y"), own...)
	d.WaitPending(2)
	if out := d.AsUser(bob, uint32(gid), rig.Payload("SessionEnd", "bob's", nil), own...).Wait(); out != "" {
		t.Errorf("bob's hook printed %q", out)
	}
	if out := second.Wait(); out != "" {
		t.Errorf("bob's hook printed %q", out)
	}
	if d.Request(r.ID).State != "pending" {
		t.Fatalf("alice's request was settled by another: %+v", d.Request(r.ID))
	}
	if out := d.AsUser(alice, uint32(gid), end, own...).Wait(); out != "" {
		t.Errorf("alice's hook printed %q", out)
	}
	if out := waits.Wait(); out != "" {
		t.Errorf("alice's hook printed %q; %s", out, waits.Stderr.String())
	}

	for _, args := range [][]string{nil, {"--socket-owner", strconv.Itoa(bob)}} {
		h := d.AsUser(alice, uint32(gid), rig.Bash("shared", "touch z"), append(args, "--timeout", "90s")...)
		if out := h.Wait(); out != "" || !strings.Contains(h.Stderr.String(), "user 0 listens there") {
			t.Errorf("%v: printed %q, said %q", args, out, h.Stderr.String())
		}
	}
	if n := len(d.Pending()); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}

// TestHookLooksWhoseSocketItIs needs no other user: it says that another one's is expected.
func TestHookLooksWhoseSocketItIs(t *testing.T) {
	d := rig.Serve(t)
	other := strconv.Itoa(os.Geteuid() + 1)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--socket-owner", other}, ""},
		{[]string{"--socket-owner", other, "--on-failure", "abstain", "--on-timeout", "deny"}, ""},
		{[]string{"--socket-owner", "no-such-user-here"}, ""},
	} {
		h := d.Hook(rig.Bash("s", "touch x"), append(tt.args, "--timeout", "90s")...)
		if out := h.Wait(); out != tt.want || !strings.Contains(h.Stderr.String(), "socket-owner") {
			t.Errorf("%v: printed %q, said %q", tt.args, out, h.Stderr.String())
		}
	}
	var events []struct{ ID string }
	d.Get("/v1/requests?state=ended", &events)
	if n := len(d.Pending()); n != 0 || len(events) != 0 {
		t.Errorf("%d requests wait, %d are over", n, len(events))
	}
	h := d.Hook(rig.Bash("s", "touch x"), "--socket-owner", strconv.Itoa(os.Geteuid()), "--timeout", "90s")
	d.Allow(d.WaitPending(1)[0])
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("printed %q, said %q", out, h.Stderr.String())
	}
}
