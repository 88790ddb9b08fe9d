//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStatus: what a caller is told.
func TestStatus(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	w.write(t, "work/project/plain", "x")
	for _, c := range []struct {
		args   []string
		status int
		errs   string // begins so; one line
	}{
		{[]string{"read", "--", "true"}, 0, ""},
		{[]string{"read", "--", "/bin/sh", "-c", "exit 42"}, 42, ""},
		{[]string{"read", "--", "/bin/sh", "-c", "kill -9 $$"}, 137, ""},
		{[]string{"read", "--", "/bin/sh", "-c", "kill -15 $$"}, 143, ""},
		{[]string{"read", "--", "no-such-program"}, 127, "assent-contain: no-such-program: not found\n"},
		{[]string{"read", "--", "/no/such/program"}, 127, "assent-contain: /no/such/program: no such file"},
		{[]string{"read", "--", "./plain"}, 126, "assent-contain: ./plain: permission denied"},
		{[]string{"read", "--shell", "sh", "--", "exit 3"}, 3, ""},
		{[]string{"read"}, 125, "assent-contain: no command"},
		{[]string{"read", "--"}, 125, "assent-contain: no command"},
		{[]string{"read", "true"}, 125, "assent-contain: unknown word"},
		{[]string{"read", "--shell", "fish", "--", "true"}, 125, "assent-contain: --shell is"},
		{[]string{"read", "--shell", "sh", "--", "a", "b"}, 125, "assent-contain: --shell takes"},
		{[]string{"read", "--project", "x", "--", "true"}, 125, "assent-contain: --project is no absolute"},
		{[]string{"read", "--project", w.home, "--", "true"}, 125, "assent-contain: " + w.home + " is or holds a home"},
		{[]string{"read", "--project", "/", "--", "true"}, 125, "assent-contain: / is or holds"},
		{[]string{"read", "--project", filepath.Dir(w.home), "--", "true"}, 125, "assent-contain: " + filepath.Dir(w.home) + " is or holds"},
		{[]string{"read", "--project", w.home + "/none", "--", "true"}, 125, "assent-contain: " + w.home + "/none: "},
		{[]string{"read", "--read", "/etc", "--", "true"}, 125, "assent-contain: /etc is or holds"},
		{[]string{"read", "--read", "/proc/self/environ", "--", "true"}, 125, "assent-contain: /proc/self/environ is in /proc"},
		{[]string{"read", "--read", "/dev/tty", "--", "true"}, 125, "assent-contain: /dev/tty"},
		{[]string{"keep", "0"}, 125, ""},
		{[]string{}, 125, "assent-contain: nothing to do"},
		{[]string{"write", "--", "true"}, 125, "assent-contain: the first word has to be read"},
	} {
		r := w.run(t, bin, c.args...)
		if r.status != c.status || !strings.HasPrefix(r.errs, c.errs) || c.errs == "" && r.errs != "" || strings.Count(r.errs, "\n") > 1 || r.out != "" {
			t.Errorf("%q: %+v; want status %d and %q", c.args, r, c.status, c.errs)
		}
	}
	if r := w.run(t, bin, "--check"); r.status != 0 || !strings.HasPrefix(r.out, "ok abi ") {
		t.Errorf("--check: %+v", r)
	}
}

