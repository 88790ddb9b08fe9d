package integrity

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"assent/internal/host/wholefile"
)

// Settle writes the files anew that the engine wrote last, and puts them on the disk. After a crash
// or a failed sync what can be read from them may be in the memory of the kernel only, which
// believes that it is on the disk; a power cut would lose it after it was acted on.
//
// It is for the time when the engine does not run.
func (s Store) Settle() error {
	for _, src := range s.Sources {
		blocks, err := src.list()
		if err != nil {
			return err
		}
		// The last one is written; the one before was, if the sync failed between the two.
		for _, b := range blocks[max(0, len(blocks)-2):] {
			if err := rewrite(b.path, nil); err != nil {
				return fmt.Errorf("write %s anew: %w", b.path, err)
			}
		}
	}
	return nil
}

// rewrite replaces a file by a copy of itself, or by data if that is not nil, which is on the disk.
func rewrite(path string, data []byte) error {
	if data == nil {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	tmp := path + ".assent" // the engine reads names that end in .blk
	if err := writeSynced(tmp, data); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return wholefile.SyncDir(filepath.Dir(path))
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// copySynced copies a file, and returns when the copy is on the disk.
func copySynced(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return wholefile.SyncDir(filepath.Dir(to))
}
