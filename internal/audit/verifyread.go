package audit

import (
	"io"
	"runtime"

	"golang.org/x/mod/sumdb/tlog"

	"assent/internal/hook"
	"assent/internal/store/tree"
)

// line is a line of an export, and all that can be said of it without the others.
type line struct {
	parsed any // a pointer to one of tree's types of lines; nil of one that cannot be read
	err    error

	// Of a leaf, with a proof or without.
	n       int64
	leaf    tree.Leaf
	leafErr error
	hash    tlog.Hash
	entry   entryState
	rec     hook.Record // empty where the entry is not there, is another one, or cannot be read
	signed  Signature
}

// entryState says what stands beside a leaf.
type entryState int

const (
	entryMissing entryState = iota
	entryOther              // not what the leaf is about
	entrySame
)

// readLine looks at a line by itself. It is what takes the time, and is done side by side.
func readLine(text []byte, decode tree.Decode) (l line) {
	if l.parsed, l.err = tree.ParseLine(text); l.err != nil {
		return l
	}
	leaf, entry := "", []byte(nil)
	switch parsed := l.parsed.(type) {
	case *tree.LeafLine:
		l.n, leaf, entry = parsed.N, parsed.Leaf, parsed.Entry
	case *tree.ProofLine:
		l.n, leaf, entry = parsed.N, parsed.Leaf, parsed.Entry
	default:
		return l
	}
	l.hash = tlog.RecordHash([]byte(leaf))
	if l.leaf, l.leafErr = tree.ParseLeaf(leaf); l.leafErr != nil || entry == nil {
		return l
	}
	l.entry = entryOther
	if l.leaf.Kind != tree.KindRecord {
		return l
	}
	e, err := tree.ParseEntry(entry)
	if err != nil {
		return l
	}
	is, rec, err := tree.ReadEntry(e, decode)
	if is.Text() != leaf {
		return l
	}
	l.entry = entrySame
	if err == nil { // an entry that cannot be read says nothing
		l.rec = rec
		l.signed = verifyRecord(&l.rec)
	}
	return l
}

// batch is some lines that follow on each other.
type batch struct {
	texts [][]byte
	lines []line        // of the texts; they are there when done is closed
	done  chan struct{} // closed when all lines were looked at
	read  int64         // how many lines there were up to here
	end   error         // why it is the last one: io.EOF, tree.ErrSum, tree.ErrCut or that of the reader; else nil
}

// A batch ends behind so many lines or bytes. There are few batches at a time: the memory that reading takes does not
// grow with the lines.
const (
	batchLines = 256
	batchBytes = 1 << 20
)

// readBatches returns the batches of what r has, in order. They have to be received up to the last one.
func readBatches(r io.Reader, decode tree.Decode) <-chan *batch {
	workers := runtime.GOMAXPROCS(0)
	ordered, work := make(chan *batch, workers), make(chan *batch)
	for range workers {
		go func() {
			for b := range work {
				for _, text := range b.texts {
					b.lines = append(b.lines, readLine(text, decode))
				}
				b.texts = nil
				close(b.done)
			}
		}()
	}
	go func() {
		defer close(ordered)
		defer close(work)
		for in := tree.NewLineReader(r); ; {
			b := readBatch(in)
			ordered <- b
			work <- b
			if b.end != nil {
				return
			}
		}
	}()
	return ordered
}

func readBatch(in *tree.LineReader) *batch {
	b := &batch{done: make(chan struct{})}
	for size := 0; b.end == nil && size < batchBytes && len(b.texts) < batchLines; {
		text, err := in.Text()
		if err != nil {
			b.end = err
		} else {
			b.texts, size = append(b.texts, text), size+len(text)
		}
	}
	b.read = in.Lines()
	return b
}
