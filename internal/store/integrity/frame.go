package integrity

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// The mark is fileMagic and frames. A frame is the length of its text (2 bytes), the text, and the
// first checkSize bytes of the running hash up to it: SHA-256 of the running hash before and the
// text. The running hash is over all leaf hashes, in the order in which they were entered.
//
// The file begins with a snapshot, which was put in place whole: frameBase to frameEnd. The frames
// behind it are counted, on top of the count that the snapshot begins with.
const (
	fileMagic = "assent integrity 1\n"
	checkSize = 16

	frameBase    = 'B' // count of all frames before
	frameSource  = 'S' // source, solid, last, horizon: how a stream stands
	frameEnd     = 'E' // count of the entries in the snapshot
	frameLeaf    = 'L' // source, seq, time, leaf, subject: a message was acknowledged
	frameRemoved = 'R' // source, seq: a message is to be removed
	frameHorizon = 'H' // source, time: what is older than time may be gone
	frameFirst   = 'F' // source, seq: what stands before seq is gone, for its age
	frameOpened  = 'O' // the engine may write
	frameClosed  = 'C' // the engine has stopped as it should
)

type frame struct {
	kind   byte
	source int
	a, b   uint64    // seq, or a count; solid and last of a source
	time   time.Time // to the millisecond
	leaf   Hash
	text   string // subject
}

func (f frame) append(to []byte) []byte {
	to = append(to, f.kind)
	switch f.kind {
	case frameOpened, frameClosed:
		return to
	case frameBase, frameEnd:
		return binary.AppendUvarint(to, f.a)
	}
	to = append(to, byte(f.source))
	ms := uint64(0)
	if !f.time.IsZero() {
		ms = uint64(max(0, f.time.UnixMilli()))
	}
	switch f.kind {
	case frameSource:
		to = binary.AppendUvarint(to, f.a)
		to = binary.AppendUvarint(to, f.b)
		to = binary.AppendUvarint(to, ms)
	case frameLeaf:
		to = binary.AppendUvarint(to, f.a)
		to = binary.AppendUvarint(to, ms)
		to = append(to, f.leaf[:]...)
		to = append(to, f.text...)
	case frameRemoved, frameFirst:
		to = binary.AppendUvarint(to, f.a)
	case frameHorizon:
		to = binary.AppendUvarint(to, ms)
	}
	return to
}

var errFrame = errors.New("unreadable")

func parseFrame(text []byte) (f frame, err error) {
	number := func() uint64 {
		v, n := binary.Uvarint(text)
		if n <= 0 {
			err = errFrame
			return 0
		}
		text = text[n:]
		return v
	}
	clock := func() time.Time {
		if ms := number(); ms > 0 && ms < 1<<62 {
			return time.UnixMilli(int64(ms))
		}
		return time.Time{}
	}
	if len(text) == 0 {
		return f, errFrame
	}
	f.kind, text = text[0], text[1:]
	switch f.kind {
	case frameOpened, frameClosed:
		return f, err
	case frameBase, frameEnd:
		f.a = number()
		return f, err
	}
	if len(text) == 0 {
		return f, errFrame
	}
	f.source, text = int(text[0]), text[1:]
	switch f.kind {
	case frameSource:
		f.a, f.b, f.time = number(), number(), clock()
	case frameLeaf:
		f.a, f.time = number(), clock()
		if len(text) < len(f.leaf) {
			return f, errFrame
		}
		text = text[copy(f.leaf[:], text):]
		f.text = string(text)
	case frameRemoved, frameFirst:
		f.a = number()
	case frameHorizon:
		f.time = clock()
	default:
		return f, errFrame
	}
	return f, err
}

// seal appends a frame to to, and moves the running hash on.
func seal(to []byte, chain *Hash, f frame) []byte {
	text := f.append(nil)
	h := sha256.New()
	h.Write(chain[:])
	h.Write(text)
	*chain = Hash(h.Sum(nil))
	to = binary.BigEndian.AppendUint16(to, uint16(len(text)))
	to = append(to, text...)
	return append(to, chain[:checkSize]...)
}

// unseal reads the frame that data begins with.
func unseal(data []byte, chain *Hash) (f frame, size int, err error) {
	if len(data) < 2 {
		return f, 0, errFrame
	}
	n := int(binary.BigEndian.Uint16(data))
	size = 2 + n + checkSize
	if n == 0 || len(data) < size {
		return f, 0, errFrame
	}
	text := data[2 : 2+n]
	h := sha256.New()
	h.Write(chain[:])
	h.Write(text)
	next := Hash(h.Sum(nil))
	if string(next[:checkSize]) != string(data[2+n:size]) {
		return f, 0, errFrame
	}
	if f, err = parseFrame(text); err != nil {
		return f, 0, err
	}
	*chain = next
	return f, size, nil
}
