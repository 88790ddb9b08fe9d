package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxPayload lets an event of hook.MaxEvent through with its headers.
const maxPayload = 8 << 20

// startTimeout bounds the start of a server, and connecting to an external one. A large
// stream that was not closed cleanly is read again at the start, which takes a while.
const startTimeout = 30 * time.Second

// engineKind is what tells the two engines apart.
type engineKind struct {
	name   string // "events" or "record", for directories and messages
	stream string // the stream that must take writes
	// inFlight is how many writes wait for their acknowledgement at once; further ones stand
	// in line, first come first served, and their time runs only from there.
	inFlight int
	sync     bool   // acknowledge after fsync
	readers  bool   // has the readers' account
	listen   string // HOST:PORT, empty for none
	conns    int    // connections from there; 0 means 1024

	readersToken string // empty: a new one
}

// engine is one nats-server, embedded or external, and our connection to it. The connection
// outlives restarts of the embedded server.
type engine struct {
	kind    engineKind
	dir     string // of the embedded server's data; empty when external
	reserve int64
	logf    func(string, ...any)
	keys    keys
	nc      *nats.Conn
	js      jetstream.JetStream
	slots   chan struct{}
	clock   clock // of an external cluster

	ctx     context.Context // done when stop begins
	cancel  context.CancelFunc
	started func()        // called after the supervisor restarted the server; may be nil
	prepare func() error  // called before it does; may be nil
	entries func() uint64 // of the mark of the record; nil without one
	refuse  error         // why nothing may be written, whatever the server can; may be nil
	// enter returns when a message is entered in the mark of the record; nil without one. Nobody hears
	// of a message before.
	enter func(ctx context.Context, stream string, m rawMessage) error
	wake  chan struct{} // tells the supervisor of a failure; holds one
	done  chan struct{} // closed when the supervisor has ended; nil before supervise

	mu sync.Mutex
	// Guarded by mu.
	srv         *server.Server // nil while there is none
	serving     bool           // srv has its streams: a request before that would get no answer
	host        string         // where the embedded server listens
	port        int            // 0 before the first start, then fixed
	fatal       error          // what the server called fatal
	trust       context.Context
	distrust    context.CancelCauseFunc
	mustStart   bool      // only a restart can fix what ended trust
	unproven    bool      // trust was restored without a restart, and nothing was written since
	lastAck     time.Time // of any write
	slow        slowness
	underWay    map[int]int // how many writes of each size wait for an acknowledgement
	silentSince time.Time   // since when no write was acknowledged; zero while they are
	full        bool        // the disk was too full at the last look
	session     context.Context
	endSession  context.CancelFunc
}

func newEngine(kind engineKind, logf func(string, ...any)) *engine {
	e := &engine{kind: kind, logf: logf, keys: newKeys(kind.readersToken)}
	e.slots = make(chan struct{}, kind.inFlight)
	e.underWay = map[int]int{}
	e.wake = make(chan struct{}, 1)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.trust, e.distrust = context.WithCancelCause(e.ctx)
	e.session, e.endSession = context.WithCancel(e.ctx)
	return e
}

// defaultTimeout bounds an exchange with the server whose caller sets no bound.
const defaultTimeout = 5 * time.Second

// inProcess is how long a connection to the embedded server may take to be made. Nothing is lost on the way there, so
// only a busy machine makes it slow, and that is no reason for a broker not to start; the library waits for 2 s.
const inProcess = 15 * time.Second

// startEngine starts an embedded server on dir and connects to it.
func startEngine(ctx context.Context, kind engineKind, dir string, reserve int64, logf func(string, ...any)) (*engine, error) {
	e := newEngine(kind, logf)
	e.dir, e.reserve = dir, reserve
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	host, port, err := listenAddress(kind.listen)
	if err != nil {
		return nil, err
	}
	e.host, e.port = host, port
	if err := e.startServer(ctx); err != nil {
		e.stop()
		return nil, err
	}
	if err := e.connect("", nats.InProcessServer(e), nats.Token(e.keys.core), nats.Timeout(inProcess),
		nats.ReconnectWait(5*time.Millisecond), nats.ReconnectJitter(0, 0)); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// dialEngine connects to an external cluster.
func dialEngine(ctx context.Context, kind engineKind, url, creds string, logf func(string, ...any)) (*engine, error) {
	e := newEngine(kind, logf)
	timeout := 5 * time.Second
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(d))
	}
	// A dead peer must be noticed: the hooks of the plain events wait no longer than a second.
	opts := []nats.Option{nats.Timeout(timeout), nats.ReconnectWait(250 * time.Millisecond),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2)}
	if creds != "" {
		opts = append(opts, nats.UserCredentials(creds))
	}
	if err := e.connect(url, opts...); err != nil {
		e.stop()
		return nil, err
	}
	if _, err := e.js.AccountInfo(ctx); errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		e.stop()
		return nil, fmt.Errorf("the NATS server for %s has no JetStream: add \"jetstream { store_dir: /var/lib/nats }\" to its configuration, and \"jetstream: enabled\" to the account, or start it with nats-server -js", kind.name)
	}
	if have := e.nc.MaxPayload(); have < maxPayload {
		logf("%s: this NATS server takes messages of %d bytes at most; larger events are published as markers (max_payload: 8MB would take them all)", kind.name, have)
	}
	return e, nil
}