// TestSecretsOfAProject: fifty of them and the keys of the environment stay unseen.
func TestSecretsOfAProject(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	p := "work/project/"
	names := []string{".env", ".env.local", "prod.env", "a/.env", "a/b/c/.env.production", "id_rsa", "keys/id_ed25519", "server.key", "tls/site.pem", "cert.p12", "store.jks", ".npmrc", "sub/.npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials",
		".aws/credentials", ".ssh/config", ".ssh/anything", ".gnupg/x", ".kube/config", "kubeconfig", ".docker/config.json", "credentials.json", "client_secret.json", "service-account.json", "terraform.tfstate", "prod.tfvars", "secrets.yaml", "config/secrets.yml", "config/master.key",
		"password.txt", "passwords.csv", "api_token", "github_token.txt", "vault.kdbx", ".vault-token", ".htpasswd", "wp-config.php", ".pgpass", ".my.cnf", "auth.json", ".terraformrc", "secrets/x.json", "docker/secrets/db", ".config/gh/hosts.yml", ".git/credentials", "deep/1/2/3/4/5/.env", "x.ppk", "state/owner.token"}
	if len(names) < 50 {
		t.Fatal(len(names))
	}
	for _, n := range names {
		w.write(t, p+n, canary+"\n")
	}
	w.write(t, p+"state/history.txt", canary+"\n")
	w.write(t, p+"src/main.go", "package main // SHOWN\n")
	w.write(t, p+"a/b/c/plain.txt", "SHOWN too\n")
	w.write(t, p+"notes.md", canary+"\n")
	if err := os.Remove(filepath.Join(w.project, "notes.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(w.project, "a/.env"), filepath.Join(w.project, "notes.md")); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "ANTHROPIC_API_KEY="+canary, "OPENAI_API_KEY="+canary, "X="+canary, "BASH_ENV="+w.home+"/x", "LD_PRELOAD=/x", "BASH_FUNC_ls%%=() { echo "+canary+"; }", "LC_ALL=C.UTF-8")
	w.write(t, p+"config/dev.txt", canary+"\n")
	w.write(t, p+"values/one/two.txt", canary+"\n")
	for link, to := range map[string]string{"sub/.env": "../config/dev.txt", ".aws2/.aws": "../values"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(w.project, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(w.project, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"cat sub/.env config/dev.txt values/one/two.txt", "env; set; export -p; ls", "awk 'BEGIN{for(k in ENVIRON) print ENVIRON[k]}'", "cat /proc/self/environ; cat /proc/$$/environ; cat /proc/$PPID/environ", "grep -r . .", "grep -rL zzzz . | xargs cat", "find . -type f -exec cat {} +", "cat notes.md", "tar c ."} {
		if r := w.contained(t, text); strings.Contains(r.out+r.errs, canary) {
			t.Errorf("%s\nshows a secret: %+v", text, r)
		}
	}
	if r := w.contained(t, "cat src/main.go a/b/c/plain.txt; echo $LC_ALL"); strings.Count(r.out, "SHOWN") != 2 || !strings.Contains(r.out, "C.UTF-8") {
		t.Errorf("what holds no secret is not shown: %+v", r)
	}
	// What the rule names.
	if r := w.contained(t, "cat .env; echo $X", "--read", filepath.Join(w.project, ".env"), "--env", "X"); strings.Count(r.out, canary) != 2 {
		t.Errorf("what was asked for is not shown: %+v", r)
	}
	w.env = append(w.env, "Y=https://u:"+canary+"@example.com/")
	if r := w.contained(t, "echo $Y", "--env", "Y"); r.out != "\n" {
		t.Errorf("an address with a password is passed on: %+v", r)
	}
	w.write(t, "lib/code.go", "LIB\n")
	w.write(t, "lib/.env", canary)
	if r := w.contained(t, "cat ~/lib/*; cat ~/lib/.env", "--read", filepath.Join(w.home, "lib")); r.out != "LIB\n" {
		t.Errorf("another directory: %+v", r)
	}
	// So is what the command names and is none of its business, if it is there.
	w.write(t, "outside.txt", canary)
	if err := os.Symlink("../../outside.txt", filepath.Join(w.project, "lead.txt")); err != nil {
		t.Fatal(err)
	}
	for text, told := range map[string]string{
		"cat ~/outside.txt 2>/dev/null || echo none":                                               "~/outside.txt",
		"cat ../../outside.txt nothing 2>/dev/null; true":                                          "../../outside.txt",
		"cat \"lead.txt\" 2>/dev/null || echo none":                                                "lead.txt",
		"ls ~ 2>/dev/null || true":                                                                 "~",
		"cat /etc/shadow /etc/hosts 2>/dev/null; ls /usr/bin /dev ~/nothing >/dev/null 2>&1; true": "/etc/shadow",
	} {
		r := w.contained(t, text)
		if want := "assent: it ran contained, and could not read these, which are neither the project's nor the system's: " + told + "\n"; !strings.HasSuffix(r.errs, want) || strings.Contains(r.out, canary) || r.status != 0 {
			t.Errorf("%s\n%+v", text, r)
		}
	}
	if r := w.contained(t, "cat src/main.go /etc/hosts ~/nothing ../nothing 2>/dev/null; tr / _ </dev/null"); strings.Contains(r.errs, "neither") {
		t.Errorf("%+v", r)
	}
	// What is kept to itself is told all the same, once, behind all other output.
	const told = "assent: it ran contained, and could not read these, which may hold secrets: "
	if r := w.contained(t, "cat .env 2>/dev/null || echo none; echo last >&2"); r.out != "none\n" || !strings.HasPrefix(r.errs, "last\n"+told) || strings.Count(r.errs, "\n") != 2 || strings.Contains(r.errs, canary) || !strings.Contains(r.errs, "more\n") {
		t.Errorf("what was refused and swallowed is not told: %+v", r)
	}
}

// TestSecretsOfGit: what git has to do with secrets in a project that are not committed, and those in its
// own configuration, also that of a work tree, whose repository lies elsewhere.
func TestSecretsOfGit(t *testing.T) {
	t.Parallel()
	need(t)
	for _, bare := range []bool{false, true} {
		w := newWorld(t)
		p := "work/project/"
		w.write(t, p+"a.txt", "SHOWN\n")
		w.git(t, "init", "-q")
		w.git(t, "add", ".")
		w.git(t, "commit", "-qm", "one")
		if bare {
			w.git(t, "clone", "-q", "--bare", ".", filepath.Join(w.home, "repo.git"))
			if err := os.RemoveAll(w.project); err != nil {
				t.Fatal(err)
			}
			c := exec.Command("git", "-C", filepath.Join(w.home, "repo.git"), "worktree", "add", "-q", w.project)
			c.Env = w.env
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if r := w.contained(t, "git log -p"); !strings.Contains(r.out, "SHOWN") || r.errs != "" {
			t.Errorf("bare=%v: %+v", bare, r)
		}
		w.write(t, p+".env", canary+"\n")
		w.write(t, p+"deploy.pem", canary+"\n")
		w.git(t, "config", "remote.origin.url", "git@example.com:a/b.git")
		for _, text := range []string{"git grep --no-index --no-exclude-standard .", "git grep --untracked --no-exclude-standard .", "git show HEAD; git log -p --all", "git diff --no-index /dev/null .env", "git hash-object .env; git cat-file --batch-all-objects --batch",
			"git stash show -p; git diff; git status -v", "git ls-files -o | xargs cat", "git archive HEAD | tar xO", "git check-attr -a .env; git blame --contents .env a.txt"} {
			if r := w.contained(t, text); strings.Contains(r.out+r.errs, canary) {
				t.Errorf("bare=%v: %s\nshows a secret: %+v", bare, text, r)
			}
		}
		if r := w.contained(t, "git config remote.origin.url; git log --format=%s"); r.out != "git@example.com:a/b.git\none\n" {
			t.Errorf("bare=%v: %+v", bare, r)
		}
		// What a pull leaves behind, and what people write beside it. Git goes on without them.
		w.git(t, "checkout", "-q", "-b", "more")
		w.git(t, "commit", "-q", "--allow-empty", "-m", "two")
		w.git(t, "checkout", "-q", "-b", "less", "HEAD~1")
		w.git(t, "pull", "-q", "--ff-only", "file://u:"+canary+"@localhost"+w.project, "more")
		w.write(t, p+".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = https://"+canary+"@example.com/a\n")
		w.write(t, p+"work.gitconfig", "[x]\n\ty = "+canary+"\n")
		for _, text := range []string{"git reflog", "git log -g --all", "cat .gitmodules work.gitconfig", "git config -f .gitmodules -l", "git -c include.path=../work.gitconfig config -l", "cat .git/logs/* .git/logs/*/*/* ../../repo.git/logs/*/*/* ../../repo.git/worktrees/*/logs/*"} {
			if r := w.contained(t, text); strings.Contains(r.out+r.errs, canary) || !strings.Contains(r.errs, "could not read") {
				t.Errorf("bare=%v: %s\nshows a secret: %+v", bare, text, r)
			}
		}
		if r := w.contained(t, "git log --format=%s; git branch"); r.out != "two\none\n* less\n  main\n  more\n" && r.out != "two\none\n* less\n+ main\n  more\n  project\n" {
			t.Errorf("bare=%v: %+v", bare, r)
		}
		w.git(t, "config", "remote.origin.url", "https://x:"+canary+"@example.com/a")
		for _, text := range []string{"cat .git/config ../../repo.git/config", "git remote -v", "git config --list --show-origin", "git ls-remote --get-url", "git var -l", "cp -r .git $TMPDIR/g; cat $TMPDIR/g/config", "git -c include.path=$PWD/../../repo.git/config config -l"} {
			r := w.contained(t, text)
			if strings.Contains(r.out+r.errs, canary) {
				t.Errorf("bare=%v: %s\nshows a secret: %+v", bare, text, r)
			}
			if !strings.Contains(r.errs, "config") {
				t.Errorf("bare=%v: %s\nnobody is told: %+v", bare, text, r)
			}
		}
	}
}

// TestNamed: what --read names is what it was when it was named, and holds no secret but one that it names.
func TestNamed(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	key := w.write(t, ".ssh/id_ed25519", canary)
	w.write(t, "lib/sub/.env", canary)
	w.write(t, "lib/code.go", "LIB\n")
	for link, to := range map[string]string{"notes": key, "dir": filepath.Dir(key), "lib2": "lib", "lib/out": "../.ssh", "lib/key.txt": key} {
		if err := os.Symlink(to, filepath.Join(w.home, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, status := range map[string]int{"notes": 125, "dir": 125, "dir/id_ed25519": 125, "lib2": 0, "lib/key.txt": 125, "lib/out": 125, "lib/out/..": 125, "lib/code.go": 0, "none": 125} {
		r := w.contained(t, "cd ~/lib; cat code.go sub/.env key.txt out/* ../notes ../dir/*", "--read", w.home+"/"+name)
		if r.status == 125 != (status == 125) || strings.Contains(r.out+r.errs, canary) || status == 0 && !strings.Contains(r.out, "LIB") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestStreams: whatever 0, 1 and 2 are, the bytes and their order are the same, and the command never
// has a socket, a terminal or a file that it could use for more.
func TestStreams(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	text := `cat; for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done; stat -L -c %F /dev/fd/0 /dev/fd/1 /dev/fd/2 2>&1; ls /dev/fd 2>&1 | head -1; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] && echo terminal; true`
	pair := func() (*os.File, *os.File) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	}
	start := func(in, out *os.File) {
		c := exec.Command(bin, "read", "--shell", "bash", "--", text)
		c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = w.project, w.env, in, out, out
		c.ExtraFiles = []*os.File{out}
		if err := c.Run(); err != nil {
			t.Error(err)
		}
		out.Close()
	}
	want := "hello\n"
	for i := 1; i <= 5; i++ {
		want += fmt.Sprintf("out%d\nerr%d\n", i, i)
	}
	kinds := "fifo\nfifo\nfifo\nls: cannot open directory '/dev/fd': Permission denied\n"
	a, b := pair()
	go func() {
		_, _ = io.WriteString(a, "hello\n") // what comes out is looked at
		_ = unix.Shutdown(int(a.Fd()), unix.SHUT_WR)
	}()
	in, out := b, b
	go start(in, out)
	got, err := io.ReadAll(a)
	if err != nil || string(got) != want+kinds {
		t.Errorf("sockets: %q (%v)", got, err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	input := w.write(t, "work/input", "hello\n")
	f, err := os.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	start(f, file)
	if got, err := os.ReadFile(file.Name()); err != nil || string(got) != want+strings.Replace(kinds, "fifo", "regular file", 1) {
		t.Errorf("files: %q (%v)", got, err)
	}
	// A terminal: nothing is read from it, and none of the descriptors is one.
	if has("script") {
		typed := filepath.Join(t.TempDir(), "typed")
		c := exec.Command("script", "-qec", fmt.Sprintf("%s read --shell bash -- %s", bin, quote("cat; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none; echo x >/dev/tty || echo closed")), typed)
		c.Dir, c.Env = w.project, w.env
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "none") || !strings.Contains(string(out), "closed") {
			t.Errorf("terminal: %q (%v)", out, err)
		}
	}
	// Much at once, and a reader that goes away.
	if r := w.contained(t, "head -c 3000000 /dev/zero"); len(r.out) != 3000000 || r.status != 0 {
		t.Errorf("%d bytes came", len(r.out))
	}
}

// TestTreeDies: nothing that a command started goes on after it, however it ends.
func TestTreeDies(t *testing.T) {
	t.Parallel()
	need(t)
	for name, end := range map[string]func(shell, program *os.Process){
		"terminated":    func(_, p *os.Process) { _ = p.Signal(unix.SIGTERM) },
		"killed":        func(_, p *os.Process) { _ = p.Kill() },
		"parent killed": func(s, _ *os.Process) { _ = s.Kill() },
		"group killed":  func(s, _ *os.Process) { _ = syscall.Kill(-s.Pid, unix.SIGKILL) },
		"group ended":   func(s, _ *os.Process) { _ = syscall.Kill(-s.Pid, unix.SIGTERM) },
	} {
		for _, leads := range []bool{false, true} { // the program leads its group, or a shell above it
			if leads && strings.HasPrefix(name, "parent") {
				continue // this test is the parent
			}
			t.Run(fmt.Sprintf("%s, leads=%v", name, leads), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				// Everybody who lives holds the pipe's end.
				r, hold, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				text := `trap '' TERM HUP INT; (trap '' TERM; (sleep 1000; :) & (exec sleep 1000) & sleep 1000; :) & timeout 1000 sleep 1000 & sleep 1000 & sleep 0.3; echo ready; sleep 1000; :`
				run := quote(bin) + " read --shell bash -- " + quote(text)
				c := exec.Command("/bin/sh", "-c", run+"; true")
				if leads {
					c = exec.Command(bin, "read", "--shell", "bash", "--", text)
				}
				c.Dir, c.Env, c.Stdout = w.project, w.env, hold
				c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				hold.Close()
				line := make([]byte, 6)
				if _, err := io.ReadFull(r, line); err != nil || string(line) != "ready\n" {
					t.Fatalf("%q %v", line, err)
				}
				program := c.Process
				if !leads {
					out, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.Process.Pid, c.Process.Pid))
					if err != nil {
						t.Skipf("this kernel does not list the children of a process (CONFIG_PROC_CHILDREN): %v", err)
					}
					if program, err = os.FindProcess(number(strings.Fields(string(out))[0])); err != nil {
						t.Fatal(err)
					}
				}
				end(c.Process, program)
				if name == "terminated" || name == "group ended" && leads { // the trap ignores it: a second one, then
					_ = program.Kill()
				}
				if _, err := io.Copy(io.Discard, r); err != nil { // ends when the last of them is gone
					t.Error(err)
				}
				_ = c.Wait() // however it ended
			})
		}
	}
}

// TestSignals: they are passed on, and what CMD leaves behind is gone when its status is there.
func TestSignals(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	c := exec.Command(bin, "read", "--shell", "bash", "--", `trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.05; done`)
	c.Dir, c.Env = w.project, w.env
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	if _, err := io.ReadFull(out, line); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil || string(rest) != "got\n" {
		t.Errorf("%q %v", rest, err)
	}
	_ = c.Wait() // its status follows
	if c.ProcessState.ExitCode() != 9 {
		t.Errorf("status %v", c.ProcessState)
	}
	if r := w.contained(t, `sleep 1000 & setsid sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & echo done`); r.out != "done\n" || r.status != 0 {
		t.Errorf("%+v", r)
	}
}

// TestInherited: descriptors above 2 stay outside.
func TestInherited(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	secret, err := os.OpenFile(w.write(t, "secret", canary), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(w.home)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin, "read", "--shell", "bash", "--", `for i in 3 4 5 6 7 8 9 10; do cat <&$i; cat /dev/fd/$i; cat /proc/self/fd/$i/secret; echo x >&$i; done`)
	c.Dir, c.Env, c.ExtraFiles = w.project, w.env, []*os.File{secret, socket, dir, secret, secret, secret, secret}
	out, err := c.CombinedOutput()
	if err == nil || bytes.Contains(out, []byte(canary)) {
		t.Errorf("%s", out)
	}
	if b, err := os.ReadFile(secret.Name()); err != nil || string(b) != canary {
		t.Errorf("the file is %q", b)
	}
}

// TestTemporary: its own directory is private, bounded, and gone afterwards.
func TestTemporary(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	w.env = append(w.env, "TMPDIR="+t.TempDir())
	r := w.contained(t, `stat -c %a $TMPDIR; mktemp >/dev/null && mkdir -m 0 $TMPDIR/shut && mkdir -p $TMPDIR/a/b && ln -s / $TMPDIR/root; head -c 100000000 /dev/zero > $TMPDIR/big; echo $?; stat -c %s $TMPDIR/big; ulimit -f 999999999; ulimit -c unlimited; echo $TMPDIR`)
	lines := strings.Split(r.out, "\n")
	if len(lines) < 4 || lines[0] != "700" || lines[1] != "153" || lines[2] != "67108864" {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Lstat(lines[3]); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", lines[3], err)
	}
}

// TestRaces: a directory that becomes a link while it is looked through opens nothing.
func TestRaces(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	w.write(t, "hidden/file", canary)
	w.write(t, "work/project/.env", "x")
	w.write(t, "work/project/d/file", "shown")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		d, moved := filepath.Join(w.project, "d"), filepath.Join(w.project, "moved")
		for {
			select {
			case <-stop:
				return
			default:
			}
			if os.Rename(d, moved) == nil && os.Symlink(filepath.Join(w.home, "hidden"), d) == nil {
				_ = os.Remove(d) // it is the link
			}
			_ = os.Rename(moved, d) // and it goes on
		}
	}()
	for range 30 {
		if r := w.contained(t, `for i in 1 2 3 4 5 6 7 8 9 10; do cat d/file; done`); strings.Contains(r.out, canary) {
			t.Errorf("%+v", r)
		}
	}
	close(stop)
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the other one does not stop")
	}
}
