package hookclient

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"assent/internal/hook"
	"assent/internal/host/gitrepo"
	"assent/internal/host/process"
)

// origin gathers what only this process knows. Of the environment it reads the named
// variables and no others: the agent's API key stands there too.
//
// Claude Code's variables say nothing of another agent: that may be running within it, or its hooks
// within a daemon that another terminal started.
func origin(agent string, env func(string) string) hook.Origin {
	if agent != "claude" {
		env = func(string) string { return "" }
	}
	o := hook.Origin{
		AgentLabel: env("CLAUDE_AGENT_ID"),
		ProjectDir: env("CLAUDE_PROJECT_DIR"),
	}
	o.Host, _ = os.Hostname()
	// Between the agent and us there may be a shell, so its own word goes first.
	if pid, err := strconv.Atoi(env("CLAUDE_PID")); err == nil && pid > 0 {
		o.PID = pid
	} else {
		o.PID = os.Getppid()
	}
	o.Process = process.ID(o.PID)
	if session := env(hook.EnvHostedSession); session != "" {
		o.Hosted = strings.TrimSpace(session + " " + env(hook.EnvHostedAgent))
	}
	o.Attended = attended(env("CLAUDE_CODE_ENTRYPOINT"), o.PID)
	if dir, err := os.Getwd(); err == nil {
		o.Repo = gitrepo.Find(dir)
	}
	return o
}

// OriginAt is the origin of an agent that somebody else runs: the process pid, which works in dir, an
// absolute path or "". Its user sits before a client of the agent's and is asked there.
func OriginAt(pid int, dir string) hook.Origin {
	o := hook.Origin{PID: pid, Process: process.ID(pid), Attended: hook.AttendedYes}
	o.Host, _ = os.Hostname()
	if dir != "" {
		o.Repo = gitrepo.Find(dir)
	}
	return o
}

// attended says whether somebody may sit at the terminal of the agent with this pid. Claude Code says
// how it was started; of another agent it is known only that it has no terminal at all.
func attended(entrypoint string, pid int) string {
	switch {
	case entrypoint == "cli":
		return hook.AttendedYes
	case strings.HasPrefix(entrypoint, "sdk"), entrypoint == "" && process.NoTerminal(pid):
		return hook.AttendedNo
	}
	return ""
}

// appendEvent appends the headers that describe e. Submitter is the broker's to find out.
func appendEvent(b []byte, e hook.Event) []byte {
	e.Submitter, e.Time = "", e.Time.UTC()
	e.Headers(func(name, value string) { b = appendHeader(b, name, value) })
	return b
}

// appendHeader appends one header line; an empty or overlong value leaves it out: a part of a path
// would be another path.
func appendHeader(b []byte, name, value string) []byte {
	if value == "" || len(value) > hook.MaxLabel {
		return b
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, hook.EscapeHeader(value)...)
	return append(b, "\r\n"...)
}

// newSecret returns 256 random bits as hex digits. See newID for the generator.
func newSecret() string {
	b := make([]byte, 0, 64)
	for range 4 {
		for u, i := rand.Uint64(), 0; i < 16; i++ {
			b = append(b, hexDigits[u>>(60-4*i)&15])
		}
	}
	return string(b)
}

const hexDigits = "0123456789abcdef"

// newID returns a random UUID. The generator is the runtime's ChaCha8, seeded by the kernel at
// the start of the process; crypto/rand would be a tenth of our start-up.
func newID() string {
	u := [2]uint64{rand.Uint64(), rand.Uint64()}
	u[0] = u[0]&^0xf000 | 0x4000 // version 4
	u[1] = u[1]&^(3<<62) | 1<<63 // variant 1
	b := make([]byte, 0, 36)
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b = append(b, '-')
		}
		b = append(b, hexDigits[u[i/16]>>(60-4*(i%16))&15])
	}
	return string(b)
}
