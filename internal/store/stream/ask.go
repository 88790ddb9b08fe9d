package stream

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"assent/internal/text/show"
)

// Brokers of a cluster ask each other what only one of them can see. A question and its answer are kept nowhere: they
// are plain messages in the account of the record, of which no reader knows.

// Errors of Ask.
var (
	ErrNobody = errors.New("no broker of this cluster can answer")
	ErrAnswer = errors.New("another broker of this cluster did not answer")
)

const (
	askSubject  = "assent.ask."
	askError    = "Assent-Error" // why there is no answer
	maxQuestion = 4 << 10
	maxAnswer   = 4 << 20 // before it is compressed
	maxAnswers  = 16      // that are made at once, for one name

	subscribeWait = time.Second
	longestAsk    = time.Minute // that a question waits, whatever its caller allows
)

// Ask asks the broker that answers under name. ErrNobody, at once: none does; ErrAnswer: it has no answer, or ctx is
// done, or a minute has passed: a broker that dies with a question answers nothing, and a caller may have no limit.
func (s *Stream) Ask(ctx context.Context, name string, question []byte) ([]byte, error) {
	if s.cfg.URL == "" || !plainKey.MatchString(name) {
		return nil, ErrNobody
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.cfg.ask, longestAsk))
	defer cancel()
	m, err := s.record.nc.RequestWithContext(ctx, askSubject+name, question)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if why := m.Header.Get(askError); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrAnswer, show.Short(why, 200))
	}
	answer, err := inflate(m.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return answer, nil
}

// Answer has f answer what brokers of this cluster ask under name, until stop is called, which waits for answers that
// are being made: their context is done then. f is called from several goroutines. Without a cluster nobody asks.
func (s *Stream) Answer(name string, f func(ctx context.Context, question []byte) []byte) (stop func(), err error) {
	if s.cfg.URL == "" {
		return func() {}, nil
	}
	if !plainKey.MatchString(name) {
		return nil, fmt.Errorf("answer under %.64q: no plain name", name)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	slots := make(chan struct{}, maxAnswers)
	sub, err := s.record.nc.Subscribe(askSubject+name, func(m *nats.Msg) {
		select {
		case slots <- struct{}{}:
		default:
			s.reply(m, nil, "it is asked too much at once")
			return
		}
		go func() {
			defer func() { <-slots }()
			if len(m.Data) > maxQuestion {
				s.reply(m, nil, "the question is too long")
				return
			}
			s.reply(m, f(ctx, m.Data), "")
		}()
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("answer other brokers: %w", err)
	}
	// Once the server has it, a question that another connection brings finds this broker. Without a connection the
	// library subscribes when it has one again.
	_ = s.record.nc.FlushTimeout(subscribeWait)
	return func() {
		_ = sub.Unsubscribe()
		if s.record.nc.IsConnected() { // until the server knows, it sends questions here that nobody answers
			_ = s.record.nc.FlushTimeout(subscribeWait)
		}
		cancel()
		for range maxAnswers {
			slots <- struct{}{} // and so none is being made, and none begins
		}
	}, nil
}

// reply answers m. What is too long for a message here is an answer, too: that it is.
func (s *Stream) reply(m *nats.Msg, answer []byte, why string) {
	to := nats.NewMsg(m.Reply)
	if why == "" {
		var err error
		if to.Data, err = deflate(answer); err != nil {
			why = err.Error()
		} else if limit := s.record.nc.MaxPayload(); int64(len(to.Data)) > limit {
			why = fmt.Sprintf("the answer has %d bytes, and this NATS server takes %d at most (max_payload: 8MB)", len(to.Data), limit)
		}
	}
	if why != "" {
		to.Data = nil
		to.Header.Set(askError, why)
	}
	_ = s.record.nc.PublishMsg(to) // who asked hears nothing then, and does not wait for long
}

func deflate(b []byte) ([]byte, error) {
	if len(b) > maxAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func inflate(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, maxAnswer+1))
	if err == nil && len(out) > maxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return out, err
}
