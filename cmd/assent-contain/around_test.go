//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// around looks into every process and thread whose number is near that of a process, and prints what could be
// seen or opened of it.
func around(pid int) int {
	own := fmt.Sprintf("/proc/%d/", unix.Getpid())
	for tid := pid; tid < pid+200; tid++ {
		if unix.Tgkill(unix.Getpid(), tid, 0) == nil {
			continue // its own thread
		}
		dir := fmt.Sprintf("/proc/%d/", tid)
		for _, name := range []string{"exe", "cwd", "root", "ns/mnt"} {
			if to, err := os.Readlink(dir + name); err == nil && dir != own {
				fmt.Println(dir, name, to)
			}
		}
		for fd := range 64 {
			name := fmt.Sprintf("%sfd/%d", dir, fd)
			for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_PATH} {
				if f, err := unix.Open(name, flags|unix.O_NONBLOCK, 0); err == nil {
					fmt.Println("opened", name)
					unix.Close(f)
				}
			}
		}
	}
	return 0
}

// opens tries to open to write, or at all, what is none of a reader's, and to make a file wherever files without a
// name or of anybody can be made, and prints what worked.
func opens(project string) int {
	for _, c := range []struct {
		name  string
		flags int
	}{
		{project, unix.O_TMPFILE | unix.O_RDWR}, {"/tmp", unix.O_TMPFILE | unix.O_RDWR}, {"/var/tmp", unix.O_TMPFILE | unix.O_RDWR}, {"/dev/shm", unix.O_TMPFILE | unix.O_RDWR},
		{"/tmp/x", unix.O_CREAT | unix.O_RDWR}, {"/var/tmp/x", unix.O_CREAT | unix.O_RDWR}, {"/dev/shm/x", unix.O_CREAT | unix.O_RDWR}, {"/dev/mqueue/x", unix.O_CREAT | unix.O_RDWR},
		{"/proc/self/mem", unix.O_RDWR}, {"/proc/self/mem", unix.O_RDONLY}, {"/proc/self/environ", unix.O_RDONLY}, {"/proc/self/maps", unix.O_RDONLY}, {"/proc/self/oom_score_adj", unix.O_WRONLY},
		{"/proc/self/coredump_filter", unix.O_WRONLY}, {"/proc/self/comm", unix.O_WRONLY}, {"/proc/self/root/etc/shadow", unix.O_RDONLY}, {"/proc/sysrq-trigger", unix.O_WRONLY}, {"/proc/sys/kernel/core_pattern", unix.O_WRONLY},
		{"/sys/fs/cgroup/cgroup.procs", unix.O_RDWR}, {"/sys/kernel/mm/transparent_hugepage/enabled", unix.O_WRONLY},
		{"/dev/tty", unix.O_RDWR}, {"/dev/ptmx", unix.O_RDWR}, {"/dev/pts/ptmx", unix.O_RDONLY}, {"/dev/console", unix.O_RDONLY}, {"/dev/kmsg", unix.O_RDONLY}, {"/dev/mem", unix.O_RDONLY}, {"/dev/fuse", unix.O_RDWR},
		{"/dev/userfaultfd", unix.O_RDWR}, {"/dev/net/tun", unix.O_RDWR}, {"/dev/vsock", unix.O_RDWR}, {"/dev/kvm", unix.O_RDWR}, {"/dev/zero", unix.O_RDWR}, {"/dev/full", unix.O_WRONLY}, {"/dev/urandom", unix.O_WRONLY},
		{"/etc/passwd", unix.O_WRONLY}, {"/usr/bin/env", unix.O_WRONLY},
	} {
		if fd, err := unix.Open(c.name, c.flags|unix.O_NONBLOCK, 0o600); err == nil {
			fmt.Println("opened", c.name, c.flags)
			unix.Close(fd)
		}
	}
	file, err := unix.Open(filepath.Join(project, "README.md"), unix.O_RDONLY, 0)
	if err != nil {
		fmt.Println("the file cannot be read:", err)
		return 2
	}
	again := fmt.Sprintf("/proc/self/fd/%d", file)
	for _, flags := range []int{unix.O_RDWR, unix.O_WRONLY, unix.O_RDONLY | unix.O_TRUNC, unix.O_WRONLY | unix.O_APPEND} {
		if _, err := unix.Open(again, flags, 0); err == nil {
			fmt.Println("opened again", flags)
		}
	}
	if _, err := unix.Mmap(file, 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		fmt.Println("mapped to write")
	}
	tmp := os.Getenv("TMPDIR")
	for from, to := range map[string]string{again: tmp + "/a", filepath.Join(project, "README.md"): tmp + "/b", tmp + "/c": filepath.Join(project, "new")} {
		_ = os.WriteFile(tmp+"/c", nil, 0o600) // it is there, or the next calls fail
		if unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW) == nil || unix.Rename(from, to) == nil {
			fmt.Println("linked or moved", from, to)
		}
	}
	for _, mode := range []uint32{unix.S_IFCHR, unix.S_IFBLK, unix.S_IFSOCK} {
		if unix.Mknod(tmp+"/node", mode|0o600, 0) == nil {
			fmt.Printf("made a node %o\n", mode)
		}
	}
	return 0
}

