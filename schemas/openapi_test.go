package schemas

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestOpenAPI(t *testing.T) {
	raw, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if doc["openapi"] != "3.1.0" {
		t.Errorf("openapi is %v", doc["openapi"])
	}
	for _, ref := range refs(t, raw) {
		if local, ok := strings.CutPrefix(ref, "#/"); ok {
			var at any = doc
			for _, step := range strings.Split(local, "/") {
				m, _ := at.(map[string]any)
				at = m[step]
			}
			if at == nil {
				t.Errorf("%s leads nowhere", ref)
			}
			continue
		}
		name := nameOf(ref)
		target, err := Raw(name)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		var head struct {
			ID string `json:"$id"`
		}
		if err := json.Unmarshal(target, &head); err != nil || head.ID != ref {
			t.Errorf("%s leads to %s (%v)", ref, head.ID, err)
		}
	}
}

// openPairing are the routes of pairing for who has no credential yet.
var openPairing = []string{"/v1/pair/redeem", "/v1/join", "/v1/pair/start", "/v1/pair/poll"}

func TestOperations(t *testing.T) {
	ops, err := Operations()
	if err != nil {
		t.Fatal(err)
	}
	want := []Operation{
		{ID: "submitHook", Method: "POST", Path: "/v1/hooks", Role: "submit", Unix: true, Answer: "HookOutput"},
		{ID: "submitHookWithContext", Method: "POST", Path: "/v1/hooks/context", Role: "submit", Unix: true, Answer: "HookOutput"},
		{ID: "listRequests", Method: "GET", Path: "/v1/requests", Role: "view", Answer: "[]PermissionRequest"},
		{ID: "decide", Method: "POST", Path: "/v1/requests/{id}/decision", Role: "approve", Body: "Decision", Answer: "DecisionResult"},
		{ID: "revokeToken", Method: "DELETE", Path: "/v1/tokens/{id}", Role: "admin"},
		{ID: "healthz", Method: "GET", Path: "/healthz", Unix: true},
	}
	for _, w := range want {
		if !slices.Contains(ops, w) {
			t.Errorf("no operation %+v in\n%+v", w, ops)
		}
	}
	ids := map[string]bool{}
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	for _, o := range ops {
		if o.ID == "" || ids[o.ID] {
			t.Errorf("%s %s: operationId %q is missing or used twice", o.Method, o.Path, o.ID)
		}
		ids[o.ID] = true
		if o.Role != "" && Validate("Role", []byte(`"`+o.Role+`"`)) != nil {
			t.Errorf("%s needs the role %q, which there is not", o.ID, o.Role)
		}
		for _, p := range parameter.FindAllString(o.Path, -1) {
			if p != "{id}" && p != "{name}" && p != "{code}" && p != "{pos}" && p != "{message}" && p != "{session}" {
				t.Errorf("%s: parameter %s", o.ID, p)
			}
		}
		for _, name := range []string{o.Body, strings.TrimPrefix(o.Answer, "[]")} {
			if name != "" && !slices.Contains(Names(), name) {
				t.Errorf("%s speaks of schema %s, which there is not", o.ID, name)
			}
		}
		// Nothing changes state on GET, and what decides or administers is never open.
		if o.Method != "GET" && o.Role == "" && !strings.HasPrefix(o.Path, "/v1/auth/") && !slices.Contains(openPairing, o.Path) {
			t.Errorf("%s is open to anybody", o.ID)
		}
		if o.Unix && !slices.Contains([]string{"submitHook", "submitHookWithContext", "refuseAnswer", "healthz"}, o.ID) {
			t.Errorf("%s is served on the unix socket", o.ID)
		}
	}
}
