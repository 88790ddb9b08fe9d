package process

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestLook(t *testing.T) {
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	id := ID(pid)
	if id == "" {
		t.Skip("there is no /proc here")
	}
	if got := Look(pid, id); got != Runs {
		t.Errorf("while it runs: %v", got)
	}
	start, place, _ := parts(id)
	for name, other := range map[string]string{"none": "", "nonsense": "x", "another boot": start + "." + place + "0", "another namespace": start + ".1" + place} {
		if got := Look(pid, other); got != Unknown {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := Look(pid, "1"+start+"."+place); got != Gone {
		t.Errorf("a later process of the same number: %v", got)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if got := Look(pid, id); got != Gone {
		t.Errorf("killed: %v", got)
	}
	if got := Look(0, id); got != Unknown {
		t.Errorf("no pid: %v", got)
	}
}

func TestFields(t *testing.T) {
	f := fields("7 (a) b (c)) S 1 2 3 34816 5")
	if strings.Join(f, " ") != "S 1 2 3 34816 5" || f[atTerminal] != "34816" {
		t.Errorf("%q", f)
	}
}

func TestArgs(t *testing.T) {
	if got := Args(os.Getpid()); !slices.Equal(got, os.Args) {
		t.Errorf("%q, want %q", got, os.Args)
	}
	if got := Parent(os.Getpid()); got != os.Getppid() {
		t.Errorf("parent %d, want %d", got, os.Getppid())
	}
	if Args(-1) != nil || Parent(-1) != 0 {
		t.Error("of no process something is told")
	}
}
