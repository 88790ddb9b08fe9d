package hookclient

import (
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assent/internal/hook"
	"assent/internal/host/regular"
)

// ErrHelp is returned by ReadConfig when help was asked for.
var ErrHelp = errors.New("help wanted")

// maxConf bounds the configuration file.
const maxConf = 64 << 10

// settings are the words of one layer of the configuration, as given.
type settings struct {
	from string // "flag --", "FILE: ", "environment ": said before a name in errors
	socket, socketOwner, url, token, timeout,
	onTimeout, onFailure, agent, event, transcript, contain, cacert, require, trust, trustRules string
}

// field returns where the setting of a name is kept, nil if there is no such name.
func (s *settings) field(name string) *string {
	switch name {
	case "socket":
		return &s.socket
	case "socket-owner":
		return &s.socketOwner
	case "url":
		return &s.url
	case "token":
		return &s.token
	case "timeout":
		return &s.timeout
	case "on-timeout":
		return &s.onTimeout
	case "on-failure":
		return &s.onFailure
	case "agent":
		return &s.agent
	case "event":
		return &s.event
	case "transcript":
		return &s.transcript
	case "contain":
		return &s.contain
	case "cacert":
		return &s.cacert
	case "require":
		return &s.require
	case "trust":
		return &s.trust
	case "trust-rules":
		return &s.trustRules
	}
	return nil
}

// filesOnly are settings that no flag may say: a token on the command line would stand in every process list, and
// what is required is not for who writes the command to choose.
func filesOnly(name string) bool {
	return name == "token" || name == "require" || name == "trust" || name == "trust-rules"
}

// SystemConf is the file of the machine's administrator. It counts only while nobody but root can write it.
const SystemConf = "/etc/assent/hook.conf"

// ReadConfig reads the configuration of one run: the flags in args, then SystemConf, then the user's own
// $XDG_CONFIG_HOME/assent/hook.conf, then the environment (ASSENT_SOCKET,
// ASSENT_SOCKET_OWNER, ASSENT_URL, ASSENT_TOKEN, ASSENT_TIMEOUT, ASSENT_ON_TIMEOUT, ASSENT_ON_FAILURE, ASSENT_AGENT); what is
// named first wins. Nothing is read from the working directory.
//
// Socket and URL are one setting: the first layer that has either decides about both, so that an
// environment which a repository brings cannot redirect a client that was told where to go.
// For the same reason a token from a file goes only to a URL that does not come from the
// environment, and who may own the socket is read from the environment only if the socket is. Whether
// the transcript may be read, which certificates are trusted, and whether commands can run contained, is not
// read from the environment at all; what is required of an answer is read from the files alone, and where
// SystemConf says it, from that alone.
//
// Wrong flags are an error, ErrHelp among them. Mistakes elsewhere are left in Config.Fault,
// because an agent is waiting and what the flags say about failures must hold.
func ReadConfig(args []string, env func(string) string) (Config, error) {
	return readConfig(args, env, SystemConf, 0)
}

// readConfig is ReadConfig with another file for SystemConf, of the user admin.
func readConfig(args []string, env func(string) string, systemConf string, admin uint32) (Config, error) {
	flags, err := readFlags(args)
	if err != nil {
		return Config{}, err
	}
	cfg := Config{Env: env, Spool: SpoolDir(env)}
	system, fault := readFile(systemConf, &admin)
	cfg.Fault = fault
	file, fault := readFile(userConf(env), nil)
	if cfg.Fault == nil {
		cfg.Fault = fault
	}
	outside := settings{from: "environment ASSENT_", socket: env("ASSENT_SOCKET"), socketOwner: env("ASSENT_SOCKET_OWNER"), url: env("ASSENT_URL"), token: env("ASSENT_TOKEN"),
		timeout: env("ASSENT_TIMEOUT"), onTimeout: env("ASSENT_ON_TIMEOUT"), onFailure: env("ASSENT_ON_FAILURE"), agent: env("ASSENT_AGENT")}

	cfg.Enforced = system.require != ""
	layers := []*settings{flags, system, file, &outside}
	var faults [4]error
	for i := len(layers) - 1; i >= 0; i-- {
		faults[i] = cfg.apply(layers[i])
	}
	if faults[0] != nil {
		return Config{}, faults[0]
	}
	if f := cfg.address(layers, env); cfg.Fault == nil {
		cfg.Fault = f
	}
	for _, f := range faults[1:] {
		if cfg.Fault == nil {
			cfg.Fault = f
		}
	}
	return cfg, nil
}

