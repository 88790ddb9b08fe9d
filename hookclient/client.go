// Package hookclient is the program that an agent runs on every hook event: it hands the
// payload on its standard input to the broker and prints what the broker answers.
//
// Not to disturb the agent matters more than anything else. Whatever breaks, the client exits 0 and
// prints the broker's bytes, or a denial where the user asked for denials, or nothing, and nothing
// means that the agent's own prompt decides. It never prints anything that allows, unless the broker
// sent it.
//
// A PermissionRequest is waited for; it is retried under the same id while the broker may be
// coming back, and is given up when the agent goes away. An MCP server's form is held for two
// minutes at most. Any other event gets one second; if
// the broker did not take it by then it is written to a spool file (see Drain), which a
// kill -9 of anybody survives; a power cut may cost it, since the file is not synced.
//
// The package is on the start-up path of cmd/assent-hook, which runs several times per tool
// call. It is standard library only, and speaks HTTP/1.1 and reads JSON by itself because
// net/http, crypto/tls, encoding/json, fmt and flag cost more than all its work. For https the
// caller hands in Config.Dial.
//
// # Concurrency
//
// Run works in the goroutine of its caller. It starts up to four more, all of which end
// before Run returns but the first two: one reads standard input (a read of a pipe cannot be
// interrupted; it is left behind only when the agent goes away or the time is up before the
// payload was complete, and then the process exits), one reads the end of the transcript (it is left
// behind where the file system does not answer), one waits for signals, one for a hang-up
// of standard output. The functions of the spool may be called from any goroutine and any
// process: a lock file orders them.
package hookclient

import (
	"context"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"assent/internal/hook"
)

const (
	// DefaultTimeout is how long a PermissionRequest is waited for when nobody said otherwise:
	// ten seconds less than the agent's own default.
	DefaultTimeout = 590 * time.Second
	// MaxPayload is the largest payload that is posted, in bytes, the same as the server's
	// limit. A larger one is not sent, which counts as a failure.
	MaxPayload = 16 << 20
	// headSize is how much of a larger one is kept, to see what it is.
	headSize = 64 << 10

	plainTimeout = time.Second           // for any event that is no PermissionRequest
	quietStart   = 10 * time.Millisecond // before this a plain event is usually over; see agentWatch
)

// Config says how one hook event is handed over. The zero value is that of an agent "claude"
// and no broker to talk to; ReadConfig fills in what the user configured.
type Config struct {
	// Version is of the program that runs; the broker says where it is not its own.
	Version string
	// Agent is the coding agent that runs the hook; empty means "claude".
	Agent string
	// Event is the type of the event; empty means that the payload's hook_event_name says it.
	Event string
	// Socket is the broker's unix socket, an absolute path. URL is the address of a broker
	// elsewhere: https, or http to loopback. Several, with commas between them, are
	// brokers that share one record, as is the one on Socket where both are said, which is asked first. Where one does
	// not answer the next is asked at once.
	Socket, URL string
	// SocketOwner is the user, by name or number, whose broker listens on Socket; empty means our
	// own. Nothing is sent to anybody else's socket.
	SocketOwner string
	// CACert is a file of certificates to trust for URL instead of the system's, an absolute path or "":
	// for whoever makes Dial.
	CACert string
	// Token is the bearer token sent to URL.
	Token string
	// Timeout is how long a PermissionRequest waits for its answer; 0 means DefaultTimeout.
	Timeout time.Duration
	// OnTimeout is what is answered to a PermissionRequest when the time is up, OnFailure when
	// it could not be asked. Empty means hook.Abstain, but hook.Deny where the agent would then do without
	// anybody having been asked what it was about to do; see unprompted.
	OnTimeout, OnFailure hook.Fallback
	// Dial connects to a URL; it is required for https, where the connection must have the
	// broker's certificate checked, and should send TCP keep-alives. Nil connects to http.
	Dial func(ctx context.Context, to URL) (net.Conn, error)
	// Transcript says whether the end of the agent's transcript goes to the broker with a
	// PermissionRequest, for the person who is asked: "on" or "off". Empty means on for Socket and off
	// for URL.
	Transcript string
	// Contain is the Landlock ABI of this machine, as install or doctor found it, where commands can run
	// contained; 0 where not. It travels with a PermissionRequest.
	Contain int
	// Require, if it is hook.RequireSigned, has an allow printed only if Verify says so; Trust are the keys by whose
	// signature it may. Enforced says that the machine's administrator wants it.
	Require  string
	Trust    []Trusted
	Enforced bool
	// TrustRules are the keys whose signed rules Verify evaluates.
	TrustRules []TrustedRules
	// Verify returns what is printed for what the broker sent, and nil and why where that must not be printed. It is
	// required with Require: nil counts as a failure.
	Verify func(Offer) (out []byte, why string)
	// Spool is the directory for events that the broker did not take; empty means that they
	// are lost.
	Spool string
	// Fault is a mistake in the configuration. With one nothing is sent: it counts as a
	// failure.
	Fault error
	// Env looks up the labels that travel with an event (CLAUDE_PROJECT_DIR and such); nil
	// means os.Getenv.
	Env func(string) string
	// Warn reports failures, one line each, without a payload, a token or anything of the
	// environment; nil discards them.
	Warn func(line string)
	// tailTime bounds how long a request is kept back for its transcript; 0 means maxTailTime.
	tailTime time.Duration
	// because is why a failure denies, where nobody chose that; "" otherwise.
	because string
	// Asking is called with the id of a request before that goes to the broker; it may be nil.
	Asking func(id string)
}

