package said

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestOutput(t *testing.T) {
	much := errors.New("too much")
	for _, c := range []struct {
		name    string
		most    int
		tooMuch error
		writes  []string
		want    string
		over    bool
		err     error
	}{
		{"all of it", 6, much, []string{"abc", "def"}, "abcdef", false, nil},
		{"one too many", 5, much, []string{"abc", "def"}, "abc", true, much},
		{"the beginning", 5, nil, []string{"abc", "def", "ghi"}, "abcde", true, nil},
		{"nothing", 0, nil, []string{"a"}, "", true, nil},
		{"nothing, and nothing wanted", 0, much, nil, "", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Output{Most: c.most, TooMuch: c.tooMuch}
			var err error
			for _, text := range c.writes {
				var n int
				if n, err = o.Write([]byte(text)); err == nil && n != len(text) {
					t.Errorf("%d bytes written", n)
				}
			}
			if o.String() != c.want || string(o.Bytes()) != c.want || o.Over() != c.over || !errors.Is(err, c.err) {
				t.Errorf("kept %q, over %v, %v", o.String(), o.Over(), err)
			}
		})
	}
}

// Who copies into it is not handed a way around its bound.
func TestNoWayAround(t *testing.T) {
	var o io.Writer = &Output{}
	if _, ok := o.(io.ReaderFrom); ok {
		t.Error("it reads by itself")
	}
}

// A program that says without end ends where it is told so.
func TestProgramWithoutEnd(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "yes")
	cmd.WaitDelay = time.Minute
	o := Output{Most: 1 << 10, TooMuch: errors.New("too much")}
	cmd.Stdout = &o
	if err := cmd.Run(); errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no yes")
	} else if err == nil || !o.Over() || strings.Trim(o.String(), "y\n") != "" {
		t.Errorf("%v, %q", err, o.String())
	}
}
