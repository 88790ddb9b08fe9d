package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
)

// TestRevoked: of what a key signed before and after its entry, and of an entry that says something else than its key, this program and
// assent audit verify say the same.
func TestRevoked(t *testing.T) {
	signer, pub := newKey(t)
	v, err := note.NewVerifier(strings.TrimSpace(pub))
	if err != nil {
		t.Fatal(err)
	}
	lost, other := authtest.NewKey(), authtest.NewKey()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	asked := func(id string) hook.Record {
		return hook.Record{ID: "a", RequestID: id, Step: hook.StepAsked, Time: at, Request: &hook.Request{ID: id, ToolName: "Bash", InputSHA256: digest}}
	}
	decided := func(id string, key *authtest.Key, device string) hook.Record {
		jwk := key.JWK()
		d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: digest, SignedAt: at.Format(time.RFC3339), PublicKey: &jwk}
		d.Signature = key.Sign(auth.DecisionText(id, d))
		return hook.Record{ID: "d", RequestID: id, Step: hook.StepDecided, Time: at, Outcome: hook.Allowed, Decision: &d, By: &hook.Approver{Kind: hook.KindDevice, ID: device, Name: "phone"}}
	}
	revoked := func(key *authtest.Key) hook.Record {
		return hook.Record{ID: "k", RequestID: hook.KeyEntry(auth.Thumbprint(key.JWK())), Step: hook.StepRevoked, Time: at, By: &hook.Approver{Kind: hook.KindOwner, Name: "owner"},
			Revoked: &hook.RevokedKey{DeviceID: "d-1", DeviceName: "phone", PublicKey: key.JWK(), At: at}}
	}
	sent := func(key *authtest.Key) hook.Record {
		jwk := key.JWK()
		m := hook.Message{ID: "m", Agent: "terminal@here", SessionID: "s", Kind: hook.MessagePrompt, Prompt: "yes", ExpiresAt: at.Add(time.Minute).Format(time.RFC3339), PublicKey: &jwk}
		m.Signature = key.Sign(auth.MessageText(m))
		what := auth.SentOf(m)
		return hook.Record{ID: "m", RequestID: hook.MessageRecord("m"), Step: hook.MessageSent.RecordStep(), Time: at, Message: &hook.MessageEntry{At: at, Sent: &what},
			By: &hook.Approver{Kind: hook.KindDevice, ID: "d-1", Name: "phone"}}
	}
	without := func(r hook.Record, change func(*hook.Record)) hook.Record {
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		records []hook.Record
		wrong   bool
	}{
		"before":                  {[]hook.Record{asked("r"), decided("r", lost, "d-1"), revoked(lost)}, false},
		"after":                   {[]hook.Record{asked("r"), revoked(lost), decided("r", lost, "d-1")}, true},
		"after, by another":       {[]hook.Record{asked("r"), revoked(lost), decided("r", other, "d-2")}, false},
		"after, by another's id":  {[]hook.Record{asked("r"), revoked(lost), decided("r", lost, "d-2")}, true},
		"a message before":        {[]hook.Record{sent(lost), revoked(lost)}, false},
		"a message after":         {[]hook.Record{revoked(lost), sent(lost)}, true},
		"a message by another":    {[]hook.Record{revoked(lost), sent(other)}, false},
		"twice":                   {[]hook.Record{revoked(lost), revoked(lost)}, false},
		"another key in it":       {[]hook.Record{without(revoked(lost), func(r *hook.Record) { r.Revoked.PublicKey = other.JWK() })}, true},
		"no key in it":            {[]hook.Record{without(revoked(lost), func(r *hook.Record) { r.Revoked = nil })}, true},
		"by nobody":               {[]hook.Record{without(revoked(lost), func(r *hook.Record) { r.By = nil })}, true},
		"of a request":            {[]hook.Record{asked("r"), without(revoked(lost), func(r *hook.Record) { r.RequestID = "r" })}, true},
		"a second one by nobody":  {[]hook.Record{revoked(lost), without(revoked(lost), func(r *hook.Record) { r.By = nil })}, true},
		"of a key without a name": {[]hook.Record{without(revoked(lost), func(r *hook.Record) { r.RequestID = hook.KeyEntry("") })}, true},
	} {
		export := exportOf(t, signer, c.records)
		says := verified(export, pub, "")
		rep, err := audit.VerifyLines(bytes.NewReader(export), audit.VerifyOptions{Keys: []note.Verifier{v}, Decode: stream.DecodeEntry})
		if err != nil {
			t.Fatal(err)
		}
		if (says != nil) != c.wrong || rep.OK() == c.wrong {
			t.Errorf("%s: this program says %v, assent %v", name, says, rep.Findings)
		}
	}
}

const digest = "f3c5d0b1a2e49687f3c5d0b1a2e49687f3c5d0b1a2e49687f3c5d0b1a2e49687"

// exportOf is the export of a record with one checkpoint.
func exportOf(t *testing.T, key note.Signer, records []hook.Record) []byte {
	t.Helper()
	m := &madeTree{leaves: []string{"assent start v1\n1\n2026-11-01T00:00:00Z\n"}}
	var out bytes.Buffer
	w := tree.NewLineWriter(&out)
	w.Line(tree.ExportLine{Type: tree.TypeExport, Version: tree.Version, Origin: madeOrigin, Edge: m.edge(0).Hashes})
	w.Line(tree.LeafLine{Type: tree.TypeLeaf, Leaf: m.leaves[0]})
	for i := range records {
		body, err := json.Marshal(records[i])
		if err != nil {
			t.Fatal(err)
		}
		e := tree.Entry{Seq: uint64(i + 1), Subject: "approvals." + records[i].RequestID, Header: map[string][]string{"Assent-Salt": {strings.Repeat("5a", 32)}}, Body: body}
		leaf := tree.LeafOf(e, stream.DecodeEntry).Text()
		m.leaves = append(m.leaves, leaf)
		w.Line(tree.LeafLine{Type: tree.TypeLeaf, N: int64(i + 1), Leaf: leaf, Entry: e.Text()})
	}
	text := fmt.Sprintf("%s\n%d\n%s\ntime 2026-11-01T00:00:00Z\nrecord %d\nlast none\n", madeOrigin, len(m.leaves), m.edge(len(m.leaves)).Root(), len(records))
	signed, err := note.Sign(&note.Note{Text: text}, key)
	if err != nil {
		t.Fatal(err)
	}
	w.Line(tree.NoteLine{Type: tree.TypeCheckpoint, Note: string(signed)})
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
