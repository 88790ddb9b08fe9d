package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
)

// busyJS refuses messages as the leader of a cluster does while another one of the same subject is on its way.
type busyJS struct {
	jetstream.JetStream
	refusals  atomic.Int32
	meanwhile func() // before each refusal; may be nil
}

func (b *busyJS) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if b.refusals.Add(-1) >= 0 {
		if b.meanwhile != nil {
			b.meanwhile()
		}
		return nil, &jetstream.APIError{Code: 400, ErrorCode: wrongLastSequenceInFlight, Description: "wrong last sequence"}
	}
	return b.JetStream.PublishMsg(ctx, msg, opts...)
}

// A decision may come to the leader before the question has arrived there that another replica has shown already. It is
// no loser: it is recorded a moment later.
func TestAppendBehindOneOnItsWay(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	a := asked(t)
	seq := mustAppend(t, s, a, 0)
	js := &busyJS{JetStream: s.record.js}
	js.refusals.Store(3)
	s.record.js = js
	d := decided(a.RequestID)
	at, err := again(func() (uint64, error) { return s.Append(t.Context(), d, seq) })
	if err != nil || at != seq+1 {
		t.Fatalf("recorded at %d: %v", at, err)
	}
	recs, err := s.Records(t.Context(), a.RequestID)
	if err != nil || len(recs) != 2 || recs[1].ID != d.ID {
		t.Errorf("the request has %d records: %v", len(recs), err)
	}
}

// A rival that comes first meanwhile has won, and this one is told so.
func TestAppendBehindARival(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	a := asked(t)
	seq := mustAppend(t, s, a, 0)
	rival := decided(a.RequestID)
	plain := s.record.js
	js := &busyJS{JetStream: plain}
	js.refusals.Store(1)
	js.meanwhile = func() {
		msg, err := recordMessage(rival)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := plain.PublishMsg(t.Context(), msg); err != nil {
			t.Error(err)
		}
	}
	s.record.js = js
	loser := decided(a.RequestID)
	if at, err := again(func() (uint64, error) { return s.Append(t.Context(), loser, seq) }); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("recorded at %d: %v", at, err)
	}
}
