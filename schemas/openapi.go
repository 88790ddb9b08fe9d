package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Operation is one method of one route, as openapi.json describes it.
type Operation struct {
	ID     string // operationId
	Method string // upper case
	Path   string // with {parameters}, as chi writes them too
	// Role is what the caller needs; empty for routes that anybody may call.
	Role string
	// Unix says that the route is also served on the unix socket, without a credential.
	Unix bool
	// Body is the name of the schema of the JSON body; empty when there is none or when it is
	// described in place.
	Body string
	// Answer is the name of the schema of the JSON of a 200 or 201, "[]Name" for a bare
	// array; empty when there is none.
	Answer string
}

// Operations returns what openapi.json describes, sorted by path and method.
func Operations() ([]Operation, error) {
	raw, err := OpenAPI()
	if err != nil {
		return nil, err
	}
	type media struct {
		Content map[string]struct {
			Schema struct {
				Ref   string `json:"$ref"`
				Items struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
			Unix        bool `json:"x-unix-socket"`
			RequestBody media
			Responses   map[string]media
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", openAPIFile, err)
	}
	var ops []Operation
	for path, methods := range doc.Paths {
		for method, o := range methods {
			op := Operation{ID: o.OperationID, Method: strings.ToUpper(method), Path: path, Unix: o.Unix}
			for _, s := range o.Security {
				if roles := s["bearer"]; len(roles) == 1 {
					op.Role = roles[0]
				}
			}
			op.Body = nameOf(o.RequestBody.Content["application/json"].Schema.Ref)
			for _, status := range []string{"200", "201"} {
				ok := o.Responses[status].Content["application/json"].Schema
				switch {
				case nameOf(ok.Ref) != "":
					op.Answer = nameOf(ok.Ref)
				case nameOf(ok.Items.Ref) != "":
					op.Answer = "[]" + nameOf(ok.Items.Ref)
				}
			}
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b Operation) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Method, b.Method)
	})
	return ops, nil
}

// Bundle returns the description of the HTTP interface with all schemas that it needs in it, each
// as a component: a document that generators and viewers can use by itself.
func Bundle() ([]byte, error) {
	raw, err := OpenAPI()
	if err != nil {
		return nil, err
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", openAPIFile, err)
	}
	b := bundle{added: map[string]any{}}
	b.refer(doc, "")
	for len(b.todo) > 0 && b.err == nil {
		name := b.todo[0]
		b.todo = b.todo[1:]
		b.add(name)
	}
	if b.err != nil {
		return nil, b.err
	}
	doc.(map[string]any)["components"].(map[string]any)["schemas"] = b.added
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	return out.Bytes(), nil
}

// bundle collects schemas.
type bundle struct {
	added map[string]any // by component
	todo  []string       // names of schemas that are referred to
	err   error          // the first
}

// component is what a schema is called among the components, where a slash may not be.
func component(name string) string { return strings.ReplaceAll(name, "/", ".") }

// add takes in a schema. It is no resource of its own any more, so its references are the
// document's.
func (b *bundle) add(name string) {
	raw, err := Raw(name)
	if err != nil {
		b.err = err
		return
	}
	v, err := decode(raw)
	if err != nil {
		b.err = fmt.Errorf("read schema %s: %w", name, err)
		return
	}
	schema := v.(map[string]any) // as the tests of this package hold
	delete(schema, "$schema")
	delete(schema, "$id")
	b.added[component(name)] = schema
	b.refer(schema, name)
}

// refer makes the references in v, which stands in the schema called within, lead to components.
func (b *bundle) refer(v any, within string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			b.refer(x, within)
		}
	case map[string]any:
		for key, x := range v {
			ref, ok := x.(string)
			if key != "$ref" || !ok {
				b.refer(x, within)
				continue
			}
			if name := nameOf(ref); name != "" {
				if _, done := b.added[component(name)]; !done {
					b.added[component(name)] = nil
					b.todo = append(b.todo, name)
				}
				v[key] = "#/components/schemas/" + component(name)
			} else if local, ok := strings.CutPrefix(ref, "#"); ok && within != "" {
				v[key] = "#/components/schemas/" + component(within) + local
			}
		}
	}
}

// nameOf is the schema that an $id names, or "".
func nameOf(id string) string {
	rest, ok := strings.CutPrefix(id, idPrefix)
	i := strings.LastIndex(rest, "/")
	if !ok || i < 0 {
		return ""
	}
	return rest[:i]
}
