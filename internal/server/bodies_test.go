package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"assent/internal/auth"
	"assent/schemas"
)

// What every body must have, for a call that gets past its form: routes have the rest.
var bodies = map[string][]string{
	"POST /v1/requests/{id}/decision":      {"behavior", "inputSha256"},
	"POST /v1/requests/{id}/handback":      {"inputSha256"},
	"POST /v1/shown":                       {"requests"},
	"POST /v1/sessions/{id}/messages":      {"id", "prompt"},
	"POST /v1/agents/{name}/messages":      {"expiresAt", "id", "kind", "sessionId"},
	"POST /v1/rules":                       {"inputSha256", "proposal", "requestId"},
	"POST /v1/grants":                      {"inputSha256", "proposal", "requestId"},
	"PUT /v1/published-rules":              {"after", "text"},
	"POST /v1/stop":                        nil,
	"DELETE /v1/stop":                      nil,
	"POST /v1/pause":                       {"seconds"},
	"DELETE /v1/pause":                     nil,
	"POST /v1/pair":                        nil,
	"POST /v1/pair/redeem":                 {"code", "publicKey"},
	"POST /v1/join":                        {"code"},
	"POST /v1/pair/start":                  {"publicKey"},
	"POST /v1/pair/poll":                   {"secret"},
	"POST /v1/devices":                     {"code"},
	"PATCH /v1/devices/{id}":               {"name"},
	"DELETE /v1/devices/{id}/verification": nil,
	"POST /v1/tokens":                      {"name", "role"},
	"POST /v1/auth/challenge":              {"deviceId"},
	"POST /v1/auth/session":                {"deviceId", "nonce", "signature"},
}

// TestBodiesByTheirSchemas: whatever is wrong with the form of a body is 400, of a message to an agent 422, and errors[].pointer
// names the member: missing, unknown, of another type, and null. It holds for each route that takes
// a body.
func TestBodiesByTheirSchemas(t *testing.T) {
	ops, err := schemas.Operations()
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, g *rig) {
		seen := map[string]bool{}
		for _, o := range ops {
			if o.Body == "" || o.Body == "PushChange" || o.Body == "NewVerification" { // only a device has it: TestPushBodies, TestVerificationOverHTTP
				continue
			}
			name := o.Method + " " + o.Path
			required, ok := bodies[name]
			if !ok {
				t.Errorf("%s takes a %s, and is not in the table", name, o.Body)
				continue
			}
			seen[name] = true
			i := slices.IndexFunc(routes, func(rt route) bool { return rt.method == o.Method && sameRoute(o.Path, rt.path) })
			rt := routes[i]
			good := map[string]json.RawMessage{}
			body := rt.body
			if o.Path == "/v1/pair/start" {
				body = `{"publicKey":{"kty":"EC","crv":"P-256","x":"a","y":"b"}}`
			}
			if err := json.Unmarshal([]byte(body), &good); err != nil {
				t.Fatal(err)
			}
			try := func(what, body, pointer string) {
				t.Helper()
				r := g.call(call{method: rt.method, path: rt.path, body: body, token: g.tokens[rt.need]})
				want := http.StatusBadRequest
				if o.Body == "NewAgentMessage" {
					want = http.StatusUnprocessableEntity
				}
				if r.status != want || r.header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s, %s: %d %s", name, what, r.status, r.body)
					return
				}
				valid(t, "Problem", r.body)
				if got := pointers(t, r.body); !slices.Contains(got, pointer) {
					t.Errorf("%s, %s: %q, want one at %q\n%s", name, what, got, pointer, r.body)
				}
			}
			with := func(key, value string) string {
				m := maps.Clone(good)
				m[key] = json.RawMessage(value)
				return mustJSON(m)
			}
			for _, key := range required {
				m := maps.Clone(good)
				delete(m, key)
				try("without "+key, mustJSON(m), "/"+key)
			}
			for key := range good {
				at := "/" + key
				if o.Body == "OnScreen" { // it is one, of texts
					at += "/0"
				}
				try(key+" is a list", with(key, `[1]`), at)
				try(key+" is null", with(key, `null`), "/"+key)
			}
			try("unknown", with("a/b~c", `1`), "/a~1b~0c")
			try("an upper-case name", with("Name", `"x"`), "/Name")
			// What the description says beyond types.
			raw, err := schemas.Raw(o.Body)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), `"role"`) {
				try("no role", with("role", `"root"`), "/role")
			}
			if strings.Contains(string(raw), `"publicKey"`) && !strings.Contains(string(raw), `"readOnly"`) {
				try("another curve", with("publicKey", `{"kty":"EC","crv":"P-384","x":"a","y":"b"}`), "/publicKey/crv")
				try("half a key", with("publicKey", `{"kty":"EC","crv":"P-256","x":"a"}`), "/publicKey/y")
			}
			if o.Body == "SaveGrant" {
				try("no use", with("count", `0`), "/count")
				try("half a use", with("count", `1.5`), "/count")
				try("no time", with("expiresAt", `"soon"`), "/expiresAt")
			}
			if strings.Contains(string(raw), `"inputSha256"`) {
				try("no digest", with("inputSha256", `"F00"`), "/inputSha256")
			}
		}
		for name := range bodies {
			if !seen[name] {
				t.Errorf("%s is in the table, and takes no body", name)
			}
		}
	})
}

