package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"assent/hookclient"
	"assent/internal/codec"
	"assent/internal/hook"
)

// checkListen refuses what would put the API on a network in the clear.
func checkListen(f serveFlags) error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return usagef("--listen %s: %w; want HOST:PORT", f.listen, err)
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return usagef("--tls-cert and --tls-key go together")
	}
	if f.tlsCert == "" && !loopback(host) {
		return usagef("--listen %s reaches beyond this machine: give --tls-cert and --tls-key, or listen on 127.0.0.1", f.listen)
	}
	if n := f.natsListen; n != "off" && n != "" {
		host, _, err := net.SplitHostPort(n)
		if err != nil {
			return usagef("--nats-listen %s: %w; want HOST:PORT or off", n, err)
		}
		if !loopback(host) {
			return usagef("--nats-listen %s reaches beyond this machine, where its token would travel in the clear; listen on 127.0.0.1", n)
		}
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// loadCertificate reads the files of --tls-cert and --tls-key; nil without them.
func loadCertificate(certFile, keyFile string) (*tls.Certificate, string, error) {
	if certFile == "" {
		return nil, "", nil
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, "", usagef("--tls-cert, --tls-key: %w", err)
	}
	return &cert, codec.Digest(cert.Certificate[0]), nil
}

func listenURL(addr net.Addr, tls bool) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	return scheme + "://" + addr.String()
}

// defaultSocket is where hooks look when they are told nothing.
func defaultSocket(stateDir string, env func(string) string) string {
	if d := env("XDG_RUNTIME_DIR"); filepath.IsAbs(d) {
		return filepath.Join(d, "assent", "hook.sock")
	}
	return filepath.Join(stateDir, "hook.sock")
}

// hookSocket is the hooks' listener. It stands under its path until remove.
type hookSocket struct {
	net.Listener
	path string
	gone sync.Once
}

// remove takes the socket away, once: later another broker's may stand there.
func (s *hookSocket) remove() { s.gone.Do(func() { os.Remove(s.path) }) }

// listenUnix opens the hook socket, 0600, or 0660 for a group. A socket that nobody answers is
// what a killed broker left, and is replaced; one that answers belongs to another broker.
//
// The new socket takes the old one's place in one step: a hook that finds no socket file gives
// up at once, so there must be no moment without one.
func listenUnix(path, group string) (*hookSocket, error) {
	if err := makeOwnDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("directory of the socket: %w", err)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("another broker answers on %s; stop it or choose another --socket", path)
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is there and is no socket; choose another --socket", path)
	}
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove %s: %w", tmp, err)
	}
	// The mode must be right from the first moment on, not after a chmod.
	old := syscall.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; a socket's path may have 103 bytes", path, err)
	}
	l.SetUnlinkOnClose(false)
	if group != "" {
		err = giveGroup(tmp, group)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		l.Close()
		os.Remove(tmp)
		return nil, fmt.Errorf("open the hook socket: %w", err)
	}
	return &hookSocket{Listener: l, path: path}, nil
}

func giveGroup(path, group string) error {
	g, err := user.LookupGroup(group)
	if err != nil {
		return usagef("--socket-group: %w", err)
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return fmt.Errorf("group id %s: %w", g.Gid, err)
	}
	if err := os.Chown(path, -1, gid); err != nil {
		return fmt.Errorf("give %s to group %s: %w", path, group, err)
	}
	return os.Chmod(path, 0o660)
}

func newLogger(w io.Writer, f serveFlags) (*zap.Logger, error) {
	level := zap.InfoLevel
	switch {
	case f.quiet && f.verbose:
		return nil, usagef("--quiet and --verbose exclude each other")
	case f.quiet:
		level = zap.WarnLevel
	case f.verbose:
		level = zap.DebugLevel
	}
	enc := zap.NewDevelopmentEncoderConfig()
	enc.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	enc.CallerKey, enc.StacktraceKey = "", ""
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(enc), zapcore.Lock(zapcore.AddSync(w)), level)
	if level > zap.DebugLevel {
		// A thousand hooks that fail alike in one second are twenty lines and then every hundredth.
		core = zapcore.NewSamplerWithOptions(core, time.Second, 20, 100)
	}
	return zap.New(core), nil
}

// group runs the parts of the daemon; the first that fails ends them all.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	errs   []error // guarded by mu
}

func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

func (g *group) run(part string, f func(context.Context) error) {
	g.wg.Go(func() {
		err := f(g.ctx)
		if g.ctx.Err() == nil && err != nil && !errors.Is(err, http.ErrServerClosed) {
			g.mu.Lock()
			g.errs = append(g.errs, fmt.Errorf("%s: %w", part, err))
			g.mu.Unlock()
		}
		g.cancel()
	})
}

func (g *group) stop() { g.cancel() }

func (g *group) wait() error {
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.errs...)
}

// spool brings events that hooks wrote to files, while no broker answered, into the stream.
type spool struct {
	dir, target string
	publish     func(context.Context, hook.Event) (uint64, error)
	log         *zap.Logger
}

// drain takes in what lies there now. What cannot be published stays.
func (s *spool) drain(ctx context.Context) {
	n, err := hookclient.Drain(s.dir, s.target, func(r hookclient.SpoolRecord) error {
		_, err := s.publish(ctx, r.Event)
		return err
	})
	if n > 0 {
		s.log.Info("took in spooled events", zap.Int("events", n))
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("spooled events stay where they are", zap.String("dir", s.dir), zap.Error(err))
	}
}

// watch drains the spool once a second: hooks append to a spool file only while there is one,
// so the directory is empty but for the time after an outage.
func (s *spool) watch(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
			s.drain(ctx)
		}
	}
}

// giveBackMemory returns what a burst needed to the system once it is over: a broker idles for
// hours, and without traffic nothing else would make the collector run.
func giveBackMemory(ctx context.Context) error {
	t := time.NewTicker(10 * time.Second)
	defer t.Stop()
	var seen, done uint32 // collections at the last look, and after the last return
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.NumGC == seen && m.NumGC != done { // quiet since the last look
			runtime.GC() // pools give up what they hold at the second collection only
			debug.FreeOSMemory()
			runtime.ReadMemStats(&m)
			done = m.NumGC
		}
		seen = m.NumGC
	}
}
