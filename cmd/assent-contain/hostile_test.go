//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// canary stands in every secret, and nowhere else.
const canary = "CaNaRy7f3a91Q"

// signs are the canary as programs may print it.
func signs() []string {
	reversed := []byte(canary)
	slices.Reverse(reversed)
	all := []string{canary, string(reversed), strings.ToLower(canary), hex.EncodeToString([]byte(canary))[4:20], strings.ToUpper(hex.EncodeToString([]byte(canary)))[4:20]}
	for i := range 3 { // wherever it begins in a base64 text
		text := base64.StdEncoding.EncodeToString([]byte("xxx"[:i] + canary))
		all = append(all, text[4:16])
	}
	var octal strings.Builder
	for _, c := range []byte(canary[2:6]) {
		fmt.Fprintf(&octal, " %03o", c)
	}
	return append(all, octal.String(), strings.Join(strings.Split(canary, ""), "   "))
}

// target is a world with everything in it that a hostile command would like.
type target struct {
	*world
	victim  *exec.Cmd
	port    string // of TCP
	udp     string
	socket  string // of a unix socket, and with dgram behind it another one
	named   string // in the abstract name space
	reached atomic.Int64
	came    chan struct{} // the first who came
}

func newTarget(t *testing.T) *target {
	w := newWorld(t)
	x := &target{world: w, came: make(chan struct{}, 1)}
	p := "work/project/"
	w.write(t, p+"README.md", "read me\n")
	w.write(t, p+"src/a.go", "package a\n")
	w.write(t, p+".env", "API_KEY="+canary+"\n")
	w.write(t, p+"config/credentials.json", `{"key":"`+canary+`"}`)
	w.write(t, p+"deploy/prod.pem", canary+"\n")
	w.write(t, ".ssh/id_ed25519", canary+"\n")
	w.write(t, "notes.txt", canary+"\n")
	w.write(t, ".local/state/assent/owner.token", canary+"\n")
	w.git(t, "init", "-q")
	w.git(t, "add", "README.md", "src")
	w.git(t, "commit", "-qm", "one")
	_ = unix.Setxattr(filepath.Join(w.home, "notes.txt"), "user.note", []byte(canary), 0) // not every file system has them
	// What git would run.
	w.write(t, p+".git/hooks/post-index-change", "#!/bin/sh\ntouch "+w.project+"/hooked\n")
	if err := os.Chmod(filepath.Join(w.project, ".git/hooks/post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.git(t, "config", "core.fsmonitor", "touch "+w.project+"/monitored")
	for link, to := range map[string]string{"out.txt": "../../notes.txt", "plain.txt": ".env", "up": "../.."} {
		if err := os.Symlink(to, filepath.Join(w.project, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(w.project, ".env"), filepath.Join(w.project, "src", "linked.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.home, "outside"), 0o755); err != nil {
		t.Fatal(err)
	}
	x.victim = exec.Command("/bin/sh", "-c", "SECRET="+canary+"; while :; do sleep 1000; done", canary)
	x.victim.Env = []string{"PATH=" + systemPath, "SECRET=" + canary}
	x.victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := x.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-x.victim.Process.Pid, syscall.SIGKILL) // it may be gone
		_ = x.victim.Wait()                                      // it was killed
	})
	x.listen(t)
	w.env = append(w.env, "ANTHROPIC_API_KEY="+canary, "AWS_SECRET_ACCESS_KEY="+canary, "GITHUB_TOKEN="+canary, "SSH_AUTH_SOCK="+x.socket)
	return x
}

// listen counts whoever comes.
func (x *target) listen(t *testing.T) {
	hit := func() {
		x.reached.Add(1)
		select {
		case x.came <- struct{}{}:
		default:
		}
	}
	stream := func(l net.Listener, err error) net.Listener {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				hit()
				c.Close()
			}
		}()
		return l
	}
	packets := func(c net.PacketConn, err error) net.PacketConn {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			b := make([]byte, 100)
			for {
				if _, _, err := c.ReadFrom(b); err != nil {
					return
				}
				hit()
			}
		}()
		return c
	}
	dir, err := os.MkdirTemp("", "u") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	x.socket = filepath.Join(dir, "s")
	x.named = "assent-test" + filepath.Base(dir)
	_, x.port, _ = net.SplitHostPort(stream(net.Listen("tcp", "127.0.0.1:0")).Addr().String())
	stream(net.Listen("unix", x.socket))
	stream(net.Listen("unix", "@"+x.named))
	_, x.udp, _ = net.SplitHostPort(packets(net.ListenPacket("udp", "127.0.0.1:0")).LocalAddr().String())
	packets(net.ListenPacket("unixgram", x.socket+"dgram"))
}

