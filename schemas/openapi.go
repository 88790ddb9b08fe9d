package schemas

import (
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

// nameOf is the schema that an $id names, or "".
func nameOf(id string) string {
	rest, ok := strings.CutPrefix(id, idPrefix)
	i := strings.LastIndex(rest, "/")
	if !ok || i < 0 {
		return ""
	}
	return rest[:i]
}