func (c *Config) fill() {
	if c.Agent == "" {
		c.Agent = "claude"
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.tailTime <= 0 {
		c.tailTime = maxTailTime
	}
	if c.Env == nil {
		c.Env = os.Getenv
	}
	if c.Warn == nil {
		c.Warn = func(string) {}
	}
}

// client is one run.
type client struct {
	cfg      Config
	targets  []target // the brokers, in the order in which they are tried
	to       *target  // the one of them that is tried now
	deadline time.Time
	event    hook.Event
	session  string     // names the spool file
	secret   string     // proves to the broker that a later attempt is of this run
	tail     Transcript // of the agent's transcript
}

// Run handles the one event on stdin and returns when the program should exit, with status 0
// whatever happened. It writes to stdout once or not at all. While it waits (a plain event: from
// quietStart on) SIGTERM, SIGINT and SIGHUP end the wait; SIGPIPE it ignores for good, the
// process being expected to end after it.
func Run(cfg Config, stdin, stdout *os.File) {
	start := time.Now()
	cfg.fill()
	defer func() {
		// A bug of ours must not become the agent's: nothing printed is an abstention.
		if recover() != nil {
			cfg.Warn("internal error; nothing answered")
		}
	}()
	ignoreBrokenPipes()
	w := watchAgent(stdout)
	defer w.stop()
	out := handle(w, cfg, start, stdin)
	w.stop() // from here on signals kill: the write may wait for an agent that reads nothing
	if len(out) > 0 {
		_, _ = stdout.Write(out) // an agent that does not read gets no answer
	}
}

// handle returns what is to be printed.
func handle(w *agentWatch, cfg Config, start time.Time, stdin *os.File) []byte {
	c := &client{cfg: cfg, deadline: start.Add(cfg.Timeout)}
	raw, why := readPayload(w.ctx, stdin, c.deadline)
	if why != "" {
		cfg.Warn(why)
		if w.ctx.Err() == nil && (waits(cfg.Agent, cfg.Event) || cfg.Event == "" && waits(cfg.Agent, eventOf(raw))) {
			c.cfg.fallbacks()
			return c.fallback(c.cfg.OnFailure, hook.FailureWords(c.cfg.because))
		}
		return nil
	}
	p := scanPayload(raw)
	cfg.foundOut(&p)
	c.cfg.Agent = cfg.Agent
	if cfg.Event != "" {
		p.event = cfg.Event
	}
	asks := waits(cfg.Agent, p.event)
	if asks {
		c.cfg.fallbacks()
	}
	c.session = p.session
	c.secret = newSecret()
	c.event = hook.Event{ID: newID(), Type: p.event, Agent: cfg.Agent, Time: start, Attempt: 1, Raw: raw, Signed: cfg.Require != ""}
	if asks {
		c.event.Contain, c.event.RulesKeys = cfg.Contain, cfg.rulesKeys()
	}
	if cfg.Asking != nil {
		cfg.Asking(c.event.ID)
	}

	fault := cfg.Fault
	if fault == nil {
		fault = cfg.unverifiable()
	}
	if fault == nil {
		fault = c.aim()
	}
	if fault != nil {
		cfg.Warn(fault.Error())
		if asks {
			return c.fallback(c.cfg.OnFailure, hook.FailureWords(c.cfg.because))
		}
		return nil
	}
	if asks {
		read := c.readTail(p)
		c.event.Origin = origin(cfg.Agent, cfg.Env)
		c.tail = read()
		return c.ask(w)
	}
	c.event.Origin = origin(cfg.Agent, cfg.Env)
	if p.event == hook.EventElicitation && cfg.Agent == "claude" && cfg.Require == "" {
		return c.elicit(w)
	}
	out := c.deliver(w)
	if p.event == "" || cfg.Require != "" {
		return nil // what we could not read we do not answer; nor with what nobody signed
	}
	return out
}

// aim reads from the configuration where the brokers are.
func (c *client) aim() (err error) {
	if c.targets, err = newTargets(&c.cfg); err == nil {
		c.to = &c.targets[0]
	}
	return err
}

// turn aims at the next broker of the configuration, which may be the only one.
func (c *client) turn() {
	for i := range c.targets {
		if c.to == &c.targets[i] {
			c.to = &c.targets[(i+1)%len(c.targets)]
			return
		}
	}
}

// readPayload reads all of stdin; why says why it is not to be sent. Of a payload that is too large
// raw is the beginning, and the rest is read and thrown away: an agent that finds its pipe closed
// might take that for a failure of the hook.
func readPayload(ctx context.Context, stdin *os.File, deadline time.Time) (raw []byte, why string) {
	type result struct {
		raw []byte
		why string
	}
	done := make(chan result, 1)
	go func() {
		raw, why := readAll(stdin)
		done <- result{raw, why}
	}()
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	select {
	case r := <-done:
		return r.raw, r.why
	case <-ctx.Done():
		return nil, "the agent went away before its payload was complete"
	case <-late.C:
		return nil, "no complete payload on standard input within the timeout"
	}
}

func readAll(stdin *os.File) (raw []byte, why string) {
	b := make([]byte, 0, 16<<10)
	for {
		n, err := stdin.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > MaxPayload:
			size, head := len(b), slices.Clone(b[:headSize])
			for err == nil {
				n, err = stdin.Read(b[:cap(b)])
				size += n
			}
			return head, "a payload of " + strconv.Itoa(size) + " bytes is larger than the broker takes; not sent"
		case err != nil: // io.EOF, or a broken pipe: then the payload is broken too, and read as such
			return b, ""
		case len(b) == cap(b):
			grown := make([]byte, len(b), 4*cap(b))
			copy(grown, b)
			b = grown
		}
	}
}