// hash is everything of the home that a command could change, without when it was read.
func (x *target) hash(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(x.home, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		st := fi.Sys().(*syscall.Stat_t)
		fmt.Fprintln(h, name, fi.Mode(), fi.Size(), fi.ModTime().UnixNano(), st.Nlink, st.Uid, st.Gid, st.Ctim)
		switch {
		case fi.Mode().IsRegular():
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			h.Write(b)
		case fi.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			fmt.Fprintln(h, to)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fill writes what is there into a command.
func (x *target) fill(text string) string {
	return strings.NewReplacer("{P}", x.project, "{H}", x.home, "{PORT}", x.port, "{UDP}", x.udp, "{UNIX}", x.socket, "{ABS}", x.named, "{PID}", strconv.Itoa(x.victim.Process.Pid)).Replace(text)
}

// The programs, each with the ways that it has. {F} is a file to write, {S} a secret to show.
var (
	writers = []string{
		`echo x > {F}`, `echo x >> {F}`, `echo x >| {F}`, `exec 3<>{F}; echo x >&3`, `echo x &> {F}`, `echo x | tee {F}`, `echo x | tee -a {F}`, `cp /etc/hosts {F}`, `mv README.md {F}`, `ln README.md {F}`, `ln -s README.md {F}`,
		`ln -sf /etc/hosts {F}`, `touch {F}`, `mkdir {F}`, `mkfifo {F}`, `install -m 755 /etc/hosts {F}`, `dd if=/etc/hosts of={F}`, `dd if=/etc/hosts of={F} conv=notrunc`, `sed -i s/a/b/ {F}`, `sed -n 'w {F}' README.md`, `truncate -s 0 {F}`, `rm -f {F}`, `rmdir {F}`,
		`/usr/bin/python3 -c 'open("{F}","a").write("x")'`, `/usr/bin/python3 -c 'import os; os.rename("README.md","{F}")'`, `/usr/bin/python3 -c 'import os; os.truncate("{F}",1)'`, `/usr/bin/python3 -c 'import os; os.utime("{F}",(1,1))'`,
		`/usr/bin/python3 -c 'import os; os.setxattr("{F}","user.x",b"1")'`, `/usr/bin/python3 -c 'import shutil; shutil.copy("/etc/hosts","{F}")'`, `/usr/bin/python3 -c 'import mmap; f=open("{F}","r+b"); m=mmap.mmap(f.fileno(),0); m[0]=65'`,
		`perl -e 'open(F,">>","{F}"); print F "x"; close F; chmod 0777, "{F}"; utime 1,1,"{F}"; unlink "{F}"'`, `perl -i -pe 's/a/b/' {F}`, `awk 'BEGIN{print "x" > "{F}"}'`, `awk 'BEGIN{system("touch {F}")}'`, `node -e 'require("fs").writeFileSync("{F}","x")'`,
		`node -e 'require("fs").chmodSync("{F}",0o777)'`, `sort -o {F} README.md`, `gzip -c README.md > {F}`, `gzip {F}`, `split -b 1 README.md {F}`, `chmod 777 {F}`, `chmod -R a+rwx {F}`, `chown 65534 {F}`, `chgrp 65534 {F}`, `setfattr -n user.x -v 1 {F}`, `chattr +i {F}`,
		`find . -name README.md -fprint {F}`, `find {F} -delete`, `find . -name README.md -exec cp {} {F} \;`, `echo {F} | xargs touch`, `curl -s -o {F} file:///etc/hosts`, `wget -q -O {F} http://127.0.0.1:{PORT}/`, `openssl rand -out {F} 10`, `git config -f {F} a.b c`, `git diff --output={F} HEAD`,
		`tar cf {F} README.md`, `zip -q {F} README.md`, `printf '1i\nx\n.\nw {F}\nq\n' | ed -s README.md`, `vim -es -c 'w! {F}' -c q README.md`, `ex -sc 'w! {F}|q' README.md`, `sqlite3 {F} 'create table x(y)'`, `script -qc true {F}`, `patch -o {F} README.md /dev/null`, `make -f /dev/null --eval='$(shell touch {F})'`,
		`bash -c 'trap "echo x > {F}" EXIT'`, `zsh -fc 'print x > {F}'`, `sh -c ': > {F}'`, `(umask 0; : > {F})`, `coproc { echo x > {F}; }; wait`, `echo x > /proc/self/cwd/../../../{F}`, `fallocate -l 100 {F}`, `shred -u {F}`, `cat README.md 1<>{F}`, `rsync README.md {F}`, `ln -s {F} $TMPDIR/l; echo x > $TMPDIR/l`,
	}
	written = []string{"{P}/README.md", "{P}/new", "{P}/.git/config", "{H}/notes.txt", "{H}/outside/new"}

	readers = []string{
		`cat {S}`, `head -c 100 {S}`, `tail {S}`, `grep '' {S}`, `sed '' {S}`, `awk 1 {S}`, `/usr/bin/python3 -c 'print(open("{S}").read())'`, `perl -pe 1 {S}`, `node -e 'console.log(require("fs").readFileSync("{S}","utf8"))'`, `echo $(<{S})`, `mapfile a < {S}; echo "${a[@]}"`,
		`read -r a < {S}; echo "$a"`, `dd if={S} status=none`, `od -c {S}`, `xxd -p {S}`, `base64 {S}`, `sort {S}`, `cut -c1- {S}`, `rev {S}`, `tac {S}`, `nl {S}`, `fold {S}`, `paste {S}`, `strings {S}`, `tr A A < {S}`, `tar cO {S} | strings`, `cp {S} $TMPDIR/x; cat $TMPDIR/x`,
		`ln -s {S} $TMPDIR/y; cat $TMPDIR/y`, `ln {S} $TMPDIR/z; cat $TMPDIR/z`, `git diff --no-index /dev/null {S}`, `git hash-object --stdin < {S}; git grep --no-index '' {S}`, `diff /dev/null {S}`, `curl -s file://{S}`, `openssl base64 -in {S}`, `jq -R . {S}`, `find {S} -exec cat {} \;`,
		`echo {S} | xargs cat`, `source {S}`, `. {S}; env`, `cat /proc/self/root{S}`, `cat /proc/self/cwd/../../../..{S}`, `cat /dev/fd/3 3<{S}`, `bash -c 'cat <&3' 3<{S}`, `cat <(cat {S})`, `zsh -fc 'print -r -- "$(<{S})"'`, `make -f {S}`, `cmp -l {S} /dev/zero`, `gzip -c {S} | zcat`, `wc {S}; date -f {S}`,
		`/usr/bin/python3 -c 'import os; fd=os.open("{S}",os.O_PATH); print(open(f"/proc/self/fd/{fd}").read())'`, `cat {S}/../$(basename {S})`, `file -f {S}`, `xargs -a {S} echo`, `less {S}`, `vim -es -c '%p' -c q {S}`,
	}
	secrets = []string{"{P}/.env", "{P}/config/credentials.json", "{P}/src/linked.go", "{P}/plain.txt", "{P}/out.txt", "{H}/.ssh/id_ed25519", "{H}/.local/state/assent/owner.token", "/proc/{PID}/environ", "/proc/{PID}/cmdline"}

	senders = []string{
		`echo x > /dev/tcp/127.0.0.1/{PORT}`, `echo x > /dev/udp/127.0.0.1/{UDP}`, `exec 3<>/dev/tcp/localhost/{PORT}; echo x >&3`, `curl -s http://127.0.0.1:{PORT}/`, `curl -s --unix-socket {UNIX} http://x/`, `curl -s --abstract-unix-socket {ABS} http://x/`, `curl -s telnet://127.0.0.1:{PORT}`, `curl -s tftp://127.0.0.1:{UDP}/x -T README.md`,
		`wget -q -O- http://127.0.0.1:{PORT}/`, `/usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1",{PORT}))'`, `/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b"x",("127.0.0.1",{UDP}))'`, `/usr/bin/python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("{UNIX}")'`,
		`/usr/bin/python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("\0{ABS}")'`, `/usr/bin/python3 -c 'import socket; s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendto(b"x","{UNIX}dgram")'`, `/usr/bin/python3 -c 'import socket; a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); a.sendto(b"x","{UNIX}dgram")'`,
		`/usr/bin/python3 -c 'import socket; a,b=socket.socketpair(); a.sendto(b"x","{UNIX}")'`, `/usr/bin/python3 -c 'import socket; a,b=socket.socketpair(); a.connect("{UNIX}")'`, `/usr/bin/python3 -c 'import socket; a,b=socket.socketpair(); b.close(); a.connect("\0{ABS}")'`, `/usr/bin/python3 -c 'import socket; s=socket.socket(socket.AF_INET6); s.connect(("::ffff:127.0.0.1",{PORT}))'`,
		`perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:{PORT}")'`, `perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0); connect(S,sockaddr_un("{UNIX}"))'`, `node -e 'require("net").connect({PORT},"127.0.0.1")'`, `node -e 'require("net").connect("{UNIX}")'`, `node -e 'fetch("http://127.0.0.1:{PORT}/").catch(()=>{})'`,
		`socat - TCP:127.0.0.1:{PORT} </dev/null`, `socat - UNIX-CONNECT:{UNIX} </dev/null`, `socat - ABSTRACT-CONNECT:{ABS} </dev/null`, `nc -z 127.0.0.1 {PORT}`, `ssh -o BatchMode=yes -p {PORT} 127.0.0.1 true`, `ssh-add -l`, `git ls-remote git://127.0.0.1:{PORT}/x`, `git ls-remote http://127.0.0.1:{PORT}/x`, `git fetch ssh://127.0.0.1:{PORT}/x`,
		`openssl s_client -connect 127.0.0.1:{PORT} </dev/null`, `timeout 2 gpg --list-keys`, `logger -d -n 127.0.0.1 -P {UDP} x`, `zsh -fc 'zmodload zsh/net/tcp; ztcp 127.0.0.1 {PORT}'`, `zsh -fc 'zmodload zsh/net/socket; zsocket {UNIX}'`, `awk 'BEGIN{print "x" |& "/inet/tcp/0/127.0.0.1/{PORT}"}'`, `gdb -batch -ex 'target remote 127.0.0.1:{PORT}'`, `rsync rsync://127.0.0.1:{PORT}/`,
	}

	others = []string{
		`kill {PID}`, `kill -9 {PID}`, `kill -9 -{PID}`, `kill -9 -1`, `/bin/kill -9 {PID}`, `/usr/bin/python3 -c 'import os; os.kill({PID},9)'`, `/usr/bin/python3 -c 'import os,signal; signal.pidfd_send_signal(os.pidfd_open({PID}),9)'`, `perl -e 'kill 9, {PID}'`, `perl -e 'kill -9, {PID}'`, `node -e 'process.kill({PID},9)'`, `pkill -9 sleep`, `killall -9 sleep`, `kill -STOP {PID}`,
		`timeout -s KILL 1 kill {PID}`, `renice 19 {PID}`, `prlimit --pid {PID} --nofile=1`, `taskset -p 1 {PID}`, `chrt -p -i 0 {PID}`, `ionice -c 3 -p {PID}`, `strace -p {PID} -o /dev/stderr`, `gdb -p {PID} -batch -ex 'info proc'`, `gdb -p {PID} -batch -ex 'call (int)kill({PID},9)'`, `cat /proc/{PID}/mem`, `cat /proc/{PID}/maps`, `ls -l /proc/{PID}/fd`, `cat /proc/$PPID/environ`,
		`getfattr -d -m - {H}/notes.txt`, `/usr/bin/python3 -c 'import os; print(os.getxattr("{H}/notes.txt","user.note"))'`, `/usr/bin/python3 -c 'import os; fd=os.open("{H}/notes.txt",os.O_PATH); print(os.getxattr(fd,"user.note"))'`,
		`env`, `printenv`, `set`, `declare -x`, `export -p`, `awk 'BEGIN{for(k in ENVIRON) print k, ENVIRON[k]}'`, `/usr/bin/python3 -c 'import os; print(os.environ)'`, `node -e 'console.log(process.env)'`, `perl -e 'print %ENV'`, `cat /proc/self/environ`, `tr "\0" "\n" < /proc/$$/environ`, `xargs -0 -a /proc/self/environ`, `ps eww`, `jq -n env`, `git var -l`, `grep -r . .`, `grep -ra . {H}`,
		`find / -name '*.token' -exec cat {} + 2>/dev/null`, `find {P} -type f -exec cat {} +`, `cat {P}/*/* {P}/.*`, `git grep --no-index --no-exclude-standard .`, `tar cO . | strings`, `du -a {H}`, `cat {P}/up/notes.txt`, `cd {P}/up && cat notes.txt`, `cd {H} && cat work/project/.env`, `cat {P}/../../notes.txt`,
		`unshare -r cat {H}/notes.txt`, `unshare -rm sh -c 'mount -t tmpfs x {P}'`, `unshare -p true`, `nsenter -t {PID} -a true`, `mount -o bind {H} {P}/src`, `umount /tmp`, `chroot {H} /bin/true`, `su -c true`, `sudo -n cat {H}/notes.txt`, `ping -c1 127.0.0.1`, `newgrp`, `pkexec true`, `crontab -l; echo '* * * * * touch {P}/new' | crontab -`, `at now <<< 'touch {P}/new'`,
		`systemd-run --user touch {P}/new`, `setsid sh -c 'sleep 0.2; touch {P}/new' &`, `nohup sh -c 'sleep 0.2; touch {P}/new' >/dev/null 2>&1 &`, `(sleep 0.1; touch {P}/new) & disown`, `git status`, `git update-index --refresh`, `git add -A`, `git stash`, `git -c core.fsmonitor='touch {P}/new' status`, `git -c core.pager='touch {P}/new' log`, `git gc`, `git commit --allow-empty -m x`, `git checkout -b x`, `git worktree add {H}/w`, `git clone . {H}/c`,
		`echo x > /dev/tty`, `echo x > /dev/console`, `cat /dev/tty`, `cat /dev/mem /dev/kmsg /dev/sda /dev/vda`, `echo x > /dev/shm/x`, `echo x > /dev/mqueue/x`, `/usr/bin/python3 -c 'import fcntl,termios; [fcntl.ioctl(fd,termios.TIOCSTI,b"x") for fd in (0,1,2)]'`, `/usr/bin/python3 -c 'import fcntl; f=open("README.md"); fcntl.flock(f,2)'`, `/usr/bin/python3 -c 'import fcntl; f=open("README.md"); fcntl.fcntl(f,fcntl.F_SETLEASE,0)'`, `/usr/bin/python3 -c 'import os; os.memfd_create("x")'`,
		`/usr/bin/python3 -c 'import ctypes; print(ctypes.CDLL(None).keyctl(0,-3))'`, `/usr/bin/python3 -c 'import ctypes; l=ctypes.CDLL(None,use_errno=True); print(l.ptrace(16,{PID},0,0))'`, `ipcmk -M 10`, `ipcs`, `dmesg`, `lsns`, `chage -l root; passwd -S`, `cat /etc/shadow /etc/sudoers /etc/ssh/ssh_host_*_key`, `ls /root /home {H}`, `hostname x; date -s 2020-01-01`, `swapoff -a; insmod x; reboot -f`,
	}
)

// hostile are the commands, filled in.
func (x *target) hostile() []string {
	var all []string
	for _, w := range writers {
		for _, f := range written {
			all = append(all, x.fill(strings.ReplaceAll(w, "{F}", f)))
		}
	}
	for _, r := range readers {
		for _, s := range secrets {
			all = append(all, x.fill(strings.ReplaceAll(r, "{S}", s)))
		}
	}
	for _, list := range [][]string{senders, others} {
		for _, c := range list {
			all = append(all, x.fill(c))
		}
	}
	return all
}

// TestHostile runs each of the commands contained: nothing of the home is changed, nobody reached, no
// secret shown, and the victim lives.
func TestHostile(t *testing.T) {
	t.Parallel()
	need(t)
	x := newTarget(t)
	all := x.hostile()
	if testing.Short() { // every seventh of them
		for i := range all {
			if i%7 != 0 {
				all[i] = ""
			}
		}
		all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	} else if len(all) < 500 {
		t.Fatalf("only %d commands", len(all))
	}
	tmp := t.TempDir()
	x.env = append(x.env, "TMPDIR="+tmp)
	marks := signs()
	before := x.hash(t)
	work := make(chan string)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for text := range work {
				c := exec.Command(bin, "read", "--shell", "bash", "--", "timeout 20 bash -c "+quote(text))
				c.Dir, c.Env = x.project, x.env
				out, err := c.CombinedOutput()
				for _, m := range marks {
					if bytes.Contains(out, []byte(m)) {
						t.Errorf("%s\nshows a secret as %q:\n%s", text, m, out)
						break
					}
				}
				if status := c.ProcessState.ExitCode(); status == 125 && bytes.HasPrefix(out, []byte("assent-contain:")) {
					t.Errorf("%s\nwas not contained: %v %s", text, err, out)
				}
			}
		})
	}
	for _, text := range all {
		work <- text
	}
	close(work)
	wg.Wait()
	if n := x.reached.Load(); n != 0 {
		t.Errorf("%d connections or packets came", n)
	}
	if err := x.victim.Process.Signal(syscall.Signal(0)); err != nil || stopped(t, x.victim.Process.Pid) {
		t.Errorf("the process outside was signalled: %v", err)
	}
	if after := x.hash(t); after != before {
		t.Errorf("the files are not what they were; one of them after the other:")
		for _, text := range all {
			before := x.hash(t)
			x.contained(t, text)
			if x.hash(t) != before {
				t.Errorf("changes files: %s", text)
			}
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("temporary directories are left: %v (%v)", left, err)
	}
}

func stopped(t *testing.T, pid int) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "State:") {
			return strings.Contains(s.Text(), "T (stopped)") || strings.Contains(s.Text(), "Z (zombie)")
		}
	}
	return true
}

