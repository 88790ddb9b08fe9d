package tree

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Version is that of the lines.
const Version = 1

// Types of lines.
const (
	TypeExport     = "export"
	TypeProofs     = "proofs"
	TypeLeaf       = "leaf"
	TypeProof      = "proof"
	TypeUnproved   = "unproved"
	TypeCheckpoint = "checkpoint"
	TypeEnd        = "end"
)

// ExportLine begins an export: of the leaves from Size on, behind the right edge of the tree of that size.
type ExportLine struct {
	Type    string      `json:"type"`
	Version int         `json:"version"`
	Origin  string      `json:"origin"`
	Size    int64       `json:"size"`
	Edge    []tlog.Hash `json:"edge"`
}

// ProofsLine begins the proofs of single leaves.
type ProofsLine struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Origin  string `json:"origin"`
}

// LeafLine is the leaf N of an export, and what it is about where that is there.
type LeafLine struct {
	Type  string `json:"type"`
	N     int64  `json:"n"`
	Leaf  string `json:"leaf"`
	Entry []byte `json:"entry,omitempty"`
}

// ProofLine is a leaf with the proof that the checkpoint in front of it has it.
type ProofLine struct {
	Type   string      `json:"type"`
	N      int64       `json:"n"`
	Leaf   string      `json:"leaf"`
	Entry  []byte      `json:"entry,omitempty"`
	Hashes []tlog.Hash `json:"hashes"`
}

// UnprovedLine names an entry of the request that has no proof here, by its sequence in the record.
type UnprovedLine struct {
	Type string `json:"type"`
	Seq  uint64 `json:"seq"`
	Why  string `json:"why"`
}

// Why an entry has no proof.
const (
	WhyBefore  = "before"  // it was recorded before the tree began
	WhyWaits   = "waits"   // it has no checkpoint yet
	WhyMissing = "missing" // the tree has been there, and has nothing of it
)

// NoteLine is a checkpoint.
type NoteLine struct {
	Type string `json:"type"`
	Note string `json:"note"`
}

// EndLine is the last: how many lines there are before it, and the SHA-256 of them.
type EndLine struct {
	Type   string `json:"type"`
	Lines  int64  `json:"lines"`
	SHA256 string `json:"sha256"`
}

// LineWriter writes the lines of an export or of proofs.
type LineWriter struct {
	w     *bufio.Writer
	sum   hash.Hash
	lines int64
	err   error
}

// NewLineWriter writes to w.
func NewLineWriter(w io.Writer) *LineWriter {
	sum := sha256.New()
	return &LineWriter{w: bufio.NewWriterSize(w, 64<<10), sum: sum}
}

// Line writes a line. End returns the first error.
func (w *LineWriter) Line(v any) {
	if w.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		w.err = err
		return
	}
	text = append(text, '\n')
	w.sum.Write(text)
	w.lines++
	_, w.err = w.w.Write(text)
}

// Begun reports whether anything was written.
func (w *LineWriter) Begun() bool { return w.lines > 0 }

// End writes the last line.
func (w *LineWriter) End() error {
	w.Line(EndLine{TypeEnd, w.lines, hex.EncodeToString(w.sum.Sum(nil))})
	return errors.Join(w.err, w.w.Flush())
}

// maxLine is how long a line may be: an entry of 8 MiB in base64, and the rest.
const maxLine = 16 << 20

// LineReader reads lines, each in its one spelling only.
type LineReader struct {
	r     *bufio.Reader
	sum   hash.Hash
	lines int64
}

// NewLineReader reads from r.
func NewLineReader(r io.Reader) *LineReader {
	return &LineReader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
}

// Errors of a LineReader.
var (
	ErrLine = errors.New("this is no line of an export of assent, or it is not spelled as assent does")
	ErrSum  = errors.New("the lines are not those that were written: the last line has another number or digest of them")
	ErrCut  = errors.New("the end is missing: the export was cut short, or never finished")
)

// Lines is how many lines were read.
func (r *LineReader) Lines() int64 { return r.lines }

// Next returns the next line: a pointer to one of the types of lines. The end line is checked, and comes as
// io.EOF. After ErrLine the next line can be read.
func (r *LineReader) Next() (any, error) {
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	return ParseLine(text)
}

// Text returns the next line, without its end and not looked at, for ParseLine. The end line is checked, and comes as
// io.EOF.
func (r *LineReader) Text() ([]byte, error) {
	text, err := r.text()
	if err != nil {
		return nil, err
	}
	r.lines++
	if bytes.HasPrefix(text, endPrefix) {
		if end := new(EndLine); json.Unmarshal(text, end) == nil {
			return nil, r.end(end, text)
		}
	}
	r.sum.Write(text)
	r.sum.Write(lineFeed)
	return text, nil
}

