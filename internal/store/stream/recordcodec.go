package stream

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"github.com/nats-io/nats.go"

	"assent/internal/hook"
)

// A record is a message on approvals.<request_id>. An asked record has the agent's payload as
// its body, as received, and the rest as JSON in the header Assent-Record; every other record
// is JSON in the body.
const (
	// HeaderRecord holds an asked record without its payload.
	HeaderRecord = "Assent-Record"
	// HeaderSalt makes the hash of a record one that nobody can guess a short command by: 32 random bytes
	// in hex. It goes with the record when that is forgotten. Records of earlier releases have none.
	HeaderSalt = "Assent-Salt"

	// RecordFormat is the format of the records that this program writes. Brokers of another one cannot
	// share a record with it.
	RecordFormat = 1

	recordSubjects = "approvals.>"

	// maxRecordHeader is how long HeaderRecord may be, in bytes; nats-server checks the whole
	// header against 64 KiB. A longer record has everything in the body.
	maxRecordHeader = 32 << 10
)

func recordSubject(requestID string) string { return "approvals." + requestID }

// storedRecord is a record in JSON, and what JSON would not keep exactly.
type storedRecord struct {
	hook.Record
	// ToolInputAt and SuggestionsAt are where the two stand in the payload: as parts of it
	// they keep their bytes, on which digests stand, and are not stored twice.
	ToolInputAt   *span `json:"toolInputAt,omitempty"`
	SuggestionsAt *span `json:"permissionSuggestionsAt,omitempty"`
	// Exact holds JSON texts that encoding/json would rewrite (white space, "<" and so on),
	// by name.
	Exact map[string][]byte `json:"exact,omitempty"`
	// Payload is the agent's, of a record that has no room in a header.
	Payload []byte `json:"payload,omitempty"`
}

// span is an offset and a length in bytes.
type span [2]int

// recordMessage is the message for a record.
func recordMessage(rec hook.Record) (*nats.Msg, error) {
	msg := nats.NewMsg(recordSubject(rec.RequestID))
	salt := make([]byte, 32)
	_, _ = rand.Read(salt) // it never fails
	msg.Header[HeaderSalt] = []string{hex.EncodeToString(salt)}
	st := storedRecord{Record: rec, Exact: map[string][]byte{}}
	st.Seq = 0
	var raw []byte
	if rec.Request != nil {
		req := *rec.Request
		raw = req.Raw
		st.ToolInputAt = take(&req.ToolInput, raw)
		st.SuggestionsAt = take(&req.Suggestions, raw)
		st.keep("toolInput", &req.ToolInput)
		st.keep("permissionSuggestions", &req.Suggestions)
		st.Request = &req
	}
	if rec.Decision != nil {
		d := *rec.Decision
		st.keep("updatedInput", &d.UpdatedInput)
		st.keep("updatedPermissions", &d.UpdatedPermissions)
		st.Decision = &d
	}
	text, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	switch {
	case len(raw) == 0:
		msg.Data = text
	case len(text) <= maxRecordHeader:
		msg.Header[HeaderRecord] = []string{string(text)} // JSON text has no line breaks
		msg.Data = raw
	default:
		st.Payload = raw
		if msg.Data, err = json.Marshal(st); err != nil {
			return nil, fmt.Errorf("encode record: %w", err)
		}
	}
	return msg, nil
}

// take moves a part of the payload out of the record and says where it stands. A text that
// is no part of it stays.
func take(part *hook.JSON, raw []byte) *span {
	if len(*part) == 0 {
		return nil
	}
	at := bytes.Index(raw, *part)
	if at < 0 {
		return nil
	}
	s := span{at, len(*part)}
	*part = nil
	return &s
}

// keep moves a JSON text that would not come back byte for byte to Exact.
func (st *storedRecord) keep(name string, text *hook.JSON) {
	if len(*text) == 0 {
		return
	}
	if same, err := json.Marshal(*text); err == nil && bytes.Equal(same, *text) && string(*text) != "null" {
		return
	}
	st.Exact[name] = *text
	*text = nil
}

// messageRecord undoes recordMessage.
func messageRecord(header nats.Header, body []byte, seq uint64) (hook.Record, error) {
	var st storedRecord
	text, raw := body, []byte(nil)
	if h := header[HeaderRecord]; len(h) > 0 {
		text, raw = []byte(h[0]), body
	}
	if err := json.Unmarshal(text, &st); err != nil {
		return hook.Record{}, fmt.Errorf("read record %d: %w", seq, err)
	}
	if st.Payload != nil {
		raw = st.Payload
	}
	rec := st.Record
	rec.Seq = seq
	if rec.ID == "" || rec.RequestID == "" || rec.Step == "" {
		return hook.Record{}, fmt.Errorf("read record %d: it has no id, request or step", seq)
	}
	if (rec.Step == hook.StepAsked) != (rec.Request != nil) {
		return hook.Record{}, fmt.Errorf("read record %d: a request goes with the step %q and no other", seq, hook.StepAsked)
	}
	if req := rec.Request; req != nil {
		req.Raw = raw
		if err := put(&req.ToolInput, st.ToolInputAt, raw, st.Exact["toolInput"]); err != nil {
			return hook.Record{}, fmt.Errorf("read record %d: toolInput: %w", seq, err)
		}
		if err := put(&req.Suggestions, st.SuggestionsAt, raw, st.Exact["permissionSuggestions"]); err != nil {
			return hook.Record{}, fmt.Errorf("read record %d: permissionSuggestions: %w", seq, err)
		}
	}
	if d := rec.Decision; d != nil {
		_ = put(&d.UpdatedInput, nil, nil, st.Exact["updatedInput"])
		_ = put(&d.UpdatedPermissions, nil, nil, st.Exact["updatedPermissions"])
	}
	return rec, nil
}

// put undoes take and keep.
func put(part *hook.JSON, at *span, raw, exact []byte) error {
	switch {
	case at != nil:
		from, n := at[0], at[1]
		if from < 0 || n < 0 || from > math.MaxInt-n || from+n > len(raw) {
			return fmt.Errorf("bytes %d to %d are not in the payload of %d bytes", from, from+n, len(raw))
		}
		*part = hook.JSON(raw[from : from+n : from+n])
	case exact != nil:
		*part = exact
	}
	return nil
}
