package audit_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/tree"
)

var messageTime = time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)

// sentBy is the entry of a message that a device sent, whose key signed it.
func sentBy(key *authtest.Key, device, id string) hook.Record {
	jwk := key.JWK()
	m := hook.Message{ID: id, Agent: "terminal@here", SessionID: "s", Kind: hook.MessagePrompt, Prompt: "yes", ExpiresAt: "2026-11-28T05:10:00Z", PublicKey: &jwk}
	m.Signature = key.Sign(auth.MessageText(m))
	sent := auth.SentOf(m)
	return hook.Record{ID: "s", RequestID: hook.MessageRecord(id), Step: hook.MessageSent.RecordStep(), Time: messageTime, By: &hook.Approver{Kind: hook.KindDevice, ID: device, Name: "phone"},
		Message: &hook.MessageEntry{At: messageTime, Sent: &sent}}
}

// stepOf is the entry of a later step.
func stepOf(id string, n int, state hook.MessageState) hook.Record {
	return hook.Record{ID: "t", RequestID: hook.MessageRecord(id), Step: state.RecordStep(), Time: messageTime, Message: &hook.MessageEntry{N: n, At: messageTime}}
}

// message are the entries of one that came into the agent's context, and ended.
func message(key *authtest.Key, device, id string) []hook.Record {
	return []hook.Record{sentBy(key, device, id), stepOf(id, 1, hook.MessageTaken), stepOf(id, 2, hook.MessageStarted), stepOf(id, 3, hook.MessageEnded)}
}

// TestMessages: what a broker writes of messages is verified, and whoever has its key cannot say that a device sent what it did not,
// that something was handed over that nobody sent, or an old message once more.
func TestMessages(t *testing.T) {
	key, other := authtest.NewKey(), authtest.NewKey()
	jwk := other.JWK()
	for name, c := range map[string]struct {
		change func(r []hook.Record) []hook.Record
		words  string // of the finding; empty: none
	}{
		"as it was": {func(r []hook.Record) []hook.Record { return r }, ""},
		"lost, and it came late": {func(r []hook.Record) []hook.Record {
			return slices.Insert(r, 2, stepOf("m", 2, hook.MessageTaken), stepOf("m", 3, hook.MessageLost))
		}, ""},
		"by the owner": {func(r []hook.Record) []hook.Record {
			r[0].By, r[0].Message.Sent.Signature, r[0].Message.Sent.PublicKey = &hook.Approver{Kind: hook.KindOwner}, "", nil
			return r
		}, ""},
		"on its way":         {func(r []hook.Record) []hook.Record { return r[:1] }, ""},
		"to another session": {func(r []hook.Record) []hook.Record { r[0].Message.Sent.SessionID = "t"; return r }, "signature of the device does not fit the message"},
		"another text": {func(r []hook.Record) []hook.Record {
			r[0].Message.Sent.PromptSHA256 = strings.Repeat("0", 64)
			return r
		}, "does not fit the message"},
		"with a budget": {func(r []hook.Record) []hook.Record {
			r[0].Message.Sent.Options = &hook.MessageOptions{BudgetUSD: 9}
			return r
		}, "does not fit the message"},
		"of another kind":  {func(r []hook.Record) []hook.Record { r[0].Message.Sent.Kind = hook.MessageCancel; return r }, "does not fit the message"},
		"with another key": {func(r []hook.Record) []hook.Record { r[0].Message.Sent.PublicKey = &jwk; return r }, "does not fit the message"},
		"nobody signed": {func(r []hook.Record) []hook.Record {
			r[0].Message.Sent.PublicKey, r[0].Message.Sent.Signature = nil, ""
			return r
		}, "nothing is signed"},
		"of another device":    {func(r []hook.Record) []hook.Record { return append(r, message(other, "d", "n")...) }, "signs with another key than before"},
		"signed by the owner":  {func(r []hook.Record) []hook.Record { r[0].By = &hook.Approver{Kind: hook.KindOwner}; return r }, "does not fit the message"},
		"by nobody":            {func(r []hook.Record) []hook.Record { r[0].By = nil; return r }, "by whom"},
		"without what":         {func(r []hook.Record) []hook.Record { r[0].Message.Sent = nil; return r }, "does not say what was sent"},
		"without a word":       {func(r []hook.Record) []hook.Record { r[1].Message = nil; return r }, "does not say what was sent"},
		"sent again":           {func(r []hook.Record) []hook.Record { return append(r, message(key, "d", "m")...) }, "a message of this id was sent before"},
		"sent twice at once":   {func(r []hook.Record) []hook.Record { return append(r[:1], r...) }, "a message of this id was sent before"},
		"handed over, unsent":  {func(r []hook.Record) []hook.Record { return r[1:2] }, "that this message was sent"},
		"started, unsent":      {func(r []hook.Record) []hook.Record { return r[2:3] }, "that this message was sent"},
		"again behind its end": {func(r []hook.Record) []hook.Record { return append(r, r[1]) }, "that it was over"},
		"an old one": {func(r []hook.Record) []hook.Record {
			for i := range r {
				r[i].Time = messageTime.Add(time.Hour)
			}
			return r
		}, "after its time was over"},
		"dated back": {func(r []hook.Record) []hook.Record {
			for i := range r {
				r[i].Time = messageTime.Add(-25 * time.Hour)
			}
			return r
		}, "more than a day before"},
		"without a time": {func(r []hook.Record) []hook.Record {
			r[0].By, r[0].Message.Sent.Signature, r[0].Message.Sent.PublicKey, r[0].Message.Sent.ExpiresAt = &hook.Approver{Kind: hook.KindOwner}, "", nil, ""
			return r
		}, "until when"},
		"of a request": {func(r []hook.Record) []hook.Record { r[0].RequestID = "m"; return r[:1] }, "only a message can be"},
		"of a device that decides with another key": {func(r []hook.Record) []hook.Record {
			first := requests(1)
			first[1].By.ID = "d"
			return append(first, r...)
		}, "another key than before"},
	} {
		text, opts := exported(t, newKey(t), c.change(message(key, "d", "m")))
		rep := verify(t, text, opts)
		found := slices.ContainsFunc(rep.Findings, func(f audit.Finding) bool { return strings.Contains(f.What, c.words) })
		if rep.OK() != (c.words == "") || !rep.OK() && !found {
			t.Errorf("%s: found %+v", name, rep.Findings)
		}
		if name == "as it was" && (rep.Messages != 1 || rep.MessagesSigned != 1 || rep.Decisions != 0) {
			t.Errorf("%s: %+v", name, rep)
		}
		if name == "by the owner" && (rep.Messages != 1 || rep.MessagesSigned != 0) {
			t.Errorf("%s: %+v", name, rep)
		}
	}
}