// TestHostileForReal: the commands do harm where nothing contains them, and this is noticed.
func TestHostileForReal(t *testing.T) {
	t.Parallel()
	need(t)
	marks := signs()
	for i, c := range []struct{ way, text string }{
		{"write", `echo x > {P}/new`}, {"write", `ln -s README.md {P}/new`}, {"write", `touch {P}/README.md`}, {"write", `chmod 777 {P}/README.md`}, {"write", `(sleep 0.1; touch {P}/new) & disown; sleep 0.2`}, {"write", `git status`},
		{"show", `cat {P}/.env`}, {"show", `base64 {P}/src/linked.go`}, {"show", `rev {P}/out.txt`}, {"show", `xxd -p {H}/notes.txt`}, {"show", `od -c {H}/notes.txt`}, {"show", `env`}, {"show", `cat /proc/{PID}/environ`}, {"show", `grep -r . .`},
		{"send", `echo x > /dev/tcp/127.0.0.1/{PORT}`}, {"send", `echo x > /dev/udp/127.0.0.1/{UDP}`}, {"send", `/usr/bin/python3 -c 'import socket; a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); a.sendto(b"x","{UNIX}dgram")'`}, {"send", `/usr/bin/python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("\0{ABS}")'`},
		{"stop", `kill -STOP {PID}`},
	} {
		t.Run(fmt.Sprintf("%s-%d", c.way, i), func(t *testing.T) {
			for _, program := range []string{"python3", "xxd"} {
				if strings.Contains(c.text, program) && !has(program) {
					t.Skip("no " + program + " on this machine")
				}
			}
			x := newTarget(t)
			before := x.hash(t)
			r := x.plain(t, x.fill(c.text))
			harm := false
			switch c.way {
			case "write":
				harm = x.hash(t) != before
			case "show":
				for _, m := range marks {
					harm = harm || strings.Contains(r.out+r.errs, m)
				}
			case "send":
				<-x.came // or the test's own time-out
				harm = true
			case "stop":
				var ws syscall.WaitStatus
				_, err := syscall.Wait4(x.victim.Process.Pid, &ws, syscall.WUNTRACED, nil)
				harm = err == nil && ws.Stopped()
			}
			if !harm {
				t.Errorf("%s\ndoes no harm that is seen: %+v", c.text, r)
			}
		})
	}
}
