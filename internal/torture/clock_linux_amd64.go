package torture

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

const canSetClocks = true

// wallClock is the wall clock of one process, apart from this machine's. No namespace has one (that of time
// offsets the monotonic clocks only, and at the start of a process), so the function of the vDSO by which the
// process reads the time is replaced by one that adds a number of seconds, which lies behind it.
type wallClock struct {
	mem  *os.File // of the process
	cell int64    // address of the seconds
}

// readClock asks the kernel, and adds to the seconds of CLOCK_REALTIME what the cell behind it says.
var readClock = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jnz to ret
	0x48, 0x8b, 0x0d, 0x06, 0x00, 0x00, 0x00, // mov rcx, [cell]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3,       // ret
	0x90, 0x90, // to the next multiple of eight
	0, 0, 0, 0, 0, 0, 0, 0, // the cell
} // read-only

const cellOffset = 24

// startWithClock starts the program with a clock of its own, which differs from this machine's by so many seconds
// from its first instruction on.
func startWithClock(cmd *exec.Cmd, seconds int64) (*wallClock, error) {
	runtime.LockOSThread() // the thread that traces is the one that started it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(cmd.Process.Pid, &status, 0, nil)
	}
	if err == nil && !status.Stopped() {
		err = errors.New("it did not stop at its start")
	}
	var c *wallClock
	if err == nil {
		c, err = ownClock(cmd.Process.Pid)
	}
	if err == nil {
		err = c.set(seconds)
	}
	if err == nil {
		err = syscall.PtraceDetach(cmd.Process.Pid)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if c != nil {
			c.close()
		}
		return nil, fmt.Errorf("give it a clock of its own: %w; leave %q out of --nemesis", err, clock)
	}
	return c, nil
}

// ownClock replaces the function in a process that does not run.
func ownClock(pid int) (*wallClock, error) {
	base, err := vdso(pid)
	if err != nil {
		return nil, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	at, err := clockFunction(io.NewSectionReader(mem, base, 1<<16))
	if err == nil {
		_, err = mem.WriteAt(readClock, base+at)
	}
	if err != nil {
		_ = mem.Close()
		return nil, err
	}
	return &wallClock{mem: mem, cell: base + at + cellOffset}, nil
}

// vdso is the address of the vDSO in a process.
func vdso(pid int) (int64, error) {
	const atSysinfoEhdr = 33
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(b) >= 16; b = b[16:] {
		if binary.LittleEndian.Uint64(b) == atSysinfoEhdr {
			return int64(binary.LittleEndian.Uint64(b[8:])), nil
		}
	}
	return 0, errors.New("it has no vDSO")
}

// clockFunction is where clock_gettime begins in a vDSO.
func clockFunction(image io.ReaderAt) (int64, error) {
	f, err := elf.NewFile(image)
	if err != nil {
		return 0, fmt.Errorf("read the vDSO: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, fmt.Errorf("read the vDSO: %w", err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(readClock)) && s.Value%8 == 0 {
			return int64(s.Value), nil
		}
	}
	return 0, errors.New("the vDSO has no clock_gettime that could be replaced")
}

// set makes the clock differ from this machine's by so many seconds.
func (c *wallClock) set(seconds int64) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(seconds)), c.cell)
	return err
}

func (c *wallClock) close() { _ = c.mem.Close() }
