package reader

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/store/stream"
)

// ErrNoDurable is wrapped by RemoveDurable's error when there is nothing to remove.
var ErrNoDurable = errors.New("no durable reader goes")

// RemoveDurable deletes what the server keeps of a durable reader. It returns a *BusyError while
// the reader runs on this machine. The file in cursorDir stays, for a lock on a removed file keeps
// nobody out; a new reader of that name does not believe it.
func RemoveDurable(ctx context.Context, info stream.NATSInfo, cursorDir, name string) (err error) {
	c, err := openCursor(cursorDir, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	nc, js, err := dial(info)
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err = js.DeleteConsumer(ctx, info.Stream, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("%w by the name %s", ErrNoDurable, name)
	}
	if err != nil {
		return fmt.Errorf("remove durable %s: %w", name, err)
	}
	return nil
}
