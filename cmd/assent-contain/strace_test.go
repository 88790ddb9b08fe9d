//go:build linux

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// traced is how many hostile commands there are for each that is traced: a trace takes a second.
var traced = flag.Int("traced", 29, "trace every n-th of the hostile commands; 1 is all of them")

// Lines of strace: a call that worked, on the outside of the temporary directory.
var (
	worked   = regexp.MustCompile(`^(\w+)\((.*)\) += (\d+|0x[0-9a-f]+)(?:<.*>)?$`)
	changing = regexp.MustCompile(`^(?:creat|unlink|unlinkat|rename|renameat|renameat2|mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat|mknod|mknodat|chmod|fchmod|fchmodat|fchmodat2|chown|fchown|lchown|fchownat|utime|utimes|utimensat|futimesat|truncate|setxattr|lsetxattr|fsetxattr|removexattr|mount|umount2|pivot_root|chroot|swapon|swapoff|reboot|sethostname|settimeofday|init_module|finit_module|bpf|keyctl|add_key|request_key|io_uring_setup|ptrace|process_vm_readv|process_vm_writev|unshare|setns|userfaultfd|perf_event_open|memfd_create|socket|connect|bind|listen|accept|accept4)$`)
	toWrite  = regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC`)
	harmless = regexp.MustCompile(`"/dev/null"|"/dev/stdout"|"/dev/stderr"|"/proc/self/fd/[012]"|"/dev/fd/[012]"`)
)

// TestHostileTraced looks at the calls of a sample of the hostile commands, in the words of the kernel:
// those that change, connect or trace fail, each of them, but in the temporary directory.
func TestHostileTraced(t *testing.T) {
	t.Parallel()
	need(t)
	if !has("strace") {
		t.Skip("no strace on this machine")
	}
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may trace nothing here: %v %s", err, out)
	}
	x := newTarget(t)
	tmp := t.TempDir()
	x.env = append(x.env, "TMPDIR="+tmp)
	commands, calls, refused := 0, 0, 0
	for i, text := range x.hostile() {
		if i%*traced != 0 && !strings.Contains(text, "/dev/tcp") {
			continue
		}
		if strings.HasPrefix(text, "strace") || strings.HasPrefix(text, "gdb") {
			continue
		}
		dir := t.TempDir() // a file for each thread, so that no line is broken
		c := exec.Command("strace", "-ff", "-qq", "-s", "4096", "-o", filepath.Join(dir, "t"), "-e", "signal=none", bin, "read", "--shell", "bash", "--", "timeout 20 bash -c "+quote(text))
		c.Dir, c.Env = x.project, x.env
		out, err := c.CombinedOutput()
		traces := map[string][]string{}
		files, _ := filepath.Glob(filepath.Join(dir, "t.*"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			traces[strings.TrimPrefix(filepath.Ext(f), ".")] = strings.Split(string(b), "\n")
		}
		own := threads(traces)
		if len(own) == 0 {
			t.Fatalf("%s\nthe program itself is not in the trace: %v %s", text, err, out)
		}
		commands++
		for pid, lines := range traces {
			if own[pid] {
				continue
			}
			for _, line := range lines {
				m := worked.FindStringSubmatch(line)
				if m == nil {
					if strings.Contains(line, "= -1 E") {
						refused++
					}
					continue
				}
				calls++
				open := strings.HasPrefix(m[1], "open") && toWrite.MatchString(m[2]) && !harmless.MatchString(m[2])
				if (changing.MatchString(m[1]) || open) && !strings.Contains(m[2], tmp) {
					t.Errorf("%s\nthis worked: %s", text, line)
				}
			}
		}
	}
	t.Logf("%d commands, %d calls that worked, %d that failed", commands, calls, refused)
	if calls < 1000 || refused < 100 {
		t.Errorf("only %d calls were seen, and %d that failed", calls, refused)
	}
	if n := x.reached.Load(); n != 0 {
		t.Errorf("%d connections or packets came", n)
	}
}

// threads are those of assent-contain itself and of its keeper, by their numbers: the first one, which starts
// it, and what has come from it by a clone that makes a thread.
func threads(traces map[string][]string) map[string]bool {
	own := map[string]bool{}
	var take func(pid string)
	take = func(pid string) {
		if own[pid] {
			return
		}
		own[pid] = true
		for _, line := range traces[pid] {
			if m := worked.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], "clone") && strings.Contains(m[2], "CLONE_THREAD") {
				take(m[3])
			}
		}
	}
	for pid, lines := range traces {
		for _, line := range lines {
			if strings.HasPrefix(line, "execve(") && (strings.Contains(line, `["`+bin+`", "read"`) || strings.Contains(line, `["assent-contain", "keep"`)) {
				take(pid)
			}
		}
	}
	return own
}
