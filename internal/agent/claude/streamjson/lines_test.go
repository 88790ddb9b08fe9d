package streamjson

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// all returns the lines that stand in r from at on, and where the next one would begin.
func all(t *testing.T, r io.ReaderAt, at int64) (lines []string, next int64) {
	t.Helper()
	l := NewLines(at)
	for {
		n, err := l.Fill(r)
		if err != nil && !errors.Is(err, io.EOF) || n > MaxFill {
			t.Fatalf("%d bytes, %v", n, err)
		}
		for {
			line, ok := l.Next()
			if !ok {
				break
			}
			lines = append(lines, string(line))
		}
		if len(l.text) > MaxLine {
			t.Fatalf("%d bytes are kept", len(l.text))
		}
		if n == 0 {
			return lines, l.At()
		}
	}
}

// A line that is not there as a whole is left for later, and one that is too long is stepped over.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine+1)
	text := "one\n\n" + long + "\ntwo\n" + strings.Repeat("y", MaxLine) + "\n" + "to"
	want := []string{"one", "", "two", strings.Repeat("y", MaxLine)}
	lines, at := all(t, strings.NewReader(text), 0)
	if !reflect.DeepEqual(lines, want) || at != int64(len(text)-2) {
		t.Errorf("%d lines, %d", len(lines), at)
	}
	if lines, _ := all(t, strings.NewReader(text+"o\n"), at); !reflect.DeepEqual(lines, []string{"too"}) {
		t.Errorf("%.40q", lines)
	}
}

// zeros is a file that somebody made as long as a file can be, without writing any of it.
type zeros struct{ read int64 }

func (z *zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

// However much stands in the file, one call reads little of it and the next one goes on behind that.
func TestLinesOfAFileWithoutEnd(t *testing.T) {
	z, l := &zeros{}, NewLines(0)
	for i := range int64(2*MaxLine/MaxFill) + 3 {
		if n, err := l.Fill(z); n != MaxFill || err != nil || z.read > (i+1)*(MaxFill+maxBefore) || l.End() != (i+1)*MaxFill {
			t.Fatalf("call %d: %d, %v, %d bytes read, at %d", i, n, err, z.read, l.End())
		}
		if line, ok := l.Next(); ok || l.At() != 0 || len(l.text) > MaxLine {
			t.Fatalf("call %d: %d bytes, %t, %d kept, the next line at %d", i, len(line), ok, len(l.text), l.At())
		}
	}
}

// A file that was cut off does not go on, whatever stands in it by now, and also for who begins at the end of a line.
func TestLinesOfAFileThatWasCutOff(t *testing.T) {
	for _, c := range []struct {
		before, after string
		cut           bool
	}{
		{"one\ntw", "one\ntwo\n", false},
		{"one\ntw", "one\n", true},
		{"one\ntw", "", true},
		{"one\ntw", "six\nwas\n", true},
		{"one\n", "two\nthree\n", true},
		{strings.Repeat("x", 3*maxBefore), strings.Repeat("y", 4*maxBefore), true},
		{"", "one\n", false},
	} {
		l := NewLines(0)
		if _, err := l.Fill(strings.NewReader(c.before)); err != io.EOF {
			t.Fatal(err)
		}
		for range 2 {
			n, err := l.Fill(strings.NewReader(c.after))
			if errors.Is(err, ErrCut) != c.cut || l.Cut() != c.cut || c.cut && n > 0 {
				t.Errorf("%.20q, then %.20q: %d, %v", c.before, c.after, n, err)
			}
		}
	}
	for text, cut := range map[string]bool{"one\ntwo\n": false, "one\n": false, "on": true, "onetwo\n": true} {
		if _, err := NewLines(4).Fill(strings.NewReader(text)); errors.Is(err, ErrCut) != cut {
			t.Errorf("from 4 in %q: %v", text, err)
		}
	}
}

// Whatever an agent's output holds, following it comes to its end, each byte counts once, and a line is one.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\n\ntwo\nhalf"))
	f.Add(append(recorded(f, "out-assistant")[0], '\n'))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, at := all(t, bytes.NewReader(text), 0)
		again := strings.Join(lines, "\n")
		if len(lines) > 0 {
			again += "\n"
		}
		if again != string(text[:at]) || bytes.IndexByte(text[at:], '\n') >= 0 {
			t.Errorf("%q of %q", again, text)
		}
		for _, line := range lines {
			_, _ = Parse([]byte(line))
		}
	})
}
