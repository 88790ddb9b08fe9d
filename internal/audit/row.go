package audit

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"assent/internal/agent/claude/describe"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// The kinds of a Row.
const (
	RequestRow = "request"
	MessageRow = "message"
)

// Row is one request that ended, or one message that was sent to an agent, as a report has it. What a member says of a
// message where that differs stands at MessageRowOf.
type Row struct {
	Kind        string       `json:"kind"` // RequestRow or MessageRow
	Request     string       `json:"request"`
	Asked       time.Time    `json:"asked"`
	Settled     time.Time    `json:"settled,omitzero"`
	Delivered   time.Time    `json:"delivered,omitzero"` // when the answer was written to the waiting hook
	Outcome     hook.Outcome `json:"outcome"`
	Reason      string       `json:"reason,omitempty"`
	Agent       string       `json:"agent"`
	Session     string       `json:"session"`
	Directory   string       `json:"directory,omitempty"`
	Tool        string       `json:"tool"`
	InputSHA256 string       `json:"inputSha256"`
	Risk        hook.Risk    `json:"risk,omitempty"` // empty where it is not known any more
	Edited      bool         `json:"edited,omitempty"`
	Contained   bool         `json:"contained,omitempty"`
	// Who decided, empty where nobody did: the kind, the id (of a rule, its own; of a device, a token's), the name,
	// and the thumbprint of the key that signed (RFC 7638): the decision, or the rules that decided.
	ByKind string `json:"byKind,omitempty"`
	ByID   string `json:"byId,omitempty"`
	ByName string `json:"byName,omitempty"`
	Key    string `json:"key,omitempty"`
	// Code is where the code comes from that signed with the key, as was said when it was paired.
	Code      hook.CodeOrigin `json:"codeOrigin,omitempty"`
	Verified  bool            `json:"verified,omitempty"` // the device's owner was verified for it
	Signature Signature       `json:"signature,omitempty"`
	Delivery  string          `json:"delivery,omitempty"` // the last that was heard: delivered, refused, confirmed, overruled
	// ShownTo are the devices that had the request on their screen, the first one first, as the broker took it down.
	ShownTo []Screen `json:"shownTo,omitempty"`
	// Message is what was sent, and nil of a request.
	Message *MessageCells `json:"message,omitempty"`
}

// MessageCells are what only the row of a message has.
type MessageCells struct {
	Kind         string            `json:"kind"`                   // prompt, resume, cancel or handover
	To           string            `json:"to"`                     // the agent that it was sent to
	PromptSHA256 string            `json:"promptSha256,omitempty"` // the digest of its text
	State        hook.MessageState `json:"state"`                  // how far it is, or was when it was over
	Result       string            `json:"result,omitempty"`       // of one that has ended at an agent of a host: completed, failed, cancelled
}

// Screen is one that a request was on. Name and ID are of the device; of the owner's terminal there is its Kind alone.
type Screen struct {
	Kind string    `json:"kind"`
	ID   string    `json:"id,omitempty"`
	Name string    `json:"name,omitempty"`
	Key  string    `json:"key,omitempty"` // thumbprint of the device's key
	Time time.Time `json:"time"`
}

// Who names it for a person, as of hook.Approver. The caller makes it safe to look at.
func (s *Screen) Who() string { return (&hook.Approver{Kind: s.Kind, ID: s.ID, Name: s.Name}).Who() }

// is says whether it is that of the device of this name, id or key.
func (s *Screen) is(device string) bool {
	return device == s.Name || device == s.ID || s.Key != "" && (device == s.Key || device == "device:"+s.Key)
}

// RowOf is the row of a request that ended and of its records.
func RowOf(q *api.Request, records []api.Record) Row {
	r := Row{
		Kind: RequestRow, Request: q.ID, Asked: q.CreatedAt.UTC(), Settled: q.SettledAt.UTC(), Outcome: q.Outcome, Reason: q.Reason, Agent: q.Agent, Session: q.SessionID,
		Directory: q.CWD, Tool: q.ToolName, InputSHA256: q.InputSHA256, Contained: q.Contained != "", Delivery: q.Delivery,
	}
	if in := q.Response.UpdatedInput(); !r.Contained && len(in) > 0 {
		changed := describe.Edited(q.ToolName, q.ToolInput, in)
		r.Edited = changed != nil && len(changed.Changes) > 0 // answers to a question are no edit
	}
	if q.Effects != nil {
		r.Risk = q.Risk
	}
	if by := q.DecidedBy; by != nil {
		r.ByKind, r.ByID, r.ByName, r.Verified, r.Code = by.Kind, by.ID, by.Name, by.Verified, by.CodeOrigin
	}
	for i := range records {
		rec := &records[i]
		switch {
		case rec.Step == hook.StepDelivered && r.Delivered.IsZero():
			r.Delivered = rec.Time.UTC()
		case rec.Step == hook.StepShown && rec.By != nil:
			r.ShownTo = append(r.ShownTo, Screen{rec.By.Kind, rec.By.ID, rec.By.Name, rec.Key, rec.Time.UTC()})
		case rec.Decision != nil || rec.HandBack != nil:
			r.Signature = Verify(rec)
			r.Key = KeyOf(rec, r.Signature)
		}
	}
	return r
}

