package stream

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
	"assent/broker/logtest"
)

func TestLogContract(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t *testing.T) broker.Log {
		s := open(t, Config{})
		js := &forgetfulJS{JetStream: s.record.js}
		s.record.js = js
		return forgetful{s, js}
	})
}

// forgetful is a Stream that can lose an acknowledgement on order.
type forgetful struct {
	*Stream
	js *forgetfulJS
}

func (f forgetful) LoseNextAck() { f.js.lose.Store(true) }

type forgetfulJS struct {
	jetstream.JetStream
	lose atomic.Bool
}

func (f *forgetfulJS) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := f.JetStream.PublishMsg(ctx, msg, opts...)
	if err == nil && f.lose.Swap(false) {
		return nil, nats.ErrTimeout
	}
	return ack, err
}
