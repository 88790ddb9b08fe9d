package executor

import (
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/hook"
)

// mark names the session in the environment of the agent, and so of all that it starts and that keeps it.
const mark = hook.EnvHostedSession

// placeMark names, beside it, the directory of the host's sessions: a host ends what works for sessions of its directory
// that are not there any more, and leaves alone what other hosts of this user started.
const placeMark = "ASSENT_AGENT_SESSIONS"

// kept are the variables that an agent gets from the host's environment; names that begin with one of
// keptPrefixes, too. All else stays behind: what one agent was started with (CLAUDE…) is not for another,
// and neither are the broker's tokens.
var (
	kept = []string{
		"HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
		"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
	}
	keptPrefixes = []string{"LC_", "ANTHROPIC_"}
)

// agentEnv is the environment of the program of an agent that works on a session, of a host whose sessions are in dir.
func agentEnv(environ []string, session, agent, dir string) []string {
	return append(OwnEnv(environ), mark+"="+session, placeMark+"="+dir, hook.EnvHostedAgent+"="+agent)
}

// OwnEnv is what of the host's environment whatever it starts gets.
func OwnEnv(environ []string) []string {
	var env []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (slices.Contains(kept, name) || slices.ContainsFunc(keptPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })) {
			env = append(env, absolute(kv))
		}
	}
	return env
}

// absolute takes what is no absolute path out of PATH: programs would be looked for in the project.
func absolute(kv string) string {
	list, ok := strings.CutPrefix(kv, "PATH=")
	if !ok {
		return kv
	}
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) })
	return "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
}
