// Package said keeps what a program prints, and no more of it than is wanted.
package said

// Output is a program's standard output or error. It has no method but Write by which it could be filled: a
// bytes.Buffer that stands in for it reads all there is by itself.
type Output struct {
	Most int // bytes
	// TooMuch is what the program is told that writes more, and it ends by that. Nil: it may go on, and the rest is
	// dropped.
	TooMuch error

	text []byte
	over bool
}

func (o *Output) Write(p []byte) (int, error) {
	n, room := len(p), o.Most-len(o.text)
	if n > room {
		o.over = true
		if o.TooMuch != nil {
			return 0, o.TooMuch
		}
		p = p[:room]
	}
	o.text = append(o.text, p...)
	return n, nil
}

// Over reports whether there was more.
func (o *Output) Over() bool { return o.over }

// Bytes are what was kept.
func (o *Output) Bytes() []byte { return o.text }

// String is what was kept.
func (o *Output) String() string { return string(o.text) }
