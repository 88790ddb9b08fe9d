package hookclient

import (
	"cmp"
	"errors"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// EmitName is the other name of the program, under which it emits.
const EmitName = "hookd-emit"

// emitPause is how long emit waits at first when the socket's queue is full.
const emitPause = 2 * time.Millisecond

// EmitConfig says how one event is emitted. ReadEmit fills it in.
type EmitConfig struct {
	// Type is what happened: pre_tool_use, post_tool_use or post_tool_use_failure. Tool is what it
	// happened to, and may be empty: the payload says it, too.
	Type, Tool string
	// Socket is where the envelope goes.
	Socket string
	// Env looks up the labels that travel with an event; nil means os.Getenv.
	Env func(string) string
	// Debug hears why nothing was sent, without the payload; nil discards it.
	Debug func(line string)
	// limit bounds how long sending may take; 0 means plainTimeout.
	limit time.Duration
}

// ReadEmit reads the arguments of one run, TYPE [TOOL], and the environment: HOOKD_SOCKET, else
// XDG_RUNTIME_DIR, says where the socket is. ErrHelp is returned when help was asked for.
func ReadEmit(args []string, env func(string) string) (EmitConfig, error) {
	cfg := EmitConfig{Env: env, Socket: env("HOOKD_SOCKET")}
	for _, a := range args {
		switch {
		case a == "--help" || a == "-help" || a == "-h":
			return cfg, ErrHelp
		case strings.HasPrefix(a, "-"):
			return cfg, errors.New("unknown flag " + quote(a) + "; see --help")
		}
	}
	if len(args) == 0 || len(args) > 2 || args[0] == "" {
		return cfg, errors.New("want TYPE [TOOL], as in: post_tool_use write")
	}
	cfg.Type = args[0]
	if len(args) == 2 {
		cfg.Tool = args[1]
	}
	if cfg.Socket == "" {
		dir := env("XDG_RUNTIME_DIR")
		if !path.IsAbs(dir) {
			dir = "/run/user/" + strconv.Itoa(os.Getuid())
		}
		cfg.Socket = path.Join(dir, "hookd.sock")
	}
	return cfg, nil
}

// Emit sends the payload on stdin, in an envelope of one line (schema Envelope), to the
// listener on the socket, and waits for no answer. It takes at most a second after the payload was
// read. Without a socket or a payload, and whatever goes wrong, it sends nothing.
func Emit(cfg EmitConfig, stdin *os.File) {
	if cfg.Env == nil {
		cfg.Env = os.Getenv
	}
	if cfg.Debug == nil {
		cfg.Debug = func(string) {}
	}
	defer func() {
		if recover() != nil { // see Run
			cfg.Debug("internal error; nothing sent")
		}
	}()
	raw, why := readAll(stdin)
	if why != "" {
		cfg.Debug(why)
		return
	}
	line := envelope(&cfg, raw, time.Now())
	if line == nil {
		cfg.Debug("nothing on standard input; nothing sent")
		return
	}
	if err := send(cfg.Socket, line, cmp.Or(cfg.limit, plainTimeout)); err != nil {
		cfg.Debug(err.Error())
	}
}

// send writes one line to the socket, within limit.
func send(socket string, line net.Buffers, limit time.Duration) error {
	addr := &net.UnixAddr{Name: socket, Net: "unix"}
	return sendBy(func() (net.Conn, error) {
		conn, err := net.DialUnix("unix", nil, addr)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}, line, limit)
}

// sendBy is send over a connection that dial makes. A queue that is full is waited for: a burst of
// events must not lose any.
func sendBy(dial func() (net.Conn, error), line net.Buffers, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for pause := emitPause; ; pause *= 2 {
		conn, err := dial()
		switch {
		case err == nil:
			defer conn.Close()
			_ = conn.SetDeadline(deadline) // a closed connection says so at the next use
			_, err = line.WriteTo(conn)
			return err
		case !errors.Is(err, syscall.EAGAIN) || time.Now().Add(pause).After(deadline):
			return err
		}
		time.Sleep(pause)
	}
}

// envelope is the line for a payload, nil if there is none. What is no JSON object travels as a
// text, and a path that is no UTF-8 is left out: neither can be said in JSON.
func envelope(cfg *EmitConfig, raw []byte, now time.Time) net.Buffers {
	if raw = trimBlanks(raw); len(raw) == 0 {
		return nil
	}
	if !isObject(raw) {
		raw = appendText(nil, string(raw))
	}
	oneLine(raw)
	o := origin("claude", cfg.Env)
	head := append(make([]byte, 0, 256), `{"event_type":`...)
	head = appendText(head, cfg.Type)
	head = append(head, `,"tool_name":`...)
	head = appendText(head, cfg.Tool)
	head = append(head, `,"payload":`...)

	tail := append(make([]byte, 0, 1<<10), `,"timestamp":"`...)
	tail = now.UTC().AppendFormat(tail, time.RFC3339Nano)
	tail = append(tail, `","pid":`...)
	tail = strconv.AppendInt(tail, int64(o.PID), 10)
	tail = append(tail, `,"event_id":"`+newID()+`"`...)
	member := func(name, value string) {
		if value != "" && utf8.ValidString(value) {
			tail = append(tail, `,"`+name+`":`...)
			tail = appendText(tail, value)
		}
	}
	member("agent_id", o.AgentLabel)
	dir, _ := os.Getwd()
	member("cwd", dir)
	if r := o.Repo; r.Root != "" && utf8.ValidString(r.Root) && utf8.ValidString(r.Branch) {
		tail = append(tail, `,"repo":{"git_root":`...)
		tail = appendText(tail, r.Root)
		tail = append(tail, `,"branch":`...)
		tail = appendText(tail, r.Branch)
		tail = append(tail, `,"head_sha":`...)
		tail = appendText(tail, r.Head)
		tail = append(tail, `,"remote_url":`...)
		if r.Remote == "" {
			tail = append(tail, "null"...)
		} else {
			tail = appendText(tail, r.Remote)
		}
		tail = append(tail, '}')
	}
	return net.Buffers{head, raw, append(tail, "}\n"...)}
}

// appendText appends s as a JSON text. What is no UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // RuneError is U+FFFD
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}

// isObject reports whether raw is one JSON object and nothing else.
func isObject(raw []byte) bool {
	s := scanner{in: raw, anyKey: true}
	return s.document()
}

// trimBlanks takes JSON's blanks off both ends.
func trimBlanks(b []byte) []byte {
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// oneLine makes one line of a JSON text: in JSON a line end stands between tokens only, where a
// space does as well.
func oneLine(raw []byte) {
	for i, c := range raw {
		if c == '\n' || c == '\r' {
			raw[i] = ' '
		}
	}
}
