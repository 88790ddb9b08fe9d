package streamjson

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// MaxLine is the longest line that is read, in bytes. A longer one is stepped over.
const MaxLine = 16 << 20

// MaxFill is the most that one call of Fill reads, in bytes.
const MaxFill = 256 << 10

// ErrCut says that what was read of a file does not stand there any more: it was cut off, perhaps to be written anew. What
// follows in it is not what followed.
var ErrCut = errors.New("the file was cut off")

// maxBefore is how much of what was read has to stand there still when it is read on, in bytes.
const maxBefore = 64

// Lines takes a file apart that grows, line by line. Whoever writes the file decides how much stands in it: so one call
// does little, and memory is bounded by MaxLine and MaxFill. It is for one goroutine at a time.
type Lines struct {
	at      int64  // where the next line begins
	dropped int64  // bytes of that line that were read and not kept: it is longer than MaxLine
	text    []byte // what was read and follows
	seen    int    // bytes of text that hold no line feed
	before  []byte // the last that was read
	cut     bool
}

// NewLines begins at an offset of the file, in bytes, at which a line begins.
func NewLines(at int64) *Lines {
	l := &Lines{at: at}
	if at > 0 {
		l.before = []byte{'\n'}
	}
	return l
}

// Cut reports whether a call of Fill returned ErrCut.
func (l *Lines) Cut() bool { return l.cut }

// At is where the next line begins, in bytes.
func (l *Lines) At() int64 { return l.at }

// End is up to where the file was read, in bytes.
func (l *Lines) End() int64 { return l.at + l.dropped + int64(len(l.text)) }

// Fill reads on, MaxFill bytes at most, and says how many it were. It is io.EOF where the file ends for now, also with
// some bytes before, and ErrCut from when it was cut off.
func (l *Lines) Fill(r io.ReaderAt) (n int, err error) {
	if l.cut {
		return 0, ErrCut
	}
	known, old := len(l.text), len(l.before)
	l.text = slices.Grow(l.text, old+MaxFill)
	n, err = r.ReadAt(l.text[known:known+old+MaxFill], l.End()-int64(old)) // at once, so that nothing comes in between
	if n < old && err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	read := l.text[known : known+n]
	if !bytes.HasPrefix(read, l.before) {
		l.cut = true
		return 0, ErrCut
	}
	l.before = bytes.Clone(read[max(0, n-maxBefore):])
	n = copy(l.text[known:known+n], read[old:])
	l.text = l.text[:known+n]
	return n, err
}

// Next returns the next line of what was read, without its line feed; false where no whole one is there: the agent may be
// about to write the rest. The line is valid until the next call of Fill.
func (l *Lines) Next() (line []byte, ok bool) {
	for {
		i := bytes.IndexByte(l.text[l.seen:], '\n')
		if i < 0 {
			l.seen = len(l.text)
			if l.dropped > 0 || l.seen > MaxLine {
				l.dropped += int64(l.seen)
				l.text, l.seen = l.text[:0], 0
			}
			return nil, false
		}
		line = l.text[:l.seen+i]
		long := l.dropped > 0 || len(line) > MaxLine
		l.at += l.dropped + int64(len(line)) + 1
		l.text, l.seen, l.dropped = l.text[len(line)+1:], 0, 0
		if !long {
			return line, true
		}
	}
}
