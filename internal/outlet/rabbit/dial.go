package rabbit

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// dialTime bounds connecting, TLS and AMQP's own greeting.
	dialTime = 10 * time.Second
	// answerTime bounds each answer after that, and confirmTime that to a message, which RabbitMQ may
	// first have to write to several disks. A server may send heartbeats and yet never answer.
	answerTime  = 10 * time.Second
	confirmTime = 30 * time.Second
	// writeTime bounds one write. A server that does not read for so long is as good as away; the
	// library cannot close a connection while a write hangs.
	writeTime = 10 * time.Second
	// heartbeat finds a server that is silently gone, in three times this.
	heartbeat = 5 * time.Second
)

// errSilent says that the connection is there, and RabbitMQ does not answer.
var errSilent = errors.New("RabbitMQ sends no answer")

// timeouts say how long answers are waited for. Zero values mean the constants.
type timeouts struct{ answer, confirm time.Duration }

func (t timeouts) orDefault() timeouts {
	return timeouts{cmp.Or(t.answer, answerTime), cmp.Or(t.confirm, confirmTime)}
}

// target is what to connect to, and how.
type target struct {
	url      string
	tls      *tls.Config
	exchange string
	name     string
	timeouts timeouts
	gate     *gate // nil: everything is read at once
}

// connection is a connection with its one channel, in confirm mode, and the exchange declared.
type connection struct {
	target
	conn    *amqp.Connection
	socket  net.Conn
	release func() bool // of hard
	channel *amqp.Channel
	lost    <-chan *amqp.Error
	blocked <-chan amqp.Blocking
}

// dial connects. It gives up when ctx is done; what it returns is cut off when hard is.
func dial(ctx, hard context.Context, to target) (*connection, error) {
	c := &connection{target: to}
	var release []func() bool
	var err error
	c.conn, err = amqp.DialConfig(to.url, amqp.Config{
		TLSClientConfig: to.tls.Clone(),
		Heartbeat:       heartbeat,
		Properties:      amqp.Table{"product": "assent", "connection_name": to.name},
		Dial: func(network, addr string) (net.Conn, error) {
			socket, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			c.socket = timedConn{socket}
			if to.gate != nil {
				c.socket = &gatedConn{Conn: c.socket, gate: to.gate}
			}
			c.release = context.AfterFunc(hard, func() { c.socket.Close() })
			release = append(release, context.AfterFunc(ctx, func() { c.socket.Close() }))
			// Lifted by the library when the greeting is over.
			return c.socket, c.socket.SetDeadline(time.Now().Add(dialTime))
		},
	})
	if err != nil {
		for _, stop := range append(release, c.release) {
			if stop != nil {
				stop()
			}
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := c.open(); err != nil {
		c.close()
		return nil, err
	}
	for _, stop := range release {
		stop()
	}
	return c, ctx.Err()
}

// ask does something that waits for an answer, and cuts the connection when none comes.
func (c *connection) ask(do func() error) error {
	late := time.AfterFunc(c.timeouts.answer, func() { c.socket.Close() })
	err := do()
	if !late.Stop() {
		return fmt.Errorf("%w within %v", errSilent, c.timeouts.answer)
	}
	return err
}

// open makes the channel. A user that may not declare the exchange may still publish to one that
// somebody else declared.
func (c *connection) open() error {
	err := c.declare((*amqp.Channel).ExchangeDeclare)
	var refused *amqp.Error
	if errors.As(err, &refused) && refused.Code == amqp.AccessRefused {
		err = c.declare((*amqp.Channel).ExchangeDeclarePassive)
	}
	if err != nil {
		return fmt.Errorf("declare exchange %s: %w", c.exchange, err)
	}
	if err := c.ask(func() error { return c.channel.Confirm(false) }); err != nil {
		return fmt.Errorf("ask for confirms: %w", err)
	}
	c.lost = c.channel.NotifyClose(make(chan *amqp.Error, 1)) // it ends with the connection
	c.blocked = c.conn.NotifyBlocked(make(chan amqp.Blocking, 16))
	return nil
}

// declare opens a channel for it: a refusal costs the channel.
func (c *connection) declare(how func(*amqp.Channel, string, string, bool, bool, bool, bool, amqp.Table) error) error {
	return c.ask(func() (err error) {
		if c.channel, err = c.conn.Channel(); err != nil {
			return err
		}
		return how(c.channel, c.exchange, amqp.ExchangeTopic, true, false, false, false, nil)
	})
}

// close says goodbye, for a second at most.
func (c *connection) close() {
	if c.gate != nil {
		c.gate.lift()
	}
	_ = c.conn.CloseDeadline(time.Now().Add(time.Second)) // it may be gone already
	c.release()
	_ = c.socket.Close()
}

// timedConn bounds each write.
type timedConn struct{ net.Conn }

func (c timedConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
