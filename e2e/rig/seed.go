package rig

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

//go:embed seed.json
var seedText []byte

// seed is one of the six schemas by which programs speak to agents and to approvers: how it was given to us.
type seed struct {
	Definition, Example json.RawMessage
	schema              *jsonschema.Schema
}

var seeds = sync.OnceValue(func() map[string]*seed {
	var all map[string]*seed
	if err := json.Unmarshal(seedText, &all); err != nil {
		panic(err) // a bug in the file
	}
	for name, s := range all {
		c := jsonschema.NewCompiler()
		c.AssertFormat = true
		if err := c.AddResource(name, bytes.NewReader(s.Definition)); err != nil {
			panic(err)
		}
		s.schema = c.MustCompile(name)
	}
	return all
})

// SeedExample is the seed's example of one of its schemas.
func SeedExample(name string) json.RawMessage { return bytes.Clone(seeds()[name].Example) }

// SeedFields are the names of all fields of the seed's schemas, by schema, with dots.
func SeedFields() map[string][]string {
	fields := map[string][]string{}
	for name, s := range seeds() {
		var example map[string]any
		if err := json.Unmarshal(s.Example, &example); err != nil {
			panic(err)
		}
		var walk func(at string, members map[string]any)
		walk = func(at string, members map[string]any) {
			for k, v := range members {
				path := strings.TrimPrefix(at+"."+k, ".")
				if below, ok := v.(map[string]any); ok && len(below) > 0 {
					walk(path, below)
					continue
				}
				fields[name] = append(fields[name], path)
			}
		}
		walk("", example)
	}
	return fields
}

// OfSeed holds a document against a schema as the seed has it, and as it is published.
func OfSeed(t *testing.T, name string, doc []byte) {
	t.Helper()
	Valid(t, name, doc)
	var v any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Errorf("%v in %s", err, doc)
		return
	}
	if err := seeds()[name].schema.Validate(v); err != nil {
		t.Errorf("%s is not as the seed has it: %v in %s", name, err, doc)
	}
}
