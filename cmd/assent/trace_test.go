package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/schemas"
)

// decided is the record of a device's decision, as the API shows it.
func decided(t *testing.T) api.Record {
	t.Helper()
	const input = `{ "command": "echo <1>" }`
	key := authtest.NewKey()
	jwk := key.JWK()
	d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: strings.Repeat("0f", 32), UpdatedInput: hook.JSON(input)}
	d.Signature, d.PublicKey = key.Sign(auth.DecisionText("id", d)), &jwk
	shown, err := json.Marshal(map[string]any{
		"id": "r", "requestId": "id", "step": "decided", "time": time.Now(), "outcome": "allowed", "decision": d,
		"by": hook.Approver{Kind: "device", ID: "d", Name: "pho\u202ene"}, "signed": map[string]string{"updatedInput": input},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.Validate("Record", shown); err != nil {
		t.Fatal(err)
	}
	var r api.Record
	if err := json.Unmarshal(shown, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTraceOfAScreen: it is said that the broker says so, and nothing of a signature.
func TestTraceOfAScreen(t *testing.T) {
	r := api.Record{Record: hook.Record{RequestID: hook.ShownEntry("id"), Step: hook.StepShown, Seq: 7, Time: time.Date(2026, 11, 30, 12, 3, 5, 0, time.Local), By: &hook.Approver{Kind: hook.KindDevice, Name: "pho\u202ene"}}}
	words, fits := signatureWords(&r)
	if got := recordLine(&r) + words; got != "2026-11-30 12:03:05.000  shown      seq 7  on the screen of pho⟦U+202E⟧ne, says the broker" || !fits {
		t.Errorf("%q, %v", got, fits)
	}
	r.By = nil // which no broker writes
	if got := recordLine(&r); !strings.HasSuffix(got, "seq 7") {
		t.Errorf("%q", got)
	}
}

func TestTraceVerifiesSignatures(t *testing.T) {
	r := decided(t)
	if words, fits := signatureWords(&r); !fits || words != "  signed by device pho⟦U+202E⟧ne, signature verified" {
		t.Errorf("%q, %v", words, fits)
	}
	for name, change := range map[string]func(*api.Record){
		"what was decided":   func(r *api.Record) { r.Decision.Behavior = hook.BehaviorDeny },
		"which request":      func(r *api.Record) { r.RequestID = "other" },
		"the words":          func(r *api.Record) { r.Decision.Message = "words" },
		"the input as shown": func(r *api.Record) { r.Decision.UpdatedInput = hook.JSON(`{"command":"rm"}`) },
		"the input as text":  func(r *api.Record) { r.Signed.UpdatedInput = `{"command":"rm"}` },
		"both": func(r *api.Record) {
			r.Decision.UpdatedInput, r.Signed.UpdatedInput = hook.JSON(`{"command":"rm"}`), `{"command":"rm"}`
		},
		"permissions added": func(r *api.Record) { r.Decision.UpdatedPermissions = hook.JSON(`[]`) },
		"no signature":      func(r *api.Record) { r.Decision.Signature = "" },
		"another key": func(r *api.Record) {
			jwk := authtest.NewKey().JWK()
			r.Decision.PublicKey = &jwk
		},
	} {
		r := decided(t)
		change(&r)
		if words, fits := signatureWords(&r); fits || !strings.Contains(words, "DOES NOT FIT") {
			t.Errorf("%s: %q, %v", name, words, fits)
		}
	}
	// Records of before, and of approvers without a key.
	old := decided(t)
	old.Decision.PublicKey = nil
	if words, fits := signatureWords(&old); !fits || !strings.Contains(words, "not verified") {
		t.Errorf("%q, %v", words, fits)
	}
	token := decided(t)
	token.By.Kind, token.Decision.Signature, token.Decision.PublicKey = "token", "", nil
	if words, fits := signatureWords(&token); !fits || words != "" {
		t.Errorf("%q, %v", words, fits)
	}
}
