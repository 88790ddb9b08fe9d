package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"assent/internal/api"
	"assent/internal/store/tree"
	"assent/internal/text/show"
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

// An Alarm is an error that says that a record is not what it has to be, or that nothing proves any more that it is.
type Alarm struct{ Err error }

func (a *Alarm) Error() string { return a.Err.Error() }

func (a *Alarm) Unwrap() error { return a.Err }

// Watch asks one broker for its checkpoints and keeps each new one. It is for one goroutine.
type Watch struct {
	// Ask asks the broker for its newest checkpoint, with the proof that the one of from leaves is the beginning of its
	// tree; from is 0 where there is none to prove.
	Ask  func(ctx context.Context, from int64) (api.Checkpoint, error)
	Keys []note.Verifier // none: the key that the broker itself names is believed
	File string          // new checkpoints are appended to it; "" keeps none beyond this Watch
	Skew time.Duration   // how far the broker's clock and the one here may differ

	kept  *tree.Checkpoint // the newest
	asked time.Time        // when the broker was asked last, and answered; zero: not yet
}

// Load reads the newest checkpoint of File; there may be no such file yet.
func (w *Watch) Load() error {
	if w.File == "" {
		return nil
	}
	kept, err := ReadKept(w.File, w.Keys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i := range kept {
		if w.kept == nil || kept[i].Size >= w.kept.Size {
			w.kept = &kept[i]
		}
	}
	return nil
}

// Look asks once and returns the broker's checkpoint if it is newer than the kept one, else nil. A checkpoint can come with an
// Alarm: then it is signed and kept, because it proves what the broker said. Other errors are those of Ask and of File.
func (w *Watch) Look(ctx context.Context) (*tree.Checkpoint, error) {
	from, asked := int64(0), time.Now()
	if w.kept != nil {
		from = w.kept.Size
	}
	got, err := w.Ask(ctx, from)
	if p := (*api.Problem)(nil); errors.As(err, &p) && p.Reason == "older" && w.kept != nil {
		return nil, &Alarm{fmt.Errorf("%w, the one of %s with %d leaves; the broker runs on an older copy of its record: find what came after", ErrOlder, w.kept.Time.Format(time.RFC3339), w.kept.Size)}
	}
	if err != nil {
		return nil, err
	}
	keys := w.Keys
	if len(keys) == 0 {
		v, err := note.NewVerifier(got.Key)
		if err != nil {
			return nil, fmt.Errorf("the broker's key cannot be read: %w", err)
		}
		keys = []note.Verifier{v}
	}
	c, err := Next(w.kept, got, keys...)
	if err != nil {
		return nil, &Alarm{fmt.Errorf("%w; keep the broker's state directory as it is, and compare exports", err)}
	}
	alarm := Timely(w.kept, c, w.asked, time.Now(), w.Skew)
	w.asked = asked
	if alarm == nil && got.Stopped != "" {
		alarm = fmt.Errorf("nothing is added to the tree any more: %s", show.Line(got.Stopped))
	}
	var fresh *tree.Checkpoint
	if w.kept == nil || c.Size > w.kept.Size {
		fresh, w.kept = &c, &c
		if err := appendKept(w.File, c); err != nil {
			return fresh, err
		}
	}
	if alarm != nil {
		return fresh, &Alarm{alarm}
	}
	return fresh, nil
}
