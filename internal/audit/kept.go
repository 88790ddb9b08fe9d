package audit

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"

	"assent/internal/store/tree"
)

// maxKept bounds a file of checkpoints, in bytes; a checkpoint has some three hundred.
const maxKept = 64 << 20

// ReadKept reads a file of checkpoints, each of which has to be signed by one of keys; without keys it is not asked who
// signed them.
func ReadKept(path string, keys []note.Verifier) (kept []tree.Checkpoint, err error) {
	b, err := readAtMost(path, maxKept)
	if errors.Is(err, errTooMuch) {
		return nil, fmt.Errorf("%s is no file of checkpoints: %w; name the newest ones only", path, err)
	}
	if err != nil {
		return nil, err
	}
	for i, text := range tree.SplitCheckpoints(string(b)) {
		c, err := tree.OpenCheckpoint(text, keys...)
		if err != nil {
			return nil, fmt.Errorf("%s: checkpoint %d: %w; name the key it was signed with by --key", path, i+1, err)
		}
		kept = append(kept, c)
	}
	return kept, nil
}

// appendKept adds a checkpoint to a file of them, on the disk before it returns; path "" is no file.
func appendKept(path string, c tree.Checkpoint) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(c.Note + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keep a checkpoint in %s: %w", path, err)
	}
	return nil
}
