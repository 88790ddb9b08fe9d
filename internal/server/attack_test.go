package server_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/text/digest"
)

// TestAttacks tries every attack on every route that the router knows, over a real listener and
// with a request that would succeed if it came from the right place: after each attack nothing
// has changed, and that same request, sent as it should be, still succeeds. So no attack passes,
// and none spends a code, a nonce or a ticket.
func TestAttacks(t *testing.T) {
	seen := map[string]bool{}
	err := chi.Walk(newFort(t).handler.(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		route := method + " " + pattern
		target, ok := targets[route]
		if !ok && method != http.MethodPost && method != http.MethodDelete && !strings.HasPrefix(pattern, "/v1/") {
			target, ok = page200, true // the page's files
		}
		if !ok {
			t.Errorf("%s: no attack was thought of; add it to targets", route)
			return nil
		}
		seen[route] = true
		// Each route has a fort of its own: the whole state is compared after each strike, and grows
		// by what the good ones leave behind.
		t.Run(noBraces.Replace(route), func(t *testing.T) {
			t.Parallel()
			f := newFort(t)
			for _, a := range attacks {
				if a.on == nil || a.on(method, pattern, target) {
					f.try(t, route, target, a)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for route := range targets {
		if !seen[route] {
			t.Errorf("%s is attacked and not served", route)
		}
	}
}

// noBraces is for the names of subtests: their directories are named in rules, where braces are a pattern.
var noBraces = strings.NewReplacer("{", "", "}", "")

// strike is one HTTP request, good or evil.
type strike struct {
	method, path, body string
	token              string
	host               string
	header             http.Header
}

// target is a route under attack.
type target struct {
	need  auth.Role
	ready func(f *fort) strike // a fresh request that succeeds
	want  int
	// changes says that success shows in the state.
	changes bool
	// byDevice says that the bearer of an admin device suffices.
	byDevice bool
}

var page200 = target{ready: func(f *fort) strike { return strike{} }, want: 200, byDevice: true}

func get(path string) func(*fort) strike { return func(*fort) strike { return strike{path: path} } }

func post(path string, body any) func(*fort) strike {
	return func(*fort) strike { return strike{path: path, body: mustJSON(body)} }
}

var targets = map[string]target{
	"POST /v1/hooks":         {need: auth.RoleSubmit, ready: post("/v1/hooks", fields{"hook_event_name": "Stop", "session_id": "s"}), want: 204, changes: true},
	"POST /v1/hooks/context": {need: auth.RoleSubmit, ready: withTail, want: 204, changes: true},
	"POST /v1/hooks/refused": {need: auth.RoleSubmit, ready: func(*fort) strike { // of no request; what is recorded is, in the background
		return strike{path: "/v1/hooks/refused", header: http.Header{hook.HeaderRequestID: {uuid.NewString()}, hook.HeaderRefused: {"x"}, hook.HeaderReattachSecret: {"s"}}}
	}, want: 404},
	"GET /v1/sessions":                 {need: auth.RoleView, ready: get("/v1/sessions"), want: 200, byDevice: true},
	"GET /v1/sessions/{id}":            {need: auth.RoleView, ready: func(f *fort) strike { f.waits(); return strike{path: "/v1/sessions/s1"} }, want: 200, byDevice: true},
	"DELETE /v1/sessions/{id}":         {need: auth.RoleAdmin, ready: func(f *fort) strike { return strike{path: "/v1/sessions/" + f.remembered()} }, want: 204, changes: true, byDevice: true},
	"GET /v1/sessions/{id}/feed":       {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/sessions/" + f.remembered() + "/feed"} }, want: 200, byDevice: true},
	"GET /v1/sessions/{id}/feed/{pos}": {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/sessions/" + f.remembered() + "/feed/1"} }, want: 200, byDevice: true},
	"GET /v1/sessions/{id}/messages":   {need: auth.RoleView, ready: get("/v1/sessions/s1/messages"), want: 200, byDevice: true},
	"GET /v1/sessions/{id}/messages/{message}": {need: auth.RoleView, ready: func(f *fort) strike {
		return strike{path: "/v1/sessions/s1/messages/" + f.sent().ID}
	}, want: 200, byDevice: true},
	"DELETE /v1/sessions/{id}/messages/{message}": {need: auth.RoleOperate, ready: func(f *fort) strike {
		return strike{path: "/v1/sessions/s1/messages/" + f.sent().ID}
	}, want: 200, changes: true, byDevice: true},
	"DELETE /v1/sessions/{id}/messages/{message}/text": {need: auth.RoleAdmin, ready: func(f *fort) strike {
		return strike{path: "/v1/sessions/s1/messages/" + f.sent().ID + "/text"}
	}, want: 200, changes: true, byDevice: true},
	"POST /v1/sessions/{id}/messages": {need: auth.RoleOperate, ready: func(f *fort) strike {
		f.sent()
		return strike{path: "/v1/sessions/s1/messages", body: mustJSON(fields{"id": uuid.NewString(), "prompt": "x"})}
	}, want: 202, changes: true},
	"GET /v1/agents":        {need: auth.RoleView, ready: get("/v1/agents"), want: 200, byDevice: true},
	"GET /v1/agents/{name}": {need: auth.RoleView, ready: get("/v1/agents/coder"), want: 200, byDevice: true},
	"POST /v1/agents/{name}/messages": {need: auth.RoleOperate, ready: func(f *fort) strike {
		bearer, m := f.toAgent()
		return strike{path: "/v1/agents/coder/messages", token: bearer, body: mustJSON(m)}
	}, want: 202, changes: true},
	"GET /v1/agents/{name}/messages/{message}":      {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: f.sentToAgent()} }, want: 200, byDevice: true},
	"DELETE /v1/agents/{name}/messages/{message}":   {need: auth.RoleOperate, ready: func(f *fort) strike { return strike{path: f.sentToAgent()} }, want: 200, changes: true, byDevice: true},
	"GET /v1/agents/{name}/sessions/{session}/diff": {need: auth.RoleView, ready: get("/v1/agents/coder/sessions/" + aSession + "/diff"), want: 503, byDevice: true}, // its host is away
	"GET /v1/host/ws": {need: auth.RoleHost, ready: func(f *fort) strike {
		return strike{path: "/v1/host/ws", header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}}
	}, want: 101},
	"GET /v1/search":          {need: auth.RoleView, ready: get("/v1/search?q=x"), want: 200, byDevice: true},
	"GET /v1/decisions":       {need: auth.RoleView, ready: get("/v1/decisions?q=x"), want: 200, byDevice: true},
	"GET /v1/stats":           {need: auth.RoleView, ready: get("/v1/stats?step=hour"), want: 200, byDevice: true},
	"GET /v1/rules":           {need: auth.RoleView, ready: get("/v1/rules"), want: 200, byDevice: true},
	"GET /v1/suggestions":     {need: auth.RoleAdmin, ready: get("/v1/suggestions"), want: 200, byDevice: true},
	"GET /v1/published-rules": {need: auth.RoleView, ready: get("/v1/published-rules"), want: 200, byDevice: true},
	"PUT /v1/published-rules": {need: auth.RoleAdmin, ready: func(f *fort) strike {
		return strike{path: "/v1/published-rules", body: mustJSON(fields{"text": "version: 1\n", "after": f.rules.Now().Version})}
	}, want: 200, changes: true},
	"GET /v1/machines":          {need: auth.RoleView, ready: get("/v1/machines"), want: 200, byDevice: true},
	"GET /v1/schema-mismatches": {need: auth.RoleView, ready: get("/v1/schema-mismatches"), want: 200, byDevice: true},
	"GET /v1/grants":            {need: auth.RoleView, ready: get("/v1/grants"), want: 200, byDevice: true},
	"POST /v1/rules":            {need: auth.RoleApprove, ready: func(f *fort) strike { return strike{path: "/v1/rules", body: f.saving(nil)} }, want: 201, changes: true},
	"POST /v1/grants":           {need: auth.RoleApprove, ready: func(f *fort) strike { return strike{path: "/v1/grants", body: f.saving(fields{"count": 3})} }, want: 201, changes: true},
	"DELETE /v1/rules/{id}":     {need: auth.RoleApprove, ready: func(f *fort) strike { return strike{path: "/v1/rules/" + f.saved(hook.SavedRule)} }, want: 204, changes: true, byDevice: true},
	"DELETE /v1/grants/{id}":    {need: auth.RoleApprove, ready: func(f *fort) strike { return strike{path: "/v1/grants/" + f.saved(hook.SavedGrant)} }, want: 204, changes: true, byDevice: true},
	"GET /v1/requests/{id}/proposals": {need: auth.RoleView, ready: func(f *fort) strike {
		f.clearSaved()
		r, _ := f.proposed()
		return strike{path: "/v1/requests/" + r.ID + "/proposals"}
	}, want: 200, byDevice: true},
	"GET /v1/requests":            {need: auth.RoleView, ready: get("/v1/requests"), want: 200, byDevice: true},
	"GET /v1/requests/{id}":       {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/requests/" + f.waits()} }, want: 200, byDevice: true},
	"GET /v1/requests/{id}/trace": {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/requests/" + f.waits() + "/trace"} }, want: 200, byDevice: true},
	"GET /v1/requests/{id}/audit": {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/requests/" + f.waits() + "/audit"} }, want: 200, byDevice: true},
	"GET /v1/requests/{id}/proof": {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/requests/" + f.waits() + "/proof"} }, want: 503, byDevice: true},
	"GET /v1/audit/messages":      {need: auth.RoleView, ready: get("/v1/audit/messages?session=x"), want: 200, byDevice: true},
	"GET /v1/audit/checkpoint":    {need: auth.RoleView, ready: get("/v1/audit/checkpoint"), want: 503, byDevice: true},
	"GET /v1/audit/export":        {need: auth.RoleView, ready: get("/v1/audit/export"), want: 503, byDevice: true},
	"POST /v1/requests/{id}/decision": {need: auth.RoleApprove, ready: func(f *fort) strike {
		return strike{path: "/v1/requests/" + f.waits() + "/decision", body: mustJSON(fields{"behavior": "allow", "inputSha256": digest.Of([]byte("{}"))})}
	}, want: 200, changes: true},
	"POST /v1/requests/{id}/handback": {need: auth.RoleApprove, ready: func(f *fort) strike {
		return strike{path: "/v1/requests/" + f.waits() + "/handback", body: mustJSON(fields{"inputSha256": digest.Of([]byte("{}"))})}
	}, want: 204, changes: true},
	"POST /v1/shown": {need: auth.RoleApprove, ready: func(f *fort) strike {
		return strike{path: "/v1/shown", body: mustJSON(fields{"requests": []string{f.waits()}})}
	}, want: 204, byDevice: true},
	"POST /v1/ws/ticket": {need: auth.RoleView, ready: post("/v1/ws/ticket", fields{}), want: 200, byDevice: true},
	"GET /v1/ws": {ready: func(f *fort) strike {
		ticket, _ := f.auth.NewTicket(f.principal(auth.RoleView))
		return strike{path: "/v1/ws?ticket=" + ticket, header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}}
	}, want: 101},
	"GET /v1/tokens":         {need: auth.RoleAdmin, ready: get("/v1/tokens"), want: 200, byDevice: true},
	"POST /v1/tokens":        {need: auth.RoleAdmin, ready: post("/v1/tokens", fields{"role": "admin", "name": "x"}), want: 201, changes: true},
	"DELETE /v1/tokens/{id}": {need: auth.RoleAdmin, ready: func(f *fort) strike { return strike{path: "/v1/tokens/" + f.token()} }, want: 204, changes: true, byDevice: true},
	"GET /v1/devices":        {need: auth.RoleView, ready: get("/v1/devices"), want: 200, byDevice: true},
	"POST /v1/devices": {need: auth.RoleAdmin, ready: func(f *fort) strike {
		return strike{path: "/v1/devices", body: mustJSON(fields{"code": f.started().Code})}
	}, want: 201, changes: true},
	"DELETE /v1/devices/{id}": {need: auth.RoleAdmin, ready: func(f *fort) strike {
		d, _ := f.paired(auth.RoleAdmin)
		return strike{path: "/v1/devices/" + d.ID}
	}, want: 204, changes: true, byDevice: true},
	"PATCH /v1/devices/{id}": {need: auth.RoleAdmin, ready: func(f *fort) strike {
		d, _ := f.paired(auth.RoleAdmin)
		return strike{path: "/v1/devices/" + d.ID, body: mustJSON(fields{"name": "renamed " + d.ID})}
	}, want: 200, changes: true, byDevice: true},
	"GET /v1/devices/{id}/verification": {need: auth.RoleApprove, ready: func(f *fort) strike {
		bearer, d, _, _ := f.signedIn()
		return f.strikeVerification(bearer, d, "")
	}, want: 200},
	"POST /v1/devices/{id}/verification": {need: auth.RoleApprove, ready: func(f *fort) strike {
		bearer, d, _, _ := f.signedIn()
		return f.strikeVerification(bearer, d, "{}")
	}, want: 200},
	"PUT /v1/devices/{id}/verification": {need: auth.RoleApprove, ready: func(f *fort) strike {
		bearer, d, doc, key := f.enrolling()
		return f.strikeVerification(bearer, d, `{"credential":`+string(doc)+`,"signature":"`+key.Sign(auth.EnrolText(d.ID, doc))+`"}`)
	}, want: 200, changes: true},
	"DELETE /v1/devices/{id}/verification": {need: auth.RoleApprove, ready: func(f *fort) strike {
		_, d, doc, key := f.enrolling()
		p, err := f.auth.Authenticate(f.bearerOf(d, key))
		f.must(err)
		_, err = f.auth.FinishVerification(context.Background(), p, f.localhost(), doc, key.Sign(auth.EnrolText(d.ID, doc)))
		f.must(err)
		return f.strikeVerification(f.tokens[auth.RoleAdmin], d, "{}")
	}, want: 204, changes: true},
	"GET /v1/stop":    {need: auth.RoleView, ready: get("/v1/stop"), want: 200, byDevice: true},
	"POST /v1/stop":   {need: auth.RoleApprove, ready: func(f *fort) strike { f.halted(hook.HaltLift); return strike{path: "/v1/stop", body: "{}"} }, want: 200, changes: true},
	"DELETE /v1/stop": {need: auth.RoleApprove, ready: func(f *fort) strike { f.halted(hook.HaltStop); return strike{path: "/v1/stop", body: "{}"} }, want: 200, changes: true},
	"GET /v1/phone":   {need: auth.RoleView, ready: get("/v1/phone"), want: 200, byDevice: true},
	"GET /v1/pause":   {need: auth.RoleView, ready: get("/v1/pause"), want: 200, byDevice: true},
	"POST /v1/pause": {need: auth.RoleApprove, ready: func(f *fort) strike {
		f.halted(hook.HaltLift, hook.HaltResume)
		return strike{path: "/v1/pause", body: mustJSON(fields{"seconds": 60})}
	}, want: 200, changes: true},
	"DELETE /v1/pause": {need: auth.RoleApprove, ready: func(f *fort) strike {
		f.halted(hook.HaltLift, hook.HaltPause)
		return strike{path: "/v1/pause", body: "{}"}
	}, want: 200, changes: true},
	"GET /v1/pair":           {need: auth.RoleAdmin, ready: get("/v1/pair"), want: 200, byDevice: true},
	"POST /v1/pair":          {need: auth.RoleAdmin, ready: post("/v1/pair", fields{}), want: 201, changes: true},
	"DELETE /v1/pair/{code}": {need: auth.RoleAdmin, ready: func(f *fort) strike { return strike{path: "/v1/pair/" + f.started().Code} }, want: 204, changes: true, byDevice: true},
	"POST /v1/pair/redeem": {ready: func(f *fort) strike {
		return strike{path: "/v1/pair/redeem", body: mustJSON(fields{"code": f.invited(), "publicKey": authtest.NewKey().JWK()})}
	}, want: 201, changes: true},
	"POST /v1/join": {ready: func(f *fort) strike {
		return strike{path: "/v1/join", body: mustJSON(fields{"code": f.invitedMachine()})}
	}, want: 201, changes: true},
	"POST /v1/pair/start": {ready: func(f *fort) strike {
		f.clearStarts()
		return strike{path: "/v1/pair/start", body: mustJSON(fields{"publicKey": authtest.NewKey().JWK()})}
	}, want: 201, changes: true},
	"POST /v1/pair/poll": {ready: func(f *fort) strike {
		return strike{path: "/v1/pair/poll", body: mustJSON(fields{"secret": f.started().Secret})}
	}, want: 202},
	"POST /v1/auth/challenge": {ready: func(f *fort) strike {
		d, _ := f.paired(auth.RoleView)
		return strike{path: "/v1/auth/challenge", body: mustJSON(fields{"deviceId": d.ID})}
	}, want: 200},
	"POST /v1/auth/session": {ready: func(f *fort) strike {
		d, key := f.paired(auth.RoleView)
		nonce, _, err := f.auth.Challenge(d.ID)
		f.must(err)
		return strike{path: "/v1/auth/session", body: mustJSON(fields{"deviceId": d.ID, "nonce": nonce, "signature": key.Sign(auth.ChallengeText(d.ID, nonce))})}
	}, want: 200},
	"GET /v1/push":    {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/push", token: f.rungBearer()} }, want: 200, byDevice: true},
	"DELETE /v1/push": {need: auth.RoleView, ready: func(f *fort) strike { return strike{path: "/v1/push", token: f.rungBearer()} }, want: 204, changes: true, byDevice: true},
	"PUT /v1/push": {need: auth.RoleView, ready: func(f *fort) strike {
		bearer, d, key := f.rung()
		settings := `{"afterSeconds":77}`
		return strike{path: "/v1/push", token: bearer, body: `{"settings":` + settings + `,"signature":"` + key.Sign(auth.PushText(d.ID, nil, []byte(settings))) + `"}`}
	}, want: 200, changes: true, byDevice: true},
	"POST /v1/push/test": {need: auth.RoleView, ready: func(f *fort) strike {
		return strike{path: "/v1/push/test", token: f.rungBearer(), body: "{}"}
	}, want: 204, byDevice: true},
	"GET /v1/notifications": {need: auth.RoleAdmin, ready: get("/v1/notifications"), want: 200, byDevice: true},
	"GET /healthz":          {ready: get("/healthz"), want: 204, byDevice: true},
	"GET /readyz":           {ready: get("/readyz"), want: 204, byDevice: true},
	"GET /metrics":          {need: auth.RoleView, ready: get("/metrics"), want: 200, byDevice: true},
}

// attack turns a good request into an evil one; got must be among want.
type attack struct {
	name string
	on   func(method, pattern string, t target) bool // nil: every route
	turn func(f *fort, s *strike)
	want []int
}

func header(name, value string) func(*fort, *strike) {
	return func(_ *fort, s *strike) { s.header.Set(name, value) }
}

// asBrowser is what a browser adds to what a page of another site sends.
func asBrowser(s *strike, origin, mode, dest string) {
	if origin != "" {
		s.header.Set("Origin", origin)
	}
	s.header.Set("Sec-Fetch-Site", "cross-site")
	s.header.Set("Sec-Fetch-Mode", mode)
	s.header.Set("Sec-Fetch-Dest", dest)
}

func form(contentType string) func(*fort, *strike) {
	return func(_ *fort, s *strike) {
		s.method, s.token = http.MethodPost, ""
		s.header.Set("Content-Type", contentType)
		asBrowser(s, "http://evil.example", "navigate", "document")
	}
}

func hasRole(_, _ string, t target) bool { return t.need != "" }

func isAPI(_, pattern string, _ target) bool { return strings.HasPrefix(pattern, "/v1/") }

var attacks = []attack{
	{"foreign Host", nil, func(_ *fort, s *strike) { s.host = "evil.example" }, []int{421}},
	{"no Host", nil, func(_ *fort, s *strike) { s.host = "none" }, []int{421, 400}},
	{"rebound name with our port", nil, func(f *fort, s *strike) {
		s.host = "rebound.evil.example:" + f.port
		s.header.Set("Origin", "http://"+s.host)
		s.header.Set("Sec-Fetch-Site", "same-origin")
	}, []int{421}},
	{"our address, another port", nil, func(_ *fort, s *strike) { s.host = "127.0.0.1:1" }, []int{421}},
	{"foreign Origin", nil, header("Origin", "http://evil.example"), []int{403}},
	{"another port's Origin", nil, header("Origin", "http://127.0.0.1:1"), []int{403}},
	{"the Origin by https", nil, func(f *fort, s *strike) { s.header.Set("Origin", "https://127.0.0.1:"+f.port) }, []int{403}},
	{"null Origin", nil, header("Origin", "null"), []int{403}},
	{"two Origins", nil, func(f *fort, s *strike) { s.header["Origin"] = []string{f.url, "http://evil.example"} }, []int{403}},
	{"form, text/plain", nil, form("text/plain"), []int{403, 405}},
	{"form, urlencoded", nil, form("application/x-www-form-urlencoded"), []int{403, 405}},
	{"form, multipart", nil, form("multipart/form-data; boundary=x"), []int{403, 405}},
	{"form of an opaque page", nil, func(f *fort, s *strike) {
		form("text/plain")(f, s)
		s.header.Set("Origin", "null")
	}, []int{403, 405}},
	{"fetch of another site", nil, func(_ *fort, s *strike) { asBrowser(s, "http://evil.example", "cors", "empty") }, []int{403}},
	{"fetch of another port", nil, func(_ *fort, s *strike) {
		s.header.Set("Origin", "http://127.0.0.1:1")
		s.header.Set("Sec-Fetch-Site", "same-site")
	}, []int{403}},
	{"image of another site", nil, func(_ *fort, s *strike) { asBrowser(s, "", "no-cors", "image") }, []int{403}},
	{"frame on another site", nil, func(_ *fort, s *strike) { asBrowser(s, "", "navigate", "iframe") }, []int{403}},
	{"link on another site", isAPI, func(_ *fort, s *strike) { asBrowser(s, "", "navigate", "document") }, []int{403}},
	{"prefetch", nil, header("Sec-Purpose", "prefetch"), []int{403}},
	{"prerender", nil, func(_ *fort, s *strike) {
		s.header.Set("Sec-Purpose", "prefetch;prerender")
		s.header.Set("Sec-Fetch-Site", "none")
		s.header.Set("Sec-Fetch-Mode", "navigate")
		s.header.Set("Sec-Fetch-Dest", "document")
	}, []int{403}},
	{"old prefetch", nil, header("Purpose", "prefetch"), []int{403}},
	{"preflight", nil, func(_ *fort, s *strike) {
		s.method, s.token, s.body = http.MethodOptions, "", ""
		s.header.Set("Access-Control-Request-Method", "POST")
		s.header.Set("Access-Control-Request-Headers", "authorization")
		asBrowser(s, "http://evil.example", "cors", "empty")
	}, []int{403, 405}},
	{"no credential", hasRole, func(_ *fort, s *strike) { s.token = "" }, []int{401}},
	{"guessed credential", hasRole, func(_ *fort, s *strike) { s.token = s.token[:len(s.token)-1] + "!" }, []int{401}},
	{"credential as cookie and query", hasRole, func(_ *fort, s *strike) {
		s.header.Set("Cookie", "token="+s.token+"; assent="+s.token)
		s.path += "?access_token=" + s.token + "&token=" + s.token
		s.token = ""
	}, []int{401}},
	{"credential as Basic", hasRole, func(_ *fort, s *strike) {
		s.header.Set("Authorization", "Basic "+s.token)
		s.token = ""
	}, []int{401}},
	{"too little role", hasRole, func(f *fort, s *strike) {
		if s.token == f.tokens[auth.RoleSubmit] {
			s.token = f.tokens[auth.RoleAdmin]
		} else {
			s.token = f.tokens[auth.RoleSubmit]
		}
	}, []int{403}},
	{"stolen bearer without the key", func(m, p string, t target) bool { return hasRole(m, p, t) && !t.byDevice }, func(f *fort, s *strike) { s.token = f.stolen }, []int{403}},
	{"revoked device", hasRole, func(f *fort, s *strike) { s.token = f.revoked }, []int{401}},
	{"another method by header", func(m, _ string, _ target) bool { return m != http.MethodGet && m != http.MethodHead }, func(_ *fort, s *strike) {
		for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
			s.header.Set(name, s.method)
		}
		s.method, s.body = http.MethodGet, ""
	}, []int{200, 403, 404, 405}}, // another route's GET, which changes nothing; some are for a device itself
	{"used, guessed and foreign codes", func(_, p string, t target) bool {
		return t.need == "" && isAPI("", p, t) && p != "/v1/pair/start" && p != "/v1/auth/challenge"
	}, func(f *fort, s *strike) {
		for _, member := range []string{"code", "secret", "nonce"} {
			s.body = regexp.MustCompile(`"`+member+`":"[^"]*"`).ReplaceAllString(s.body, `"`+member+`":"`+f.used[member]+`"`)
		}
		s.path = regexp.MustCompile(`ticket=.*`).ReplaceAllString(s.path, "ticket="+f.used["ticket"])
	}, []int{400, 401, 403}},
	{"a ticket fetched as a page", func(_, p string, _ target) bool { return p == "/v1/ws" }, func(_ *fort, s *strike) { s.header = http.Header{} }, []int{400}},
	{"the path in another spelling", hasRole, func(_ *fort, s *strike) { s.path, s.token = "/"+s.path, "" }, []int{404}},
}

func (f *fort) try(t *testing.T, route string, tg target, a attack) {
	t.Helper()
	f.t = t
	method, pattern, _ := strings.Cut(route, " ")
	good := tg.ready(f)
	good.method = method
	if good.token == "" {
		good.token = f.tokens[tg.need]
	}
	if good.path == "" {
		good.path = pattern
	}
	if good.header == nil {
		good.header = http.Header{}
	}
	evil := good
	evil.header = good.header.Clone()
	a.turn(f, &evil)
	before := f.state()
	status, head := f.send(evil)
	if !slices.Contains(a.want, status) {
		t.Errorf("%s, %s: %d, want %d", route, a.name, status, a.want)
	}
	for name := range head {
		if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" || name == "Location" {
			t.Errorf("%s, %s: the answer has %s", route, a.name, name)
		}
	}
	if after := f.state(); after != before {
		t.Errorf("%s, %s: the state changed from\n%s\nto\n%s", route, a.name, before, after)
	}
	if status, _ := f.send(good); status != tg.want {
		t.Errorf("%s, after %s: %d, want %d", route, a.name, status, tg.want)
	}
	if changed := f.state() != before; changed != tg.changes {
		t.Errorf("%s, after %s: the good request changed the state: %v", route, a.name, changed)
	}
}