func (e *engine) connect(url string, extra ...nats.Option) error {
	opts := append([]nats.Option{
		nats.Name("assent " + e.kind.name),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		// A message is sent now or refused now: none may leave a buffer after its caller got
		// an error.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			e.nextSession()
			if err != nil && e.dir == "" {
				e.logf("%s: lost the connection to NATS: %v", e.kind.name, err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			e.nextSession()
			if e.dir == "" {
				e.logf("%s: connected to NATS again", e.kind.name)
			}
		}),
		nats.ErrorHandler(func(nc *nats.Conn, _ *nats.Subscription, err error) {
			if nc.IsConnected() { // else the disconnect handler has the word
				e.logf("%s: NATS: %v", e.kind.name, err)
			}
		}),
	}, extra...)
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return fmt.Errorf("connect to the %s server: %w", e.kind.name, err)
	}
	e.nc = nc
	// The timeout is for calls that bring no deadline of their own.
	if e.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(defaultTimeout)); err != nil {
		return fmt.Errorf("use JetStream of the %s server: %w", e.kind.name, err)
	}
	return nil
}

// InProcessConn connects to the embedded server of the moment. nats.go calls it at each
// reconnect.
func (e *engine) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	srv, serving := e.srv, e.serving
	e.mu.Unlock()
	if !serving {
		return nil, errors.New("the embedded server is not running")
	}
	return srv.InProcessConn()
}

func (e *engine) server() *server.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.srv
}

// nextSession ends the current session: what reads from the server has to begin anew.
func (e *engine) nextSession() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endSession()
	e.session, e.endSession = context.WithCancel(e.ctx)
}

func (e *engine) currentSession() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session
}

func (e *engine) options() (*server.Options, error) {
	opts := &server.Options{}
	if e.kind.readers {
		if err := opts.ProcessConfigString(accounts); err != nil {
			return nil, fmt.Errorf("configure the %s server: %w", e.kind.name, err)
		}
		opts.CustomClientAuthentication = &gate{keys: e.keys, server: e.server}
	}
	opts.ServerName = "assent-" + e.kind.name
	opts.DontListen = e.kind.listen == ""
	if opts.Host, opts.Port = e.address(); opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	opts.NoSigs, opts.NoLog = true, false
	opts.MaxPayload = maxPayload
	const own = 8 // in this process
	opts.MaxConn = cmp.Or(e.kind.conns, 1024) + own
	opts.JetStream = true
	opts.DisableJetStreamBanner = true
	opts.StoreDir = e.dir
	// The streams have their own limits, the disk is watched in health.go, and the server's
	// default, a part of the free space, would refuse EVENTS on a small disk.
	opts.JetStreamMaxStore = 1 << 50
	opts.JetStreamMaxMemory = 1 << 30
	opts.SyncAlways = e.kind.sync
	opts.SyncInterval = 5 * time.Second // what a power cut can cost of the events
	return opts, nil
}

// stopServer stops the embedded server and waits for it.
func (e *engine) stopServer() {
	e.mu.Lock()
	srv := e.srv
	e.srv, e.serving = nil, false
	e.mu.Unlock()
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// stop ends the engine; calls on it fail from then on. It gives a server that hangs in the
// disk five seconds. clean says that all that was written is on the disk.
func (e *engine) stop() (clean bool) {
	trusted := e.trusted().Err() == nil
	e.cancel()
	if e.nc != nil {
		e.nc.Close()
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if e.done != nil {
			<-e.done
		}
		e.stopServer()
	}()
	select {
	case <-stopped:
		return trusted
	case <-time.After(5 * time.Second):
		e.logf("%s: the embedded server did not stop within 5 s; leaving it behind", e.kind.name)
		return false
	}
}

// address is where outsiders reach the embedded server; port 0 means nowhere.
func (e *engine) address() (host string, port int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kind.listen == "" {
		return "", 0
	}
	return e.host, e.port
}

// ensureStream makes a stream, or gives an embedded one today's configuration, and returns its
// state. What an operator set up on an external cluster is left as it is.
func (e *engine) ensureStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.StreamState, error) {
	var st jetstream.Stream
	var err error
	if e.dir != "" {
		st, err = js.CreateOrUpdateStream(ctx, cfg)
	} else if st, err = js.CreateStream(ctx, cfg); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		e.logf("%s: stream %s exists with a configuration of its own; using it as it is", e.kind.name, cfg.Name)
		st, err = js.Stream(ctx, cfg.Name)
	}
	if err != nil {
		return jetstream.StreamState{}, fmt.Errorf("make stream %s: %w", cfg.Name, err)
	}
	return st.CachedInfo().State, nil
}

// mirrorJS is a JetStream in the account that the public mirror lives in; done closes its
// connection.
func (e *engine) mirrorJS() (js jetstream.JetStream, done func(), err error) {
	if e.dir == "" {
		return e.js, func() {}, nil
	}
	nc, err := nats.Connect("", nats.InProcessServer(e), nats.Token(e.keys.mirror), nats.Timeout(inProcess))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to make the mirror: %w", err)
	}
	if js, err = jetstream.New(nc); err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("connect to make the mirror: %w", err)
	}
	return js, nc.Close, nil
}

func (e *engine) mirrorSource(of string) *jetstream.StreamSource {
	src := &jetstream.StreamSource{Name: of}
	if e.dir != "" {
		src.External = &jetstream.ExternalStream{APIPrefix: mirrorAPI, DeliverPrefix: mirrorDeliver}
	}
	return src
}

// listenAddress splits HOST:PORT. Only loopback is taken: the listener speaks plain text, and
// its token is a credential.
func listenAddress(listen string) (host string, port int, err error) {
	if listen == "" {
		return "", 0, nil
	}
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("NATS listen address %q: want HOST:PORT: %w", listen, err)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("NATS listen address %q: want a port from 0 to 65535", listen)
	}
	if host == "localhost" || host == "" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", 0, fmt.Errorf("NATS listen address %q is not a loopback address: the embedded listener has no TLS; use an external NATS server (--nats-url) or a tunnel", listen)
	}
	return host, int(n), nil
}

func (e *engine) setPort(port int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.port = port
}

func portFree(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
