//go:build linux && (amd64 || arm64)

package contain

import (
	"errors"
	"maps"
	"os"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxFileSize bounds each file that a command writes into its temporary directory.
const maxFileSize = 64 << 20

// soon is when a command has run for so long that it gets a keeper, which takes some of that time, and that the
// processes above it are watched.
const soon = 5 * time.Millisecond

// A command that is about to be contained.
type command struct {
	cfg     Config
	program string
	env     []string
	tmp     string
	rules   *rules
	streams *streams
	group   *group
	hidden  hidden
	outside hidden // what the command names and cannot read, as it is neither the project's nor the system's
}

// Run runs a command as Config says and returns its exit status. Where containment is not to be had the
// error is a Refusal, and nothing ran.
func Run(c Config) (status int, err error) {
	// What was handed to this program besides 0, 1 and 2 stays with it.
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, Refusal("descriptors cannot be closed: " + err.Error())
	}
	abi := ABI()
	if err := Usable(abi); err != nil {
		return 0, err
	}
	// The thread that starts the command is bound like the command, so the kernel takes it for one of its own: in /proc it
	// could be looked into, and what this program has open, such as the pipe of a keeper, be opened again. Now by nobody.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, Refusal("this program cannot be shut to others: " + err.Error())
	}
	runtime.GOMAXPROCS(1) // there is little to do, and nothing to gain from doing it at once
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT)
	// A write says so itself. Ignored, the signal would stay so in the command.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)

	cmd := &command{cfg: c}
	defer cmd.clean()
	if err := cmd.prepare(abi); err != nil {
		return 0, err
	}
	if cmd.streams, err = newStreams(); err != nil {
		return 0, err
	}
	if cmd.program, err = cmd.find(); err != nil {
		var missing statusError
		if errors.As(err, &missing) {
			return missing.status, err
		}
		return 0, err
	}
	if cmd.group, err = newGroup(cmd.tmp); err != nil {
		return 0, err
	}
	return cmd.run(signals)
}

// statusError is why a program could not be started, and what a shell's status is then.
type statusError struct {
	status int
	line   string
}

func (e statusError) Error() string { return e.line }

// prepare makes the rules and the temporary directory.
func (c *command) prepare(abi int) (err error) {
	all := os.Environ()
	homes := homes(variable(all, "HOME"))
	roots := make([]string, 0, 1+len(c.cfg.Read))
	for _, name := range append([]string{c.cfg.Project}, c.cfg.Read...) {
		real, err := readable(name, homes)
		if err == nil {
			err = namedSecret(name, real)
		}
		if err != nil {
			return err
		}
		roots = append(roots, real)
	}
	if common := repositoryOf(roots[0]); common != "" {
		if real, err := readable(common, homes); err == nil {
			roots = append(roots, real)
		}
	}
	dirs, err := systemDirs(slices.Concat(roots, homes))
	if err != nil {
		return err
	}
	if err := c.temporary(roots); err != nil {
		return err
	}
	c.env = environment(all, c.cfg.Env, c.tmp)
	t := &tree{linked: map[uint64]bool{}, secrets: map[uint64]bool{}, buf: make([]byte, 16<<10), until: time.Now().Add(maxLook)}
	// A secret that has a second name is found at the end of the first look. The second one knows it.
	for range 3 {
		t.found, t.entries, t.hidden = map[uint64]bool{}, 0, hidden{}
		if c.rules, err = newRules(abi); err != nil {
			return err
		}
		if err := c.allow(t, dirs, roots); err != nil {
			return err
		}
		before := len(t.linked)
		maps.Copy(t.linked, t.found)
		if len(t.linked) == before {
			c.hidden, c.outside = t.hidden, c.mentioned(dirs, roots)
			return nil
		}
		unix.Close(c.rules.fd)
	}
	return Refusal("secrets of the project change while it is looked through")
}