// apply overrides cfg with what one layer says.
func (c *Config) apply(s *settings) (fault error) {
	bad := func(name, value, why string) {
		if fault == nil {
			fault = errors.New(s.from + name + " " + quote(value) + ": " + why)
		}
	}
	if s.agent != "" {
		c.Agent = s.agent
	}
	if s.event != "" {
		c.Event = s.event
	}
	if f := c.requires(s); f != nil && fault == nil {
		fault = f
	}
	switch s.transcript {
	case "":
	case "on", "off":
		c.Transcript = s.transcript
	default:
		c.Transcript = "off" // as long as nobody can tell what was meant
		bad("transcript", s.transcript, "want on or off")
	}
	switch {
	case s.cacert == "":
	case path.IsAbs(s.cacert):
		c.CACert = path.Clean(s.cacert)
	default:
		bad("cacert", s.cacert, "want an absolute path")
	}
	if s.contain != "" {
		abi, _, _ := strings.Cut(s.contain, " ")
		n, err := strconv.ParseUint(abi, 10, 16)
		if err != nil {
			bad("contain", s.contain, "want a Landlock ABI and the path of assent-contain, such as: 4 /usr/local/bin/assent-contain")
		}
		c.Contain = int(n)
	}
	if s.timeout != "" {
		d, err := time.ParseDuration(s.timeout)
		if err != nil || d <= 0 || d > 10*365*24*time.Hour {
			bad("timeout", s.timeout, "want a duration like 590s or 24h")
		} else {
			c.Timeout = d
		}
	}
	for _, f := range []struct {
		name, value string
		to          *hook.Fallback
	}{{"on-timeout", s.onTimeout, &c.OnTimeout}, {"on-failure", s.onFailure, &c.OnFailure}} {
		if f.value == "" {
			continue
		}
		v, err := hook.ParseFallback(f.value)
		if err != nil {
			bad(f.name, f.value, err.Error())
			continue
		}
		*f.to = v
	}
	return fault
}

// environment is the layer that a repository may bring.
const environment = 3

// address decides where to send, and with which token.
func (c *Config) address(layers []*settings, env func(string) string) error {
	at := 0
	for at < len(layers) && layers[at].socket == "" && layers[at].url == "" {
		at++
	}
	for i, t := range layers {
		if t.socketOwner != "" && (i < environment || at == i) {
			c.SocketOwner = t.socketOwner
			break
		}
	}
	if at == len(layers) {
		c.Socket = DefaultSocket(env)
		return nil
	}
	s := layers[at]
	switch {
	case path.IsAbs(s.socket):
		c.Socket = path.Clean(s.socket)
	case s.socket != "":
		// Only a flag may be relative: variables and files outlive the working directory.
		dir, err := os.Getwd()
		if at > 0 || err != nil {
			return errors.New(s.from + "socket " + quote(s.socket) + ": want an absolute path")
		}
		c.Socket = path.Join(dir, s.socket)
	}
	if c.URL = s.url; c.URL == "" {
		return nil
	}
	// The first token, but a file's only if no stranger to the files chose the URL.
	for i, t := range layers {
		if t.token != "" && (i == environment || at < environment) {
			c.Token = t.token
			break
		}
	}
	return nil
}

// DefaultSocket returns where the broker listens when nobody said otherwise:
// $XDG_RUNTIME_DIR/assent/hook.sock, or hook.sock in the state directory.
func DefaultSocket(env func(string) string) string {
	if d := env("XDG_RUNTIME_DIR"); path.IsAbs(d) {
		return path.Join(d, "assent", "hook.sock")
	}
	if d := env("ASSENT_STATE_DIR"); path.IsAbs(d) {
		return path.Join(d, "hook.sock")
	}
	if d := stateHome(env); d != "" {
		return path.Join(d, "assent", "hook.sock")
	}
	return ""
}

