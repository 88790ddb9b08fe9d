// Package rabbitmq runs a real RabbitMQ for tests: a node of its own, with its own data, on ports
// of loopback that were free. It needs the programs of Debian's rabbitmq-server and touches
// nothing of an installed one.
//
// A Server is for one goroutine.
package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"assent/internal/freeport"
)

// ErrMissing says that RabbitMQ's programs are not installed.
var ErrMissing = errors.New("no RabbitMQ here (Debian: apt-get install rabbitmq-server)")

// The wrapper in /usr/sbin becomes another user; this is what it wraps.
const binDir = "/usr/lib/rabbitmq/bin"

// Find returns the server program.
func Find() (string, error) {
	program := filepath.Join(binDir, "rabbitmq-server")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	for _, name := range []string{"epmd", "erl"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", fmt.Errorf("%w: %w", ErrMissing, err)
		}
	}
	return program, nil
}

// Server is one node. It may be stopped and started again, on the same data and the same port.
type Server struct {
	dir     string
	program string
	port    int
	env     []string
	epmd    *exec.Cmd
	node    *exec.Cmd
	ended   chan struct{} // closed when node has been waited for
}

// New prepares a node in dir, which must be empty. Call Start, and Close in the end. config is
// further lines of rabbitmq.conf.
func New(dir, config string) (*Server, error) {
	program, err := Find()
	if err != nil {
		return nil, err
	}
	ports, err := freeport.Find(3)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, program: program, port: ports[0]}
	conf, plugins := filepath.Join(dir, "rabbitmq.conf"), filepath.Join(dir, "enabled_plugins")
	// A full disk elsewhere is not what is tested.
	config = "loopback_users = none\ndisk_free_limit.absolute = 1MB\n" + config
	err = errors.Join(
		os.WriteFile(conf, []byte(config), 0o600),
		os.WriteFile(plugins, []byte("[].\n"), 0o600),
		os.Mkdir(filepath.Join(dir, "data"), 0o700),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare RabbitMQ: %w", err)
	}
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8",
		"RABBITMQ_NODENAME=assent" + strconv.Itoa(s.port) + "@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT=" + strconv.Itoa(s.port),
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(ports[1]),
		"ERL_EPMD_PORT=" + strconv.Itoa(ports[2]), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(dir, "data"), "RABBITMQ_LOGS=-",
		"RABBITMQ_CONFIG_FILE=" + conf, "RABBITMQ_ENABLED_PLUGINS_FILE=" + plugins,
		"RABBITMQ_PID_FILE=" + filepath.Join(dir, "pid"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
	}
	// The node would start one and leave it behind.
	s.epmd = exec.Command("epmd", "-address", "127.0.0.1", "-port", strconv.Itoa(ports[2]))
	if err := s.epmd.Start(); err != nil {
		return nil, fmt.Errorf("start epmd: %w", err)
	}
	return s, nil
}

// URL is where the node listens, or will.
func (s *Server) URL() string { return fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", s.port) }

// Start starts the node and waits until it takes connections.
func (s *Server) Start(ctx context.Context) error {
	log, err := os.OpenFile(s.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	node := exec.Command(s.program)
	node.Env, node.Dir = s.env, s.dir
	node.Stdout, node.Stderr = log, log
	// Shell, Erlang and its helpers are one group, so that they end together.
	node.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := node.Start(); err != nil {
		return fmt.Errorf("start RabbitMQ: %w", err)
	}
	ended := make(chan struct{})
	s.node, s.ended = node, ended
	go func() {
		defer close(ended)
		_ = node.Wait() // killed more often than not
	}()
	for {
		c, err := amqp.Dial(s.URL())
		if err == nil {
			return c.Close()
		}
		select {
		case <-ended:
			return fmt.Errorf("RabbitMQ ended at its start:\n%s", s.Log())
		case <-ctx.Done():
			return fmt.Errorf("RabbitMQ does not start: %w: %w\n%s", ctx.Err(), err, s.Log())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the node politely.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends it as a crash would.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Pause stops its processes where they are, as a machine that hangs would; Resume goes on.
func (s *Server) Pause()  { s.signal(syscall.SIGSTOP) }
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// Control runs rabbitmqctl on the node.
func (s *Server) Control(args ...string) error {
	cmd := exec.Command(filepath.Join(binDir, "rabbitmqctl"), append([]string{"--quiet"}, args...)...)
	cmd.Env, cmd.Dir = s.env, s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("rabbitmqctl %s: %w\n%s", args[0], err, out)
	}
	return nil
}

func (s *Server) signal(sig syscall.Signal) {
	if s.node != nil {
		_ = syscall.Kill(-s.node.Process.Pid, sig) // it may have ended
	}
}

func (s *Server) end(sig syscall.Signal) {
	if s.node == nil {
		return
	}
	s.signal(sig)
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
	}
	s.signal(syscall.SIGKILL) // and what is left of the group
	<-s.ended
	s.node = nil
}

// Close ends the node and what belongs to it.
func (s *Server) Close() {
	s.Kill()
	_ = s.epmd.Process.Kill()
	_ = s.epmd.Wait()
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// Log is the end of what the node has said.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}
