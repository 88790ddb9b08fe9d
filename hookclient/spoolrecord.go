package hookclient

import (
	"bytes"
	"errors"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"assent/internal/hook"
)

// A spool file is a sequence of frames:
//
//	 0  4  magic
//	 4  1  'n' new, 'd' done; the only byte that is ever changed in place
//	 5  3  zero
//	 8  4  length of the body, little-endian
//	12  4  FNV-1a (32 bit) over bytes 8-11 and 16 to the end of the body
//	16  8  time of the event, Unix nanoseconds, little-endian
//	24     body: header lines as in a request, an empty line, the payload
//
// An append that was cut short (a crash, a full disk) leaves a frame that fails its check;
// readers go on at the next magic.
const (
	frameMagic = "\xf8AS1" // 0xf8 occurs in no UTF-8, so hardly in a payload
	frameHead  = 24
	frameNew   = 'n'
	frameDone  = 'd'
	maxFrame   = frameHead + MaxPayload + 256<<10

	targetHeader = "Assent-Target"
)

var errRecord = errors.New("spool record is not readable")

// SpoolRecord is an event that waited in a spool file.
type SpoolRecord struct {
	// Target is the broker it is for: a socket path or a URL.
	Target string
	// Event has Spooled set when it was read from a file.
	Event hook.Event
}

func (r *SpoolRecord) encode() []byte {
	b := make([]byte, frameHead, frameHead+2<<10+len(r.Event.Raw))
	b = append(b, targetHeader+": "...)
	b = append(b, hook.EscapeHeader(r.Target)...)
	b = append(b, "\r\n"...)
	e := r.Event
	e.Attempt, e.Spooled = 0, false // every record is one, and its first attempt
	b = appendEvent(b, e)
	b = append(b, "\r\n"...)
	b = append(b, r.Event.Raw...)
	copy(b, frameMagic)
	b[4] = frameNew
	putLE(b[8:12], uint64(len(b)-frameHead))
	putLE(b[16:24], uint64(r.Event.Time.UnixNano()))
	putLE(b[12:16], uint64(frameSum(b)))
	return b
}

// putLE and getLE stand in for encoding/binary, which brings package reflect along.
func putLE(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
}

func getLE(b []byte) (v uint64) {
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// frameSum tells a whole frame from a torn one. It is no CRC because package hash/crc32 builds
// a table at every start.
func frameSum(frame []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(frame[8:12]) // a hash has no errors
	_, _ = h.Write(frame[16:])
	return h.Sum32()
}

// decodeRecord reads a frame's body. Unknown header lines are passed by.
func decodeRecord(body []byte) (SpoolRecord, error) {
	lines := make([]header, 0, 24)
	for {
		line, rest, ok := bytes.Cut(body, []byte("\r\n"))
		if !ok {
			return SpoolRecord{}, errRecord
		}
		body = rest
		if len(line) == 0 {
			break
		}
		name, value, ok := strings.Cut(string(line), ": ")
		if !ok {
			return SpoolRecord{}, errRecord
		}
		lines = append(lines, header{name, value})
	}
	get := func(name string) string {
		for _, h := range slices.Backward(lines) {
			if h.name == name {
				return h.value
			}
		}
		return ""
	}
	r := SpoolRecord{Target: hook.UnescapeHeader(get(targetHeader)), Event: hook.EventFromHeaders(get)}
	e := &r.Event
	if e.ID == "" || r.Target == "" {
		return SpoolRecord{}, errRecord
	}
	e.Attempt, e.Spooled, e.Submitter, e.Raw = 1, true, "", body
	return r, nil
}

type header struct{ name, value string }

// frames reads the frames of a file up to end, which must not move into a frame that is being
// written.
type frames struct {
	in   io.ReaderAt
	off  int64 // of the next frame
	end  int64
	torn int // stretches passed by because no frame could be read there
}

// frame is one frame's head, and where it stands.
type frame struct {
	off, end int64
	done     bool
	sum      uint32
	time     int64
}

// next returns the next frame, whose body is not checked yet, and moves past it.
func (s *frames) next() (frame, bool) {
	for skipping := false; s.off+frameHead <= s.end; {
		var h [frameHead]byte
		if _, err := s.in.ReadAt(h[:], s.off); err != nil {
			break
		}
		length := int64(getLE(h[8:12]))
		f := frame{off: s.off, end: s.off + frameHead + length, done: h[4] == frameDone,
			sum: uint32(getLE(h[12:16])), time: int64(getLE(h[16:24]))}
		if string(h[:4]) == frameMagic && (h[4] == frameNew || f.done) && f.end <= s.end && f.end-f.off <= maxFrame {
			s.off = f.end
			return f, true
		}
		if !skipping {
			s.torn++
			skipping = true
		}
		s.off = s.find(s.off + 1)
	}
	if s.off < s.end {
		s.torn++
		s.off = s.end
	}
	return frame{}, false
}

// body reads and checks a frame's body. If it is not what was written, the next frame is
// looked for inside it: its length may be the lie.
func (s *frames) body(f frame) ([]byte, bool) {
	b := make([]byte, f.end-f.off)
	if _, err := s.in.ReadAt(b, f.off); err != nil || frameSum(b) != f.sum {
		s.torn++
		s.off = s.find(f.off + 1)
		return nil, false
	}
	return b[frameHead:], true
}

// find returns where the magic stands next, at or after off, or the end.
func (s *frames) find(off int64) int64 {
	buf := make([]byte, 64<<10)
	for off < s.end {
		n, _ := s.in.ReadAt(buf[:min(int64(len(buf)), s.end-off)], off)
		if i := bytes.Index(buf[:n], []byte(frameMagic)); i >= 0 {
			return off + int64(i)
		}
		if n < len(buf) {
			break
		}
		off += int64(n - len(frameMagic) + 1)
	}
	return s.end
}