// TestMessageOfARevokedKey: what a key sends counts no more from its entry on.
func TestMessageOfARevokedKey(t *testing.T) {
	key := authtest.NewKey()
	for n, wrong := range map[int]bool{5: false, 4: true} {
		all := append(message(key, "d", "m"), message(key, "d", "n")...)
		text, opts := exported(t, newKey(t), revokedAt(all, n, key.JWK()))
		if rep := verify(t, text, opts); rep.OK() == wrong || wrong && !strings.Contains(rep.Findings[0].What, "was revoked before") {
			t.Errorf("revoked behind %d: %+v", n, rep.Findings)
		}
	}
}

// TestMessagesThatAreGone: a message whose entries are too old, or were forgotten, is known by its leaves.
func TestMessagesThatAreGone(t *testing.T) {
	key := newKey(t)
	all := message(authtest.NewKey(), "d", "m")
	text, opts := exported(t, key, all)
	opts.Read = time.Now().Add(91 * 24 * time.Hour)
	bare := func(text []byte) []byte {
		var lines [][]byte
		for r := tree.NewLineReader(bytes.NewReader(text)); ; {
			l, err := r.Text()
			if err != nil {
				return closed(lines)
			}
			if i := bytes.Index(l, []byte(`,"entry":`)); i > 0 {
				l = append(bytes.Clone(l[:i]), '}')
			}
			lines = append(lines, bytes.Clone(l))
		}
	}
	if rep := verify(t, bare(text), opts); !rep.OK() || rep.Aged != 4 {
		t.Errorf("found %+v", rep)
	}
	text, opts = exported(t, key, all[1:])
	opts.Read = time.Now().Add(91 * 24 * time.Hour)
	if rep := verify(t, bare(text), opts); rep.OK() {
		t.Error("what nobody sent is passed over once it is old")
	}
}

// TestEveryByteOfAMessage changes each byte of an export of a message, and takes out each of its entries.
func TestEveryByteOfAMessage(t *testing.T) {
	text, opts := exported(t, newKey(t), message(authtest.NewKey(), "d", "m"))
	if rep := verify(t, text, opts); !rep.OK() {
		t.Fatalf("found %+v", rep)
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	lines = lines[:len(lines)-1]
	for i, l := range lines {
		if !bytes.HasPrefix(l, []byte(`{"type":"leaf"`)) {
			continue
		}
		if verify(t, closed(slices.Delete(slices.Clone(lines), i, i+1)), opts).OK() {
			t.Errorf("line %d may be left out", i)
		}
		for at := range l {
			changed := slices.Clone(lines)
			changed[i] = bytes.Clone(l)
			changed[i][at] ^= 1
			if json.Valid(changed[i]) && verify(t, closed(changed), opts).OK() {
				t.Errorf("byte %d of line %d may be another", at, i)
			}
		}
	}
}

// TestMessageSignature: a message is signed for its id, and no other.
func TestMessageSignature(t *testing.T) {
	s := sentBy(authtest.NewKey(), "d", "m").Message.Sent
	if !auth.VerifySent("m", *s) || auth.VerifySent("n", *s) || auth.VerifySent("m", hook.SentMessage{}) {
		t.Error("another message is verified")
	}
}
