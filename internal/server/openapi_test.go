package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assent/schemas"
)

// What is served is made from the schemas as they are, and stands by itself.
func TestOpenAPIIsServed(t *testing.T) {
	want, err := schemas.Bundle()
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, g *rig) {
		r := g.call(call{path: "/openapi.json"})
		if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" || r.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%d %v", r.status, r.header)
		}
		if r.body != string(want) {
			t.Fatal("what is served is not made from schemas/")
		}
		again := g.call(call{path: "/openapi.json", header: map[string]string{"If-None-Match": r.header.Get("ETag")}})
		if again.status != http.StatusNotModified {
			t.Errorf("again: %d", again.status)
		}
		doc := decode[map[string]any](t, r.body)
		refs := 0
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, x := range v {
					walk(x)
				}
			case map[string]any:
				for key, x := range v {
					if ref, ok := x.(string); ok && key == "$ref" {
						refs++
						if lookUp(doc, ref) == nil {
							t.Errorf("%s leads nowhere", ref)
						}
					}
					walk(x)
				}
			}
		}
		walk(doc)
		if refs < 100 {
			t.Errorf("%d references", refs)
		}
	})
}

// lookUp follows a reference within doc; nil if it leads nowhere.
func lookUp(doc map[string]any, ref string) any {
	local, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var at any = doc
	for step := range strings.SplitSeq(local, "/") {
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// Every route says the same of who may call it in its description and in the table that the
// checks are tested with, and is called in these tests.
func TestOpenAPISaysWhoMayCall(t *testing.T) {
	ops, err := schemas.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range ops {
		if o.Path == "/v1/ws" && o.Role == "" {
			continue // it takes a ticket, too, and checks the role itself
		}
		i := slices.IndexFunc(routes, func(rt route) bool { return rt.method == o.Method && sameRoute(o.Path, rt.path) })
		if i < 0 {
			t.Errorf("%s %s is not in the table of routes", o.Method, o.Path)
		} else if o.Role != string(routes[i].need) {
			t.Errorf("%s %s is described as for %q, and the table says %q", o.Method, o.Path, o.Role, routes[i].need)
		}
	}
}

// sameRoute reports whether path is the route described, which has {parameters}.
func sameRoute(described, path string) bool {
	a, b := strings.Split(described, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}

// What a described route answers is described as well: the statuses in the table of routes are
// named, or are problems.
func TestOpenAPIDescribesTheAnswers(t *testing.T) {
	raw, err := schemas.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	paths := decode[struct {
		Paths map[string]map[string]struct {
			Responses map[string]json.RawMessage
		}
	}](t, string(raw)).Paths
	for path, methods := range paths {
		for _, rt := range routes {
			o, ok := methods[strings.ToLower(rt.method)]
			if !ok || !sameRoute(path, rt.path) {
				continue
			}
			for _, status := range rt.passed {
				if status < 300 && o.Responses[strconv.Itoa(status)] == nil {
					t.Errorf("%s %s answers %d, which is not described", rt.method, path, status)
				}
			}
			if o.Responses["default"] == nil {
				t.Errorf("%s %s: errors are not described", rt.method, path)
			}
		}
	}
}
