// Package schemas holds the JSON Schemas (2020-12) of everything that goes into and comes out
// of assent: the hook events of an agent and its tools' inputs, the API's objects, the records,
// the WebSocket messages and the files that other programs read. One example of each lies in
// examples/, and openapi.json describes the HTTP routes in these terms.
//
// A schema's name is its path without .json: "PermissionRequest", "hooks/PreToolUse",
// "ws/Message". Its $id is https://assent.dev/schemas/<name>/<version>; that address is only a
// name and is never fetched.
//
// What an agent sends is described openly (unknown members are fine, only what is always there
// is required), and a mismatch is to be counted, never refused. What assent writes itself is
// described closely, so that a test notices a member nobody documented. A client should still
// ignore members it does not know: a later version may add some.
//
// # Concurrency
//
// All functions may be called from any goroutine. A schema is compiled when it is first needed
// and kept; there is no other state.
package schemas

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

//go:embed *.json feed/*.json hooks/*.json tools/*.json ws/*.json examples
var files embed.FS

// openAPIFile is the one .json file at the top that is no schema.
const openAPIFile = "openapi.json"

// idPrefix starts every $id.
const idPrefix = "https://assent.dev/schemas/"

// ErrUnknown is returned for a name that is not in Names.
var ErrUnknown = errors.New("no such schema")

// Error says where and why a document is not what its schema describes.
type Error struct {
	Name    string // of the schema
	Pointer string // JSON pointer into the document; empty for the document itself
	Problem string
}

// Error reads "PermissionRequest: /toolName: expected string, but got number".
func (e *Error) Error() string {
	at := e.Pointer
	if at == "" {
		at = "(document)"
	}
	return e.Name + ": " + at + ": " + e.Problem
}

// Validate checks one JSON document against the schema of that name. The error is an *Error
// when the document is at fault (it is not JSON, or not as described) and matches ErrUnknown
// when there is no such schema.
//
// Like all of encoding/json it cannot see repeated keys: it is no guard against hostile input.
func Validate(name string, doc []byte) error {
	schema, err := compiled(name)
	if err != nil {
		return err
	}
	v, err := decode(doc)
	if err != nil {
		return &Error{Name: name, Problem: err.Error()}
	}
	err = schema.Validate(v)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		leaf := deepest(invalid)
		return &Error{Name: name, Pointer: pointer(leaf), Problem: leaf.Message}
	default:
		return fmt.Errorf("validate against %s: %w", name, err)
	}
}

// Names returns the names of all schemas, sorted.
func Names() []string {
	var names []string
	for _, pattern := range []string{"*.json", "*/*.json"} {
		found, err := fs.Glob(files, pattern)
		if err != nil { // the patterns are constants
			panic(err)
		}
		for _, f := range found {
			if f != openAPIFile && !strings.HasPrefix(f, "examples/") {
				names = append(names, strings.TrimSuffix(f, ".json"))
			}
		}
	}
	slices.Sort(names)
	return names
}

// Raw returns the schema of that name as it is written.
func Raw(name string) ([]byte, error) {
	if !known(name) {
		return nil, fmt.Errorf("schema %q: %w", name, ErrUnknown)
	}
	return files.ReadFile(name + ".json")
}

// Example returns a document that is valid by the schema of that name.
func Example(name string) ([]byte, error) {
	if !known(name) {
		return nil, fmt.Errorf("example of schema %q: %w", name, ErrUnknown)
	}
	return files.ReadFile("examples/" + name + ".json")
}

// OpenAPI returns the description of the HTTP interface (OpenAPI 3.1).
func OpenAPI() ([]byte, error) { return files.ReadFile(openAPIFile) }

// known keeps names from reaching anything but a schema file.
func known(name string) bool {
	if name+".json" == openAPIFile || strings.HasPrefix(name, "examples") || path.Clean(name) != name {
		return false
	}
	_, err := fs.Stat(files, name+".json")
	return err == nil
}

// cache maps a name to the func() (*jsonschema.Schema, error) that compiles it once.
var cache sync.Map

func compiled(name string) (*jsonschema.Schema, error) {
	once, ok := cache.Load(name)
	if !ok {
		// Foreign names must not fill the cache: an event type may be anything.
		if !known(name) {
			return nil, fmt.Errorf("schema %q: %w", name, ErrUnknown)
		}
		once, _ = cache.LoadOrStore(name, sync.OnceValues(func() (*jsonschema.Schema, error) {
			return compile(name)
		}))
	}
	return once.(func() (*jsonschema.Schema, error))()
}

func compile(name string) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.LoadURL = func(id string) (io.ReadCloser, error) {
		ref, version := path.Split(strings.TrimPrefix(id, idPrefix))
		if !strings.HasPrefix(id, idPrefix) || version == "" {
			return nil, fmt.Errorf("%s is none of assent's schemas, and nothing is fetched", id)
		}
		b, err := Raw(strings.TrimSuffix(ref, "/"))
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	raw, err := Raw(name)
	if err != nil {
		return nil, err
	}
	var head struct {
		ID string `json:"$id"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("read schema %s: %w", name, err)
	}
	s, err := c.Compile(head.ID)
	if err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", name, err)
	}
	return s, nil
}

// decode reads exactly one JSON value and keeps numbers as text.
func decode(doc []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("not JSON: there is more after the first value")
	}
	return v, nil
}

// pointer undoes the percent-encoding that the library puts around a JSON pointer.
func pointer(e *jsonschema.ValidationError) string {
	if p, err := url.PathUnescape(e.InstanceLocation); err == nil {
		return p
	}
	return e.InstanceLocation
}

// deepest returns the leaf of e that says most: the one that speaks of the innermost part of
// the document. Alternatives (oneOf) whose distinguishing constant does not fit were not
// meant, so what they find fault with is left out where another alternative was.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return e
	}
	var best, meant *jsonschema.ValidationError
	for _, c := range e.Causes {
		d := deepest(c)
		if best == nil || depth(d) > depth(best) {
			best = d
		}
		if !wrongConstant(c, depth(e)+1) && (meant == nil || depth(d) > depth(meant)) {
			meant = d
		}
	}
	if meant != nil && strings.HasSuffix(e.KeywordLocation, "/oneOf") {
		return meant
	}
	return best
}

func depth(e *jsonschema.ValidationError) int { return strings.Count(e.InstanceLocation, "/") }

// wrongConstant reports whether e complains of a constant at that depth.
func wrongConstant(e *jsonschema.ValidationError, at int) bool {
	if len(e.Causes) == 0 {
		return strings.HasSuffix(e.KeywordLocation, "/const") && depth(e) == at
	}
	return slices.ContainsFunc(e.Causes, func(c *jsonschema.ValidationError) bool { return wrongConstant(c, at) })
}