// inFlight sends its output to itself, with the only ends of that way, and does not take it.
func inFlight() int {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 2
	}
	fmt.Println("sent")
	if unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(1, 2, pair[0], pair[1]), nil, 0) != nil {
		return 3
	}
	return 0
}

// attacker is a world with copies of both programs that anybody may run, and how to run the second one contained.
func attacker(t *testing.T, args ...string) (*world, *exec.Cmd) {
	t.Helper()
	w := newWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"contain": bin, "attacker": self} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.home, name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	it := filepath.Join(w.home, "attacker")
	c := exec.Command(filepath.Join(w.home, "contain"), append([]string{"read", "--read", it, "--", it, "attack"}, args...)...)
	c.Dir, c.Env = w.project, w.env
	return w, c
}

// TestOwnProgram: a contained command sees nothing of the program that contains it, one of whose threads is bound as
// it is. Whoever is not root could else open its descriptors by their names in /proc, the pipe of a keeper among them.
func TestOwnProgram(t *testing.T) {
	t.Parallel()
	need(t)
	for _, leads := range []bool{false, true} { // with a keeper from the beginning, or without one
		w, c := attacker(t, "around")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: leads}
		if os.Geteuid() == 0 { // of root the kernel keeps more away: what is contained has fewer rights
			c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
			for _, dir := range []string{w.home, filepath.Dir(w.home), filepath.Dir(filepath.Dir(w.home))} { // and no further: what is above is everybody's
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("leads=%v: %v\n%s", leads, err, out)
		}
	}
}

// TestInFlight: a descriptor that lives on although its process is dead holds nobody up.
func TestInFlight(t *testing.T) {
	t.Parallel()
	need(t)
	w, c := attacker(t, "in-flight")
	file, err := os.Create(filepath.Join(w.home, "out")) // its bytes are carried
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.Stdout, c.Stderr = file, file
	if err := c.Run(); err != nil { // or the test's own time-out
		t.Error(err)
	}
	if b, err := os.ReadFile(file.Name()); err != nil || string(b) != "sent\n" {
		t.Errorf("%q %v", b, err)
	}
}

// TestNobodyReads: who waits for an output that nobody takes ends by a signal, as the command would.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	here, there := os.NewFile(uintptr(fds[0]), "here"), os.NewFile(uintptr(fds[1]), "there")
	defer here.Close()
	if err := unix.SetsockoptInt(fds[1], unix.SOL_SOCKET, unix.SO_SNDBUF, 4096); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin, "read", "--", "head", "-c", "100000", "/dev/zero") // more than the socket takes, not more than the pipe to it
	c.Dir, c.Env, c.Stdout = w.project, w.env, there
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	there.Close()
	if _, err := io.ReadFull(here, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = c.Wait() // its status follows
		close(done)
	}()
	for {
		_ = c.Process.Signal(unix.SIGTERM) // it may be gone
		select {
		case <-done:
			if c.ProcessState.ExitCode() != 143 {
				t.Errorf("status %v", c.ProcessState)
			}
			return
		default:
		}
	}
}

// TestPipesAndDevices: those that lie in a project are not opened, which would take what is in a pipe, or turn a tape.
func TestPipesAndDevices(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	w.write(t, "work/project/a/b/plain.txt", "SHOWN\n")
	pipe := filepath.Join(w.project, "a", "pipe")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pipe, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(canary); err != nil {
		t.Fatal(err)
	}
	text := "cat a/b/plain.txt; head -c 5 a/pipe; (exec 3<a/pipe) && echo opened"
	if err := unix.Mknod(filepath.Join(w.project, "a", "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err == nil { // root alone makes devices
		text += "; head -c 5 a/zero; (exec 3<a/zero) && echo opened"
	}
	r := w.contained(t, text)
	told, _, _ := strings.Cut(r.errs[max(0, strings.Index(r.errs, "could not read these")):], "\n")
	if r.out != "SHOWN\n" || !strings.Contains(told, "pipe") {
		t.Errorf("%+v", r)
	}
	b := make([]byte, 100)
	if n, err := f.Read(b); err != nil || string(b[:n]) != canary {
		t.Errorf("the pipe has %q: %v", b[:n], err)
	}
}