// allow makes every rule; dirs are those of systemDirs.
func (c *command) allow(t *tree, dirs, roots []string) error {
	if err := c.rules.system(dirs); err != nil {
		return err
	}
	if err := c.rules.path(c.tmp, temporary); err != nil {
		return err
	}
	t.rules = c.rules
	for i, root := range roots {
		st, err := os.Stat(root)
		switch {
		case err != nil:
			return Refusal(oneLine(root) + ": " + err.Error())
		case st.IsDir():
			err = t.allow(root)
		case i == 0:
			err = Refusal(oneLine(root) + " is no directory")
		case !st.Mode().IsRegular():
			err = Refusal(oneLine(root) + " is neither a directory nor a file")
		default:
			err = t.file(root)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find looks the program up, as execvp does, or the shell.
func (c *command) find() (string, error) {
	if c.cfg.Shell != "" {
		for _, dir := range []string{"/usr/bin/", "/bin/", "/usr/local/bin/"} {
			if unix.Access(dir+c.cfg.Shell, unix.X_OK) == nil {
				return dir + c.cfg.Shell, nil
			}
		}
		return "", Refusal("there is no " + c.cfg.Shell + " in the system's directories")
	}
	name := c.cfg.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	found := statusError{127, oneLine(name) + ": not found"}
	for dir := range strings.SplitSeq(variable(c.env, "PATH"), ":") {
		if dir == "" {
			dir = "."
		}
		file := path.Join(dir, name)
		if !strings.Contains(file, "/") {
			file = "./" + file
		}
		var st unix.Stat_t
		if unix.Stat(file, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
		found = statusError{126, oneLine(name) + ": cannot be executed"}
	}
	return "", found
}

// argv are the words that the program is given.
func (c *command) argv() []string {
	text := c.cfg.Argv[0]
	switch c.cfg.Shell {
	case "":
		return c.cfg.Argv
	case "bash":
		return []string{c.program, "--noprofile", "--norc", "-c", text}
	case "zsh":
		return []string{c.program, "-f", "-c", text}
	}
	return []string{c.program, "-c", text}
}

// run starts the command and sees it to its end.
func (c *command) run(signals <-chan os.Signal) (int, error) {
	// Whatever loses its parent comes here, and is waited for.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, Refusal("subreaper: " + err.Error())
	}
	parent := unix.Getppid()
	above, err := -1, error(nil)
	if parent != 0 { // 0 is a process outside of the container that this one is in
		above, err = unix.PidfdOpen(parent, 0)
	}
	if err != nil { // it may have ended by now: then nobody wants this run
		return 0, Refusal("the parent cannot be watched: " + err.Error())
	}
	type result struct {
		pid int
		err error
	}
	back, err := lowerLimits()
	if err != nil {
		return 0, err
	}
	if err := c.group.enter(); err != nil {
		return 0, err
	}
	started := make(chan result, 1)
	go func() {
		// This thread is bound for good: it stays locked, and nothing but the command starts on it.
		// It must not end before the command, whose end would be the consequence.
		runtime.LockOSThread()
		pid, err := c.start()
		started <- result{pid, err}
		select {}
	}()
	child := <-started
	back()
	if err := c.group.leave(); err != nil {
		if child.err == nil {
			_ = unix.Kill(child.pid, unix.SIGKILL) // what it started has its group, which nobody leads
		}
		return 0, err
	}
	if child.err != nil {
		return failed(c.program, child.err)
	}
	c.streams.started()
	long := time.AfterFunc(soon, func() {
		c.group.watch()
		p := []unix.PollFd{{Fd: int32(above), Events: unix.POLLIN}}
		for {
			if n, err := unix.Poll(p, 100); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
			if full(c.tmp) {
				_, _ = os.Stderr.WriteString("assent-contain: killed: its temporary directory is full\n") // nowhere else to say so
				break
			}
		}
		c.group.kill()
	})
	defer long.Stop()
	late := make(chan syscall.Signal, 1) // came when nothing was left to pass it on to
	go func() {
		for s := range signals {
			if s := s.(syscall.Signal); !c.group.signal(s) && s != unix.SIGCONT {
				select {
				case late <- s:
				default:
				}
			}
		}
	}()
	var ws, end unix.WaitStatus
	for {
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, Refusal("the command is lost: " + err.Error())
		}
		if pid == child.pid && (ws.Exited() || ws.Signaled()) {
			end = ws
			break
		}
	}
	c.group.end()
	for {
		if _, err := unix.Wait4(-1, &ws, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			break // none is left
		}
	}
	carried := make(chan struct{})
	go func() {
		c.streams.finish()
		close(carried)
	}()
	select {
	case <-carried:
	case s := <-late: // who reads the output does not, and nobody waits any more
		c.streams.restore()
		return 128 + int(s), nil
	}
	c.streams.restore()
	_, _ = os.Stderr.WriteString(c.hidden.line(", which may hold secrets: ") + c.outside.line(", which are neither the project's nor the system's: ")) // nowhere else to say so
	if end.Signaled() {
		return 128 + int(end.Signal()), nil
	}
	return end.ExitStatus(), nil
}

// start binds the calling thread, and starts the command on it.
func (c *command) start() (int, error) {
	filter := assemble(table(c.group.id, unix.Gettid(), c.rules.abi >= 6))
	dropCapabilities()
	if err := c.rules.restrictThread(); err != nil {
		return 0, err
	}
	if err := filterThread(filter); err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(c.program, c.argv(), &syscall.ProcAttr{
		Env:   c.env,
		Files: c.streams.child[:],
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pgid: c.group.id, Pdeathsig: syscall.SIGKILL},
	})
	return pid, err
}

// lowerLimits sets the limits that the command is to have, and returns what sets those of this program
// again, which may carry more. The filter lets nobody raise them.
func lowerLimits() (back func(), err error) {
	var old [2]unix.Rlimit
	// With a core size of one the kernel starts no program that takes what a process leaves as it dies.
	what, limit := [2]int{unix.RLIMIT_FSIZE, unix.RLIMIT_CORE}, [2]uint64{maxFileSize, 1}
	for i := range what {
		if err := unix.Prlimit(0, what[i], nil, &old[i]); err != nil {
			return nil, Refusal("limits: " + err.Error())
		}
		if err := unix.Prlimit(0, what[i], &unix.Rlimit{Cur: min(limit[i], old[i].Max), Max: old[i].Max}, nil); err != nil {
			return nil, Refusal("limits: " + err.Error())
		}
	}
	return func() {
		for i := range what {
			_ = unix.Prlimit(0, what[i], &old[i], nil) // what it was before is never refused
		}
	}, nil
}

// failed says what a shell would, of a program that did not start.
func failed(program string, err error) (int, error) {
	var refusal Refusal
	if errors.As(err, &refusal) {
		return 0, refusal
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return 127, statusError{127, oneLine(program) + ": " + err.Error()}
	}
	return 126, statusError{126, oneLine(program) + ": " + err.Error()}
}

// dropCapabilities takes from root, on this thread and what it starts, all that root may do besides
// reading any file. Nobody else has any; a set user id gives none, as no_new_privs is set.
func dropCapabilities() {
	for n := uintptr(0); n < 64; n++ {
		if n == unix.CAP_DAC_OVERRIDE || n == unix.CAP_DAC_READ_SEARCH || n == unix.CAP_SETPCAP {
			continue
		}
		if unix.Prctl(unix.PR_CAPBSET_DROP, n, 0, 0, 0) != nil {
			break // not root, or no more of them: the filter stands before all that they are for
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // as above
	_ = unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SETPCAP, 0, 0, 0)             // as above
}
