package stream

import (
	"context"

	"github.com/nats-io/nats.go"
)

// PublishAsIs puts a message into the record as another version may have written it.
func PublishAsIs(ctx context.Context, s *Stream, m *nats.Msg) error {
	_, err := s.record.js.PublishMsg(ctx, m)
	return err
}
