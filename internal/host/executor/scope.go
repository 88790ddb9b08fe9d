package executor

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assent/internal/host/optin"
)

// scopePrefix begins the name of the scope that a session's process has where the user's own systemd runs: a
// control group that nothing leaves which is started in it, whatever its environment. The session's id and
// a number follow.
const scopePrefix = "assent-agent-"

const probeTime = 5 * time.Second

// inScope are the words before those of a program that have systemd run it in a scope. The process that is started
// moves there itself and becomes the program, so it keeps its number.
func inScope(systemdRun, session string, now time.Time) []string {
	return []string{
		systemdRun, "--user", "--scope", "--quiet", "--collect", "--unit=" + scopePrefix + session + "-" + strconv.FormatInt(now.UnixNano(), 36),
		"--description=agent of assent, session " + session, "--",
	}
}

// findScopes is the program that starts others in scopes, "" where it does not do so for this user, or an agent of the project
// could have put it there.
func findScopes(ctx context.Context, environ []string, project string) string {
	path := optin.Tool(environ, "systemd-run", project)
	if path == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	words := append(inScope(path, "probe", time.Now()), "true")
	probe := exec.CommandContext(ctx, words[0], words[1:]...)
	probe.Env = OwnEnv(environ)
	if probe.Run() != nil {
		return ""
	}
	return path
}

// scopeOf is the path of the session's scope below the control groups that a process is in, "" if it is in none
// of them.
func scopeOf(pid int, session string) string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return ""
	}
	return scopeIn(text, session)
}

// scopeIn is scopeOf of the text of /proc/PID/cgroup.
func scopeIn(text []byte, session string) string {
	for line := range bytes.Lines(text) {
		path, ok := strings.CutPrefix(strings.TrimRight(string(line), "\n"), "0::/")
		if !ok {
			continue
		}
		names := strings.Split(path, "/")
		for i, name := range names {
			if strings.HasPrefix(name, scopePrefix+session+"-") && strings.HasSuffix(name, ".scope") {
				return "/" + strings.Join(names[:i+1], "/")
			}
		}
	}
	return ""
}

// killScope has the kernel kill all that is in a scope at once. Where it cannot, killAll does it one by one.
func killScope(scope string) {
	if scope == "" || strings.Contains(scope, "..") {
		return
	}
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if f, err := os.OpenFile(filepath.Join(root, scope, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString("1")
			f.Close()
			return
		}
	}
}
