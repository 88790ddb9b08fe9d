package integrity

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go"
)

// A block of nats-server 2.15 is records behind each other, little endian:
//
//	length 4 (the highest bit: has a header) · sequence 8 · time 8 · length of the subject 2 ·
//	subject · [length of the header 4 · header] · body · hash 8
//
// The hash is HighwayHash-64 over sequence, time, subject, header and body, under a key made of the
// names of stream and block. Two bits of the sequence tell a record that says that a message was
// removed, and one that was overwritten. The server stops at the first record that is not so, and
// removes the rest of the file; this reader looks for the next one that is.
const (
	recordHead  = 22
	recordHash  = 8
	recordLeast = recordHead + recordHash
	recordMost  = 32 << 20
	hasHeader   = 1 << 31
	erasedBit   = 1 << 63
	removedBit  = 1 << 62
)

type block struct {
	index int
	path  string
}

// list returns a stream's blocks in order; none if there is no directory.
func (s Source) list() ([]block, error) {
	names, err := os.ReadDir(s.blocks())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	var blocks []block
	for _, name := range names {
		number, ok := strings.CutSuffix(name.Name(), ".blk")
		if index, err := strconv.ParseUint(number, 10, 32); ok && err == nil {
			blocks = append(blocks, block{int(index), filepath.Join(s.blocks(), name.Name())})
		}
	}
	slices.SortFunc(blocks, func(a, b block) int { return a.index - b.index })
	return blocks, nil
}

// record is one record of a block. Its bytes are the file's.
type record struct {
	seq     uint64
	ts      int64 // Unix, in nanoseconds
	removed bool  // says that seq was removed
	erased  bool  // was a message, and was overwritten
	subject string
	header  []byte
	body    []byte
	raw     []byte
	offset  int
}

func (r *record) message() bool { return !r.removed && !r.erased && r.seq != 0 }

func (r *record) headers() nats.Header {
	if len(r.header) == 0 {
		return nil
	}
	h, err := nats.DecodeHeadersMsg(r.header)
	if err != nil {
		return nil
	}
	return h
}

func (r *record) leaf() Hash { return Leaf(r.seq, r.subject, r.headers(), r.body) }

func blockHash(stream string, index int) hash.Hash64 {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, index))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	return h
}

// parseRecord reads the record that data begins with; ok is false if there is none.
func parseRecord(data []byte, hh hash.Hash64) (r record, ok bool) {
	if len(data) < recordLeast {
		return r, false
	}
	le := binary.LittleEndian
	length, subjectLen := le.Uint32(data), int(le.Uint16(data[20:]))
	head := length&hasHeader != 0
	n := int(length &^ hasHeader)
	before := subjectLen
	if head {
		before += 4
	}
	if n < recordLeast+before || n > recordMost || n > len(data) {
		return r, false
	}
	rest := data[recordHead : n-recordHash]
	hh.Reset()
	_, _ = hh.Write(data[4:20])
	_, _ = hh.Write(rest[:subjectLen])
	_, _ = hh.Write(rest[before:])
	if !bytes.Equal(hh.Sum(nil), data[n-recordHash:n]) {
		return r, false
	}
	r = record{ts: int64(le.Uint64(data[12:])), subject: string(rest[:subjectLen]), body: rest[before:], raw: data[:n]}
	seq := le.Uint64(data[4:])
	r.erased, r.removed = seq&erasedBit != 0, seq&removedBit != 0
	r.seq = seq &^ (erasedBit | removedBit)
	if head {
		// The server does not hash these four bytes.
		headerLen := int(le.Uint32(rest[subjectLen:]))
		if headerLen > len(r.body) {
			return r, false
		}
		r.header, r.body = r.body[:headerLen], r.body[headerLen:]
	}
	return r, true
}

// span is a part of a block that holds no record.
type span struct{ from, to int }

// scan calls fn with every record of a block's bytes, and bad with what is none.
func scan(data []byte, hh hash.Hash64, fn func(record), bad func(span)) {
	for at := 0; at < len(data); {
		r, ok := parseRecord(data[at:], hh)
		if ok {
			r.offset = at
			fn(r)
			at += len(r.raw)
			continue
		}
		next := resume(data, at, hh)
		bad(span{at, next})
		at = next
	}
}

// maxHashed bounds how many bytes resume hashes: in hostile ones each place could look like the
// beginning of a long record.
const maxHashed = 256 << 20

// resume is where the next record begins behind a place that holds none, or the end.
func resume(data []byte, at int, hh hash.Hash64) int {
	le := binary.LittleEndian
	hashed := 0
	for i := at + 1; i+recordLeast <= len(data) && hashed < maxHashed; i++ {
		n := int(le.Uint32(data[i:]) &^ hasHeader)
		if n < recordLeast || n > len(data)-i || recordLeast+int(le.Uint16(data[i+20:])) > n {
			continue
		}
		if seq := le.Uint64(data[i+4:]) &^ (erasedBit | removedBit); seq == 0 || seq>>40 != 0 {
			continue
		}
		hashed += n
		if _, ok := parseRecord(data[i:], hh); ok {
			return i
		}
	}
	return len(data)
}

// appendRecord appends a record to a block's bytes. One without a subject says that seq was
// overwritten.
func appendRecord(to []byte, hh hash.Hash64, seq uint64, ts int64, subject string, body []byte) []byte {
	le := binary.LittleEndian
	start := len(to)
	if subject == "" {
		seq |= erasedBit
	}
	to = le.AppendUint32(to, uint32(recordLeast+len(subject)+len(body)))
	to = le.AppendUint64(to, seq)
	to = le.AppendUint64(to, uint64(ts))
	to = le.AppendUint16(to, uint16(len(subject)))
	to = append(to, subject...)
	to = append(to, body...)
	hh.Reset()
	_, _ = hh.Write(to[start+4 : start+20])
	_, _ = hh.Write(to[start+recordHead:])
	return hh.Sum(to)
}
