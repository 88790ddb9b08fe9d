package integrity

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// unmarkedBytes is how much of a stream Clean reads, from its end: a stream of events may have
// gigabytes.
const unmarkedBytes = 32 << 20

// Clean makes streams without a mark readable, before the engine opens them: what is no message is
// left out of their newest blocks, since the server may stop at it for ever. The files as they were
// are copied aside, unless only their end is bad, as a power cut leaves it. It returns what was
// found.
func (s Store) Clean() (all []Damage, err error) {
	for _, src := range s.Sources {
		blocks, err := src.list()
		if err != nil {
			return all, err
		}
		read := 0
		for i := len(blocks) - 1; i >= 0 && read < unmarkedBytes; i-- {
			data, err := os.ReadFile(blocks[i].path)
			if err != nil {
				return all, err
			}
			read += len(data)
			found, err := s.clean(src, blocks[i], data, i == len(blocks)-1)
			if err != nil {
				return all, fmt.Errorf("clean %s: %w", blocks[i].path, err)
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func (s Store) clean(src Source, b block, data []byte, last bool) (all []Damage, err error) {
	var spans []span
	kept := make([]byte, 0, len(data))
	scan(data, blockHash(src.Name, b.index), func(rec record) { kept = append(kept, rec.raw...) }, func(bad span) { spans = append(spans, bad) })
	if len(spans) == 0 {
		return nil, nil
	}
	if !last || spans[0].to < len(data) {
		if _, err := s.copyAside(b.path, data); err != nil {
			return nil, err
		}
	}
	for _, bad := range spans {
		d := Damage{Kind: Unreadable, Stream: src.Name, What: fmt.Sprintf("%d bytes are no message", bad.to-bad.from)}
		d.at(s, b.path, int64(bad.from))
		all = append(all, d)
	}
	if err := os.Remove(filepath.Join(src.blocks(), "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	return all, rewrite(b.path, bytes.Clone(kept))
}
