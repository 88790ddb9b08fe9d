package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assent/internal/agent/conformance"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/machines"
	"assent/internal/outlet/notify"
	"assent/schemas"
)

// objects are the objects of the API by the names of their schemas. Those of notifications and of
// mismatches are defined where they are computed, and nobody decodes them here.
var objects = map[string]any{ // read-only
	"Agent":              api.Agent{},
	"AgentEvent":         api.AgentEvent{},
	"Bearer":             api.Bearer{},
	"Challenge":          api.Challenge{},
	"ConfirmPairing":     api.NewPairing{},
	"Context":            hook.Context{},
	"Decision":           api.Decision{},
	"DecisionResult":     api.DecisionResult{},
	"Device":             api.Device{},
	"Found":              api.Found{},
	"Halt":               api.Halt{},
	"Join":               api.Join{},
	"Machine":            machines.Machine{},
	"Message":            hook.Message{},
	"AgentDiff":          api.AgentDiff{},
	"AuditCheckpoint":    api.Checkpoint{},
	"AuditTrace":         api.AuditTrace{},
	"NewAgentMessage":    api.NewAgentMessage{},
	"NewMessage":         api.NewMessage{},
	"NewPairing":         api.NewPairing{},
	"NewPause":           api.NewHalt{},
	"HandBack":           hook.HandBack{},
	"NewStop":            api.NewHalt{},
	"StopResult":         api.StopResult{},
	"RenameDevice":       api.RenameDevice{},
	"NewToken":           api.NewToken{},
	"Notifications":      notify.Overview{},
	"OnScreen":           api.OnScreen{},
	"Pairing":            api.Pairing{},
	"PairingPoll":        api.PairingPoll{},
	"PairingStart":       api.PairingStart{},
	"PairingWaiting":     api.PairingWaiting{},
	"PermissionRequest":  api.Request{},
	"PhoneAddress":       api.PhoneAddress{},
	"PermissionResponse": api.Response{},
	"Problem":            api.Problem{},
	"Proposals":          api.Proposals{},
	"PublishRules":       api.PublishRules{},
	"PublishedRules":     api.PublishedRules{},
	"Push":               notify.State{},
	"Record":             api.Record{},
	"RecordedMessage":    api.RecordedMessage{},
	"Rules":              api.Rules{},
	"SaveGrant":          api.NewSaved{},
	"SaveRule":           api.NewSaved{},
	"Suggestions":        api.Suggestions{},
	"Saved":              api.Saved{},
	"SchemaMismatches":   conformance.Report{},
	"SessionInfo":        api.Session{},
	"Settled":            api.Settled{},
	"Stats":              api.Stats{},
	"Ticket":             api.Ticket{},
	"VerificationState":  api.VerificationState{},
	"Verification":       hook.Verification{},
	"EndVerification":    api.EndVerification{},
	"Token":              api.CreatedToken{},
	"ws/BrokerFrame":     api.BrokerFrame{},
	"ws/HostFrame":       api.HostFrame{},
	"ws/Message":         api.Message{},
}

// beyond are the fields that a schema does not have: one that is never set, and those of types that
// serve two schemas.
var beyond = map[string][]string{ // read-only
	"Message":           {"submitter", "write", "recorded"},
	"NewPairing":        {"code", "signature", "verification", "codeOrigin"},
	"NewStop":           {"seconds"},
	"PermissionRequest": {"reattachSha256"},
	"SaveRule":          {"count", "expiresAt"},
}

// unwritten are properties that a schema allows and this broker never writes.
var unwritten = map[string][]string{ // read-only
	"Problem": {"instance"},
	"Token":   {"createdBy"},
}

// handled are the bodies that only browsers and devices send, which the server reads member by member.
var handled = []string{"NewChallenge", "NewSession", "PollPairing", "PushChange", "RedeemPairing", "StartPairing", "NewVerification"} // read-only

// TestEveryObjectHasAType: what the routes take and give is in the table.
func TestEveryObjectHasAType(t *testing.T) {
	ops, err := schemas.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range ops {
		for _, name := range []string{o.Body, strings.TrimPrefix(o.Answer, "[]")} {
			if name == "" || slices.Contains(handled, name) || strings.HasPrefix(name, "feed/") || strings.HasPrefix(name, "hooks/") || name == "HookOutput" {
				continue
			}
			if objects[name] == nil {
				t.Errorf("%s %s: %s has no type", o.Method, o.Path, name)
			}
		}
	}
}

