package audit

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// A run of requests that were settled is written to a temporary file when it has so many, or ids of so many bytes: the
// memory that verifying takes does not grow with the requests.
const (
	runRequests = 8192
	runBytes    = 1 << 20
)

// settlement is a request that was settled, or that waits at the end.
type settlement struct {
	ID      string
	Asked   place // of its asking; a zero Line where that is not here
	Settled place // a zero Line where it waits still
	Said    bool  // something is wrong with it that was found already
}

// place is where a step stands.
type place struct {
	Line, Leaf int64
	Seq        uint64
}

// at is the line behind which no other step of the request may ask or settle it.
func (s *settlement) at() int64 { return max(s.Asked.Line, s.Settled.Line) }

func compareSettlements(a, b settlement) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.at(), b.at()))
}

// once finds requests that were settled, and asked or settled again later: an old signature would fit them again. Which ids
// come again is known only when all are sorted, so it sorts runs of them, and merges these at the end.
type once struct {
	run   []settlement
	bytes int
	file  *os.File // of the runs, without a name; nil as long as there was one only
	ends  []int64  // of each run in it
	size  int64
}

func (o *once) add(s settlement) error {
	o.run = append(o.run, s)
	o.bytes += len(s.ID)
	if len(o.run) < runRequests && o.bytes < runBytes {
		return nil
	}
	return o.spill()
}

// spill writes the run to the file.
func (o *once) spill() error {
	if o.file == nil {
		f, err := os.CreateTemp("", "assent-verify-*")
		if err != nil {
			return errSpill(err)
		}
		o.file = f
		if err := os.Remove(f.Name()); err != nil { // whoever ends this process leaves nothing
			return errSpill(err)
		}
	}
	slices.SortFunc(o.run, compareSettlements)
	w := bufio.NewWriter(writeCounter{o.file, &o.size})
	enc := gob.NewEncoder(w)
	for i := range o.run {
		if err := enc.Encode(&o.run[i]); err != nil {
			return errSpill(err)
		}
	}
	if err := w.Flush(); err != nil {
		return errSpill(err)
	}
	o.ends = append(o.ends, o.size)
	clear(o.run)
	o.run, o.bytes = o.run[:0], 0
	return nil
}

func errSpill(err error) error {
	return fmt.Errorf("keep the requests that were seen in a temporary file: %w; name a directory that has room with TMPDIR", err)
}

// again calls found with each request that had been settled before, and closes the file.
func (o *once) again(found func(s *settlement)) (err error) {
	defer func() { err = errors.Join(err, o.close()) }()
	slices.SortFunc(o.run, compareSettlements)
	rest := o.run
	runs := runs{{next: func(s *settlement) error {
		if len(rest) == 0 {
			return io.EOF
		}
		*s, rest = rest[0], rest[1:]
		return nil
	}}}
	begin := int64(0)
	for _, end := range o.ends {
		dec := gob.NewDecoder(bufio.NewReader(io.NewSectionReader(o.file, begin, end-begin)))
		runs = append(runs, &sortedRun{next: func(s *settlement) error {
			*s = settlement{} // gob leaves out what is zero
			return dec.Decode(s)
		}})
		begin = end
	}
	return runs.merge(found)
}

func (o *once) close() error {
	if o.file == nil {
		return nil
	}
	defer func() { o.file = nil }()
	return o.file.Close()
}

// sortedRun is a run that is read, with the first of what is left.
type sortedRun struct {
	head settlement
	next func(*settlement) error // io.EOF behind the last
}

// runs are a heap by their heads.
type runs []*sortedRun

func (r runs) Len() int           { return len(r) }
func (r runs) Less(i, j int) bool { return compareSettlements(r[i].head, r[j].head) < 0 }
func (r runs) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *runs) Push(x any)        { *r = append(*r, x.(*sortedRun)) }
func (r *runs) Pop() any          { last := (*r)[len(*r)-1]; *r = (*r)[:len(*r)-1]; return last }

// merge calls found with each but the first of those that have one id.
func (r *runs) merge(found func(s *settlement)) error {
	begun := (*r)[:0]
	for _, run := range *r {
		switch err := run.next(&run.head); {
		case err == nil:
			begun = append(begun, run)
		case !errors.Is(err, io.EOF):
			return errSpill(err)
		}
	}
	*r = begun
	heap.Init(r)
	for last := (*string)(nil); r.Len() > 0; {
		run := (*r)[0]
		if last != nil && *last == run.head.ID {
			found(&run.head)
		}
		id := run.head.ID
		last = &id
		switch err := run.next(&run.head); {
		case err == nil:
			heap.Fix(r, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(r)
		default:
			return errSpill(err)
		}
	}
	return nil
}

type writeCounter struct {
	w    io.Writer
	size *int64
}

func (c writeCounter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.size += int64(n)
	return n, err
}