// readFlags reads --name VALUE and --name=VALUE, with one dash or two.
func readFlags(args []string) (*settings, error) {
	s := &settings{from: "--"}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, ok := strings.CutPrefix(arg, "-")
		if !ok {
			return nil, errors.New("unexpected argument " + quote(arg) + "; see --help")
		}
		name = strings.TrimPrefix(name, "-")
		if name == "help" || name == "h" {
			return nil, ErrHelp
		}
		name, value, given := strings.Cut(name, "=")
		to := s.field(name)
		if to == nil || filesOnly(name) {
			return nil, errors.New("unknown flag --" + name + "; see --help")
		}
		if !given {
			if len(args) == 0 {
				return nil, errors.New("flag --" + name + " needs a value")
			}
			value, args = args[0], args[1:]
		}
		if value == "" {
			return nil, errors.New("flag --" + name + " needs a value")
		}
		s.set(to, value)
	}
	return s, nil
}

// set keeps the value of a setting. URLs that are given one by one are several brokers.
func (s *settings) set(field *string, value string) {
	if field == &s.url && s.url != "" {
		value = s.url + "," + value
	}
	*field = value
}

// userConf is the user's own file, "" where there is no home.
func userConf(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if !path.IsAbs(dir) {
		if dir = env("HOME"); !path.IsAbs(dir) {
			return ""
		}
		dir = path.Join(dir, ".config")
	}
	return path.Join(dir, "assent", "hook.conf")
}

// readFile reads a hook.conf: lines of `name = value`, # begins a comment line. With an owner the file has
// to be that user's, and nobody else's to write.
func readFile(name string, owner *uint32) (*settings, error) {
	s := &settings{from: name + ": "}
	if name == "" {
		return s, nil
	}
	b, err := readConf(name, owner)
	if err != nil {
		return s, errors.New(name + ": " + err.Error())
	}
	var fault error
	for text := string(b); text != ""; {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		to := s.field(strings.TrimSpace(key))
		if !ok || to == nil {
			if fault == nil {
				fault = errors.New(name + ": a line is none of socket, socket-owner, url, token, timeout, on-timeout, on-failure, agent, transcript, contain, cacert, require, trust, trust-rules = value")
			}
			continue
		}
		if value = strings.TrimSpace(value); (to == &s.trust || to == &s.trustRules) && *to != "" {
			value = *to + "\n" + value // one key a line
		}
		s.set(to, value)
	}
	s.event = "" // one file serves all events
	return s, fault
}

var errOddConf = errors.New("is no file of a sensible size")

// readConf reads the file, which may be missing.
func readConf(name string, owner *uint32) ([]byte, error) {
	f, fi, err := regular.Open(name, os.O_RDONLY, 0) // a FIFO must not stop us
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case errors.Is(err, regular.ErrRefused):
		return nil, errOddConf
	case err != nil:
		return nil, errors.New("cannot be opened")
	}
	defer f.Close()
	if fi.Size() > maxConf {
		return nil, errOddConf
	}
	if owner != nil && (!alone(fi, *owner) || !dirAlone(path.Dir(name), *owner)) {
		return nil, errors.New("others than the administrator can write it, or its directory")
	}
	return readAsLong(f, fi.Size())
}

// readAsLong reads a file of a size. One that cannot be read to its end, or is shorter by now, is none: the lines that are missing may
// be those that require something.
func readAsLong(f io.Reader, size int64) ([]byte, error) {
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, errors.New("cannot be read to its end")
	}
	return b, nil
}

// alone reports whether only this user can write what fi is about.
func alone(fi os.FileInfo, owner uint32) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Uid == owner && fi.Mode()&0o022 == 0
}

// dirAlone is alone for a directory: who can write that can put another file in the place of one in it.
func dirAlone(dir string, owner uint32) bool {
	fi, err := os.Stat(dir)
	return err == nil && alone(fi, owner)
}

// quote shows a value in an error message.
func quote(s string) string {
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	return strconv.Quote(s)
}