// TestFieldsAreTheSchemas: a type has the members of its schema, and no others.
func TestFieldsAreTheSchemas(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		t.Run(name, func(t *testing.T) {
			want := map[string]bool{}
			raw, err := schemas.Raw(name)
			if err != nil {
				t.Fatal(err)
			}
			var doc map[string]any
			if err := json.Unmarshal(raw, &doc); err != nil {
				t.Fatal(err)
			}
			properties(t, doc, doc, want)
			got := map[string]bool{}
			members(reflect.TypeOf(objects[name]), got)
			for p := range want {
				if !got[p] && !slices.Contains(unwritten[name], p) {
					t.Errorf("the schema's %q is no field", p)
				}
			}
			for f := range got {
				if !want[f] && !slices.Contains(beyond[name], f) {
					t.Errorf("the field %q is not in the schema", f)
				}
			}
		})
	}
}

// properties collects the properties of a schema within doc: its own, and those that it is composed of.
func properties(t *testing.T, doc, schema map[string]any, to map[string]bool) {
	t.Helper()
	own, _ := schema["properties"].(map[string]any)
	for name := range own {
		to[name] = true
	}
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		parts, _ := schema[key].([]any)
		for _, p := range parts {
			properties(t, doc, p.(map[string]any), to)
		}
	}
	ref, _ := schema["$ref"].(string)
	if local, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		properties(t, doc, doc["$defs"].(map[string]any)[local].(map[string]any), to)
	} else if ref != "" {
		raw, err := schemas.Raw(filepath.Dir(strings.TrimPrefix(ref, "https://assent.dev/schemas/")))
		if err != nil {
			t.Fatal(err)
		}
		var other map[string]any
		if err := json.Unmarshal(raw, &other); err != nil {
			t.Fatal(err)
		}
		properties(t, other, other, to)
	}
}

// members collects the names of a struct's fields in JSON, as encoding/json sees them.
func members(typ reflect.Type, to map[string]bool) {
	for f := range fields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			members(inner, to)
		case name != "-" && f.IsExported():
			to[name] = true
		}
	}
}

func fields(typ reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range typ.NumField() {
			if !yield(typ.Field(i)) {
				return
			}
		}
	}
}

// TestExamplesSurvive: the schema's example comes out of the type valid and with all that it says.
func TestExamplesSurvive(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		t.Run(name, func(t *testing.T) {
			example, err := schemas.Example(name)
			if err != nil {
				t.Fatal(err)
			}
			out := survive(t, objects[name], example)
			// A Message is only read: the server writes its members as each type of them requires.
			if err := schemas.Validate(name, out); err != nil && name != "ws/Message" {
				t.Errorf("%v in\n%s", err, out)
			}
			var was, is any
			if err := json.Unmarshal(example, &was); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out, &is); err != nil {
				t.Fatal(err)
			}
			if !has(is, was) {
				t.Errorf("was %s\nis  %s", example, out)
			}
		})
	}
}

// has reports whether is says all that was says. Empty lists may be left out.
func has(is, was any) bool {
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		for name, value := range was {
			ok = ok && has(is[name], value)
		}
		return ok
	case []any:
		is, _ := is.([]any)
		return slices.EqualFunc(is, was, has)
	}
	return reflect.DeepEqual(is, was)
}

// survive decodes doc into a value of the type of object, or a list of them, and encodes that.
func survive(t *testing.T, object any, doc []byte) []byte {
	t.Helper()
	typ := reflect.TypeOf(object)
	if bytes.HasPrefix(doc, []byte("[")) {
		typ = reflect.SliceOf(typ)
	}
	v := reflect.New(typ)
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(v.Interface()); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWireBytes: answers of a broker, kept as they came, are written again byte for byte, the order of
// their members included. A file is named by its schema.
func TestWireBytes(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := survive(t, objects[name], want); string(got) != strings.TrimSuffix(string(want), "\n") {
				t.Errorf("was %s\nis  %s", want, got)
			}
		})
	}
}
