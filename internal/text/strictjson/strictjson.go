// Package strictjson takes a JSON object apart so that no other reader can take it for something
// else without being noticed.
//
// Readers differ: one takes the last of two equal keys, another the first; one ignores the case of
// keys, another does not. Whoever shows, allows or forwards an object must not read it in one way
// while the program that acts on it reads it in another. So this package gives every member, with
// its exact key, in order, repeated ones included; Fold says which keys some reader may take for
// the same; and callers read exact keys only and refuse, or leave to a person, what is ambiguous.
//
// Values are parts of the text that was given, never copies: they are valid as long as nobody
// changes it, and keep it in memory. A text nests at most MaxDepth deep. Memory is bounded by the
// text, whose length the caller has to bound.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays may stand in each other. Beyond it a text is no JSON.
const MaxDepth = 10_000

var (
	// ErrNotObject is the error of a text that begins as something else, or is empty.
	ErrNotObject = errors.New("not a JSON object")
	// ErrNotArray is the same of an array.
	ErrNotArray = errors.New("not a JSON array")
	// ErrMore is the error of a text with something behind its first value.
	ErrMore = errors.New("not JSON: text after the first value")
)

// Member is one member of an object.
type Member struct {
	// Key is the member's name, with its escapes resolved. What is no Unicode text in it, such as
	// half of a surrogate pair, is U+FFFD.
	Key string
	// Name is the name as it stands in the text, with quotes and escapes.
	Name []byte
	// Value is the value as it stands in the text, without white space around.
	Value []byte
	At    int // where Value begins in the text
}

// Object returns the members of text, which has to be one JSON object and nothing else. With an
// error it returns those before the fault. Invalid UTF-8 within strings is no fault.
func Object(text []byte) ([]Member, error) {
	r := open(text)
	if r.PeekKind() != '{' {
		return nil, ErrNotObject
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	var all []Member
	for {
		switch r.PeekKind() {
		case '}':
			return all, r.leave()
		case '"':
		default:
			if _, err := r.ReadToken(); err != nil { // which says what is wrong
				return all, fault(err)
			}
			return all, ErrNotObject
		}
		name, err := r.value()
		if err != nil {
			return all, fault(err)
		}
		value, err := r.value()
		if err != nil {
			return all, fmt.Errorf("at member %.64q: %w", Text(name), fault(err))
		}
		all = append(all, Member{Text(name), name, value, int(r.InputOffset()) - len(value)})
	}
}

// Array returns the elements of text, which has to be one JSON array and nothing else.
func Array(text []byte) ([][]byte, error) {
	r := open(text)
	if r.PeekKind() != '[' {
		return nil, ErrNotArray
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	all := [][]byte{}
	for r.PeekKind() != ']' {
		value, err := r.value()
		if err != nil {
			return nil, fault(err)
		}
		all = append(all, value)
	}
	return all, r.leave()
}

// Text resolves the escapes of a JSON string, of which it is known that it is one. What is no
// Unicode text in it is U+FFFD.
func Text(literal []byte) string {
	inner := literal[1 : len(literal)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	s, _ := jsontext.AppendUnquote(make([]byte, 0, len(inner)), literal) // the error says that U+FFFD is in it
	return string(s)
}

// reader reads a text whose parts it can give away.
type reader struct {
	jsontext.Decoder
	all []byte
}

func open(text []byte) *reader {
	r := &reader{all: text}
	// Of a bytes.Buffer the decoder uses the bytes themselves, and does not change them.
	r.Reset(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return r
}

// value reads the next value, or name.
func (r *reader) value() ([]byte, error) {
	v, err := r.ReadValue()
	end := int(r.InputOffset())
	return r.all[end-len(v) : end : end], err
}

// enter reads the bracket at which the text begins.
func (r *reader) enter() error {
	_, err := r.ReadToken()
	return fault(err)
}

// leave reads the last bracket, and what should not be behind it.
func (r *reader) leave() error {
	if _, err := r.ReadToken(); err != nil {
		return fault(err)
	}
	if rest := bytes.TrimLeft(r.all[r.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return ErrMore
	}
	return nil
}

// fault says where the text is no JSON, without the names that lead there.
func fault(err error) error {
	var s *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &s):
		return fmt.Errorf("not JSON: %w at byte %d", s.Err, s.ByteOffset)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("not JSON: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("not JSON: %w", err)
}