// TestBodiesSayEverything: all members that are wrong are named at once, each once, the words of
// who knows more first.
func TestBodiesSayEverything(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		r := g.call(call{method: "POST", path: "/v1/tokens", body: `{"role":"root","nmae":"x"}`, token: g.tokens[auth.RoleAdmin]})
		if got := pointers(t, r.body); !slices.Equal(got, []string{"/nmae", "/name", "/role"}) {
			t.Errorf("%q", got)
		}
		w := g.raise(call{unix: true, body: bash("ls")})
		r = g.decide(w.id, `{"behavior":"perhaps","inputSha256":"x"}`)
		if got := pointers(t, r.body); !slices.Equal(got, []string{"/behavior", "/inputSha256"}) || !strings.Contains(r.body, "64 lower-case hex digits") {
			t.Errorf("%q %s", got, r.body)
		}
		// Inside of updatedPermissions the agent's own rules hold: what it suggested itself is right.
		sha := g.get(w.id).InputSHA256
		r = g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sha+`","updatedPermissions":[{"type":"own the machine"}]}`)
		if got := pointers(t, r.body); r.status != 400 || !slices.Equal(got, []string{"/updatedPermissions/0"}) {
			t.Errorf("%d %q", r.status, got)
		}
		// Neither is a parameter a member.
		r = g.call(call{path: "/v1/requests?limit=x", token: g.tokens[auth.RoleView]})
		if got := pointers(t, r.body); r.status != 400 || !slices.Equal(got, []string{""}) {
			t.Errorf("%d %q", r.status, got)
		}
		if got := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sha+`"}`); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
		<-w.reply
	})
}

// TestBodiesSuggestedByTheAgent: an entry of updatedPermissions that no schema of ours knows, and
// that the agent itself suggested, is taken as it is.
func TestBodiesSuggestedByTheAgent(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		payload := strings.Replace(bash("ls"), `"tool_name"`, `"permission_suggestions":[{"type":"fromTheFuture","x":1}],"tool_name"`, 1)
		w := g.raise(call{unix: true, body: payload})
		r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+g.getAny(w.id).InputSHA256+`","updatedPermissions":[{"type":"fromTheFuture","x":1}]}`)
		if r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
		<-w.reply
	})
}

// getAny is get of a request that may hold what the schemas do not know.
func (g *rig) getAny(id string) requestDoc {
	g.t.Helper()
	return decode[requestDoc](g.t, g.call(call{path: "/v1/requests/" + id, token: g.tokens[auth.RoleView]}).body)
}

func pointers(t *testing.T, body string) (list []string) {
	t.Helper()
	for _, e := range decode[struct{ Errors []struct{ Pointer string } }](t, body).Errors {
		list = append(list, e.Pointer)
	}
	return list
}

// Nobody looked: the report is empty, and as described.
func TestMismatchesWithoutAChecker(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		r := g.call(call{path: "/v1/schema-mismatches", token: g.tokens[auth.RoleView]})
		valid(t, "SchemaMismatches", r.body)
	})
}
