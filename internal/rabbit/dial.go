package rabbit

import (
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
	// writeTime bounds one write. A server that does not read for so long is as good as away; the
	// library cannot close a connection while a write hangs.
	writeTime = 10 * time.Second
	// heartbeat finds a server that is silently gone, in three times this.
	heartbeat = 5 * time.Second
)

// connection is a connection with its one channel, in confirm mode, and the exchange declared.
type connection struct {
	conn    *amqp.Connection
	channel *amqp.Channel
	lost    <-chan *amqp.Error
	blocked <-chan amqp.Blocking
}

func (p *Publisher) dial(ctx, hard context.Context) (*connection, error) {
	return dial(ctx, hard, p.cfg.URL, p.cfg.TLS, p.cfg.Exchange, "assent mutations")
}

// dial connects. It gives up when ctx is done; what it returns is cut off when hard is.
func dial(ctx, hard context.Context, url string, secure *tls.Config, exchange, name string) (*connection, error) {
	var release []func() bool
	conn, err := amqp.DialConfig(url, amqp.Config{
		TLSClientConfig: secure.Clone(),
		Heartbeat:       heartbeat,
		Properties:      amqp.Table{"product": "assent", "connection_name": name},
		Dial: func(network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			context.AfterFunc(hard, func() { c.Close() })
			release = append(release, context.AfterFunc(ctx, func() { c.Close() }))
			// Lifted by the library when the greeting is over.
			return timedConn{c}, c.SetDeadline(time.Now().Add(dialTime))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c := &connection{conn: conn}
	if err := c.open(exchange); err != nil {
		c.close()
		return nil, err
	}
	for _, stop := range release {
		stop()
	}
	return c, ctx.Err()
}

// open makes the channel. A user that may not declare the exchange may still publish to one that
// somebody else declared.
func (c *connection) open(exchange string) error {
	err := c.declare(exchange, (*amqp.Channel).ExchangeDeclare)
	var refused *amqp.Error
	if errors.As(err, &refused) && refused.Code == amqp.AccessRefused {
		err = c.declare(exchange, (*amqp.Channel).ExchangeDeclarePassive)
	}
	if err != nil {
		return fmt.Errorf("declare exchange %s: %w", exchange, err)
	}
	if err := c.channel.Confirm(false); err != nil {
		return fmt.Errorf("ask for confirms: %w", err)
	}
	c.lost = c.channel.NotifyClose(make(chan *amqp.Error, 1)) // it ends with the connection
	c.blocked = c.conn.NotifyBlocked(make(chan amqp.Blocking, 16))
	return nil
}

// declare opens a channel for it: a refusal costs the channel.
func (c *connection) declare(exchange string, how func(*amqp.Channel, string, string, bool, bool, bool, bool, amqp.Table) error) (err error) {
	if c.channel, err = c.conn.Channel(); err != nil {
		return err
	}
	return how(c.channel, exchange, amqp.ExchangeTopic, true, false, false, false, nil)
}

// close says goodbye, for a second at most.
func (c *connection) close() {
	_ = c.conn.CloseDeadline(time.Now().Add(time.Second)) // it may be gone already
}

// timedConn bounds each write.
type timedConn struct{ net.Conn }

func (c timedConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
