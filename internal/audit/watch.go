package audit

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"assent/internal/api"
	"assent/internal/store/tree"
)

// ErrOlder says that a broker's record is not the one that was seen before, but an older copy of it.
var ErrOlder = errors.New("this broker's record is older than what this checkpoint has seen")

// Next verifies what a broker answers to the question for a checkpoint: that a key signed it, and that the tree of
// the one that was kept, nil for none, is the beginning of its own. An error is an alarm.
func Next(kept *tree.Checkpoint, got api.Checkpoint, keys ...note.Verifier) (tree.Checkpoint, error) {
	c, err := tree.OpenCheckpoint(got.Note, keys...)
	if err != nil {
		return c, err
	}
	if kept == nil {
		return c, nil
	}
	switch {
	case c.Origin != kept.Origin:
		return c, fmt.Errorf("the broker's tree is another one, %s, than that of the kept checkpoint, %s: the record was begun anew, or it is another broker", c.Origin, kept.Origin)
	case c.Size < kept.Size:
		return c, fmt.Errorf("%w: it has %d leaves, and the checkpoint of %s has %d", ErrOlder, c.Size, kept.Time.Format(time.RFC3339), kept.Size)
	case c.Size == kept.Size && c.Root == kept.Root:
		return c, nil
	}
	proof := make(tlog.TreeProof, len(got.Proof))
	for i, text := range got.Proof {
		if proof[i], err = tlog.ParseHash(text); err != nil {
			return c, fmt.Errorf("the broker's proof cannot be read: %w", err)
		}
	}
	if c.Size == kept.Size || tlog.CheckTree(proof, c.Size, c.Root, kept.Size, kept.Root) != nil {
		return c, fmt.Errorf("the record was rewritten: its first %d entries are not those of the checkpoint of %s", kept.Size, kept.Time.Format(time.RFC3339))
	}
	return c, nil
}

// Timely looks at the time of a checkpoint that Next has verified, by the clock here: it may not be of a time that has not come, nor,
// where it is newer than the kept one, of one before the broker was asked last, when it was not there. So a broker that is
// watched cannot say later that something happened earlier than the last look; looked is zero for none.
func Timely(kept *tree.Checkpoint, c tree.Checkpoint, looked, now time.Time, skew time.Duration) error {
	const clock = "the clocks differ, or the broker writes other times than it is"
	switch {
	case c.Time.After(now.Add(skew)):
		return fmt.Errorf("the checkpoint is of a time that has not come by the clock here, %s: %s", c.Time.Format(time.RFC3339), clock)
	case kept != nil && c.Size > kept.Size && !looked.IsZero() && c.Time.Before(looked.Add(-skew)):
		return fmt.Errorf("the checkpoint of %s was not there yet when the broker was asked at %s: %s", c.Time.Format(time.RFC3339), looked.UTC().Format(time.RFC3339), clock)
	}
	return nil
}