var endPrefix, lineFeed = []byte(`{"type":"` + TypeEnd + `"`), []byte{'\n'}

// ParseLine reads one line but the last: a pointer to one of the types of lines, or ErrLine.
func ParseLine(text []byte) (any, error) {
	if line, ok := plainLeafLine(text); ok {
		return line, nil
	}
	return parseJSONLine(text)
}

func parseJSONLine(text []byte) (any, error) {
	var kind struct {
		Type string `json:"type"`
	}
	var v any
	if json.Unmarshal(text, &kind) == nil {
		switch kind.Type {
		case TypeExport:
			v = &ExportLine{}
		case TypeProofs:
			v = &ProofsLine{}
		case TypeLeaf:
			v = &LeafLine{}
		case TypeProof:
			v = &ProofLine{}
		case TypeUnproved:
			v = &UnprovedLine{}
		case TypeCheckpoint:
			v = &NoteLine{}
		}
	}
	if v == nil || json.Unmarshal(text, v) != nil {
		return nil, ErrLine
	}
	if again, err := json.Marshal(v); err != nil || !bytes.Equal(again, text) {
		return nil, ErrLine
	}
	return v, nil
}

func (r *LineReader) end(end *EndLine, text []byte) error {
	again, err := json.Marshal(end)
	rest, _ := r.r.Peek(1)
	if err != nil || !bytes.Equal(again, text) || end.Lines != r.lines-1 || end.SHA256 != hex.EncodeToString(r.sum.Sum(nil)) || len(rest) > 0 {
		return ErrSum
	}
	return io.EOF
}

// text returns a line without its end.
func (r *LineReader) text() ([]byte, error) {
	var text []byte
	for {
		part, err := r.r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return text[:len(text)-1], nil
		case len(text) > maxLine:
			return nil, fmt.Errorf("line %d is longer than any of an export", r.lines+1)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, ErrCut
		default:
			return nil, err
		}
	}
}

// Export writes all leaves since a time, at most SealAfter and MaxLeaves more, with what they are about.
func (l *Log) Export(ctx context.Context, since time.Time, to *LineWriter) error {
	if now, err := l.cfg.Store.RecordsNow(ctx); err == nil && l.Stopped() == nil {
		if err := l.readUntil(ctx, l.reachable(ctx, now.Last)); err != nil && l.Stopped() == nil {
			return err
		}
	}
	if _, err := l.Checkpoint(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	first := uint64(1)
	head := ExportLine{TypeExport, Version, last.checkpoint.Origin, 0, []tlog.Hash{}}
	if !since.IsZero() {
		b, err := l.search(ctx, 1, last, func(b *block) bool { return b.n == last.n || !b.checkpoint.Time.Before(since) })
		if err != nil {
			return err
		}
		first, head.Size = b.n, b.Size
		head.Edge = append(head.Edge, b.Edge...)
	}
	to.Line(head)
	for n := first; n <= last.n && to.err == nil; n++ {
		b := last
		if n < last.n {
			var err error
			b, err = l.block(ctx, n)
			if damaged := (*DamagedError)(nil); errors.As(err, &damaged) || errors.Is(err, ErrNoBlock) {
				l.cfg.Logf("tree: %v; the export goes without it", err) // which verify finds
				continue
			}
			if err != nil {
				return err
			}
		}
		if err := l.exportBlock(ctx, b, to); err != nil {
			return err
		}
	}
	return to.End()
}

// reachable is the last entry up to seq that can be read: what stands behind it was removed.
func (l *Log) reachable(ctx context.Context, seq uint64) uint64 {
	l.mu.Lock()
	from := l.read.Seq
	l.mu.Unlock()
	last := from
	_ = l.cfg.Store.EntriesBetween(ctx, from+1, seq, func(e Entry) error {
		last = e.Seq
		return nil
	})
	return last
}

func (l *Log) exportBlock(ctx context.Context, b *block, to *LineWriter) error {
	from, till := uint64(0), uint64(0)
	for _, leaf := range b.leaves {
		if leaf.Kind == KindRecord {
			if from == 0 {
				from = leaf.Seq
			}
			till = leaf.Seq
		}
	}
	i := 0
	write := func(entry []byte) {
		to.Line(LeafLine{TypeLeaf, b.Size + int64(i), b.Leaves[i], entry})
		i++
	}
	if from > 0 {
		err := l.cfg.Store.EntriesBetween(ctx, from, till, func(e Entry) error {
			at, ok := b.find(e.Seq)
			if !ok || at < i {
				return to.err
			}
			for i < at {
				write(nil)
			}
			write(e.Text())
			return to.err
		})
		if err != nil {
			return err
		}
	}
	for i < len(b.Leaves) {
		write(nil)
	}
	to.Line(NoteLine{TypeCheckpoint, b.Note})
	return to.err
}
