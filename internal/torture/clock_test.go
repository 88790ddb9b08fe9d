package torture

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process's clock differs from its first instruction on, and jumps while it runs.
func TestClockOfItsOwn(t *testing.T) {
	if os.Getenv("ASSENT_TEST_CLOCK") != "" { // the process
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(time.Now().Unix())
		}
		os.Exit(0)
	}
	if !canSetClocks {
		t.Skip("no clock can be set here")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestClockOfItsOwn$")
	cmd.Env = append(os.Environ(), "ASSENT_TEST_CLOCK=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * 60 * 60
	c, err := startWithClock(cmd, day)
	if err != nil {
		t.Skipf("no process can have a clock of its own here: %v", err)
	}
	defer c.close()
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	for _, days := range []int64{1, -3, 0} {
		if err := c.set(days * day); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Unix()
		var there int64
		if _, err := fmt.Fprintln(in); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscan(out, &there); err != nil {
			t.Fatal(err)
		}
		if there < before+days*day || there > time.Now().Unix()+days*day {
			t.Errorf("its clock says %d, %d s from ours; want %d", there, there-before, days*day)
		}
	}
}