// Query says which rows are meant; an empty member means all. A message has no rule, screen, risk or outcome: whoever asks
// for one of these means requests.
type Query struct {
	Kind         string // RequestRow or MessageRow
	Session      string // the whole id
	Device, Rule string // see ByDevice, ByRule
	ShownTo      string // name, id or key of a device that had it on its screen
	Risk         hook.Risk
	Outcome      hook.Outcome
}

// Meant says whether a row is.
func (q *Query) Meant(r *Row) bool {
	return (q.Kind == "" || r.Kind == q.Kind) && (q.Session == "" || r.Session == q.Session) &&
		(q.Device == "" || r.ByDevice(q.Device)) && (q.Rule == "" || r.ByRule(q.Rule)) && (q.ShownTo == "" || r.WasShownTo(q.ShownTo)) && (q.Risk == "" || r.Risk == q.Risk) && (q.Outcome == "" || r.Outcome == q.Outcome)
}

// Messages says whether a row of a message may be meant at all.
func (q *Query) Messages() bool {
	return q.Kind != RequestRow && q.Rule == "" && q.ShownTo == "" && q.Risk == "" && q.Outcome == ""
}

// ByDevice says whether the device of this name or id, or who has this key, decided or sent it.
func (r *Row) ByDevice(device string) bool {
	if r.Key != "" && (device == r.Key || device == "device:"+r.Key) {
		return true
	}
	return r.ByKind == hook.KindDevice && (device == r.ByName || device == r.ByID)
}

// WasShownTo says whether the device of this name, id or key had it on its screen.
func (r *Row) WasShownTo(device string) bool {
	return slices.ContainsFunc(r.ShownTo, func(s Screen) bool { return s.is(device) })
}

// ByRule says whether the rule of this id decided.
func (r *Row) ByRule(id string) bool { return r.ByKind == hook.KindRule && r.ByID == id }

// CSV writes rows as comma separated values, with a line of names first.
type CSV struct{ w *csv.Writer }

// NewCSV writes the line of names.
func NewCSV(to io.Writer) (*CSV, error) {
	c := &CSV{csv.NewWriter(to)}
	return c, c.w.Write([]string{"request", "asked", "settled", "delivered", "outcome", "reason", "agent", "session", "directory", "tool", "inputSha256", "risk",
		"edited", "contained", "byKind", "byId", "byName", "key", "verified", "signature", "delivery", "codeOrigin", "shownTo",
		"kind", "messageKind", "to", "promptSha256", "state", "result"})
}

// Write writes a row.
func (c *CSV) Write(r *Row) error {
	screens := make([]string, len(r.ShownTo))
	for i := range r.ShownTo {
		screens[i] = r.ShownTo[i].Who() + " " + stamp(r.ShownTo[i].Time)
	}
	m := r.Message
	if m == nil {
		m = &MessageCells{}
	}
	cells := []string{r.Request, stamp(r.Asked), stamp(r.Settled), stamp(r.Delivered), string(r.Outcome), r.Reason, r.Agent, r.Session, r.Directory, r.Tool, r.InputSHA256, string(r.Risk),
		strconv.FormatBool(r.Edited), strconv.FormatBool(r.Contained), r.ByKind, r.ByID, r.ByName, r.Key, strconv.FormatBool(r.Verified), string(r.Signature), r.Delivery, string(r.Code), strings.Join(screens, "; "),
		r.Kind, m.Kind, m.To, m.PromptSHA256, string(m.State), m.Result}
	for i := range cells {
		cells[i] = harmless(show.Line(cells[i])) // names and directories are foreign, and may be read at a terminal
	}
	return c.w.Write(cells)
}

// Close writes what is left.
func (c *CSV) Close() error {
	c.w.Flush()
	return c.w.Error()
}

// harmless keeps a program that shows tables from taking a cell for a formula.
func harmless(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
