package audit

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"assent/internal/store/tree"
)

// Kept is how long the record keeps what it is about; leaves and digests stay.
const Kept = 90 * 24 * time.Hour

// maxFindings is how many findings a report names; further ones it counts.
const maxFindings = 1000

// Finding is one thing that is wrong with an export or a proof.
type Finding struct {
	Line    int64  `json:"line"`              // of the file, from 1
	Leaf    *int64 `json:"leaf,omitempty"`    // its number in the tree
	Seq     uint64 `json:"seq,omitempty"`     // in the record
	Request string `json:"request,omitempty"` // of which it is a step
	What    string `json:"what"`
	Do      string `json:"do"` // what to do about it
}

// Report is what VerifyLines found.
type Report struct {
	Origin      string    `json:"origin"`
	From        int64     `json:"from"`   // leaves in front of the first that was there
	Size        int64     `json:"size"`   // of the tree of the newest checkpoint
	Root        tlog.Hash `json:"root"`   // of it
	Time        time.Time `json:"time"`   // of it
	Leaves      int64     `json:"leaves"` // that were verified
	Entries     int64     `json:"entries"`
	Decisions   int64     `json:"decisions"`           // and hand-backs
	Signed      int64     `json:"signed"`              // of them, by a device or a token, with a signature that fits
	SignedRules int64     `json:"signedRules"`         // and by a rule, of rules with a signature that fits, by a key of VerifyOptions.TrustRules
	RulesOver   int64     `json:"rulesOver,omitempty"` // and by a rule, of rules whose signature counted no more by then
	// Messages are those that were sent to agents, and MessagesSigned those of them with a signature that fits.
	Messages       int64 `json:"messages"`
	MessagesSigned int64 `json:"messagesSigned"`
	// RulesKeys are all keys that signed rules, in the order in which they come.
	RulesKeys []RulesKey `json:"rulesKeys,omitempty"`
	// RevokedKeys are the keys of devices that were revoked, as the record says, in its order.
	RevokedKeys []RevokedKey `json:"revokedKeys,omitempty"`
	Forgotten   int64        `json:"forgotten"` // entries that were removed on purpose
	Aged        int64        `json:"aged"`      // and those that were too old for the record
	Gone        int64        `json:"gone"`      // and those that were gone before the tree came to them
	Checkpoints int64        `json:"checkpoints"`
	// Proof says that these were the proofs of single entries, which may leave others of the same request out.
	Proof bool `json:"proof,omitempty"`
	// Unproved are entries that a proof names without proving them. A proof need not name all.
	Unproved []Unproved `json:"unproved,omitempty"`
	Findings []Finding  `json:"findings"`
	More     int64      `json:"more,omitempty"` // findings beyond those that are named
}

// Unproved is an entry of the record for which a proof has no proof; Why is tree.WhyBefore or tree.WhyWaits.
type Unproved struct {
	Seq uint64 `json:"seq"`
	Why string `json:"why"`
}

// RevokedKey is the key of a device that the record says was revoked.
type RevokedKey struct {
	Key  string    `json:"key"`  // its thumbprint
	Time time.Time `json:"time"` // of the entry
	Seq  uint64    `json:"seq"`  // of it: what the key signed behind that counts no more
	// By is who revoked it, and Device whose key it was; empty where the entry is gone.
	By     string `json:"by,omitempty"`
	Device string `json:"device,omitempty"`
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Findings) == 0 }

// VerifyOptions is what VerifyLines needs beside the lines.
type VerifyOptions struct {
	// Keys are those whose checkpoints are believed.
	Keys []note.Verifier
	// TrustRules are the thumbprints of the keys whose signature of rules counts, with the time since when rules were signed that
	// count; zero: any time. Where it is empty no such signature counts, and none is a finding.
	TrustRules map[string]time.Time
	// Revoked are the thumbprints of keys that count no more, with the time since when; zero: they never did. What such a key signed
	// that was signed or recorded later is a finding: a broker takes none of it.
	Revoked map[string]time.Time
	// Kept are checkpoints that were kept elsewhere.
	Kept []tree.Checkpoint
	// Read is when the record was read, if that was later than its last checkpoint: a backup loses what is too old when it is looked
	// into. Zero: it was exported then.
	Read time.Time
	// Decode is called by several goroutines at once.
	Decode tree.Decode
	// Skew is by how much clocks may differ; 0 is the constant of this name.
	Skew time.Duration
	// Proved is called with each entry of the record that a proof proves, and the number of its leaf; nil is fine.
	Proved func(seq uint64, n int64)
	// Missing is called with each entry of which a proof says that the tree has been there, and has nothing of it, which is a
	// finding; nil is fine.
	Missing func(seq uint64)
}

// What to do about findings.
const (
	doCompare  = "compare with an export that was kept before, and with checkpoints that others kept; keep the broker's state directory as it is"
	doKey      = "ask who runs the broker which keys sign for it (assent audit checkpoint there), and name each with --key"
	doAgain    = "export again, and copy the file whole"
	doRollback = "the broker runs on an older copy of its record: find what came after, in a backup or at whoever keeps exports"
	doApprover = "ask who holds the device whether the decision is theirs, and look at the request with assent trace"
)

const doRevoked = "find out who had the device then, and look at the request with assent trace, and at what came of it; hooks that require signatures refuse the key once it is not in hook.conf"

// VerifyLines verifies the lines of an export or of proofs. An error says that they could not be read; what is wrong
// with them is in the report. The memory that it takes grows with what is missing and what still waits, and not with the
// requests that were settled: their ids are in a temporary file where they are many.
func VerifyLines(r io.Reader, opts VerifyOptions) (Report, error) {
	v := &verifier{VerifyOptions: opts, missing: map[uint64]gone{}, open: map[string]waiting{}, messages: map[string]place{}, keys: map[string]string{}, rulesKeys: map[string]int{}, over: map[string]uint64{}}
	v.rep.Findings = []Finding{}
	if v.Skew == 0 {
		v.Skew = Skew
	}
	slices.SortFunc(v.Kept, func(a, b tree.Checkpoint) int { return int(min(1, max(-1, a.Size-b.Size))) })
	var end error
	for b := range readBatches(r, opts.Decode) {
		<-b.done
		for i := range b.lines {
			v.line++
			if b.lines[i].err != nil {
				v.find(Finding{What: b.lines[i].err.Error(), Do: doAgain})
			} else {
				v.take(&b.lines[i])
			}
		}
		v.line, end = b.read, b.end
	}
	switch {
	case errors.Is(end, io.EOF):
	case errors.Is(end, tree.ErrSum), errors.Is(end, tree.ErrCut):
		v.find(Finding{What: end.Error(), Do: doAgain})
	default:
		return v.rep, errors.Join(end, v.once.close())
	}
	v.end()
	return v.rep, v.twice()
}

type verifier struct {
	VerifyOptions
	rep       Report
	line      int64 // that was read last, from 1
	begun     bool
	proofs    bool // single leaves
	edge      tree.Edge
	start     uint64 // the first entry of all; 0 where that is not here
	next      uint64 // the next entry of the record; 0 where that is not known
	last      *tree.Checkpoint
	covered   int64 // leaves that a checkpoint has
	time      time.Time
	missing   map[uint64]gone
	agedAt    int // how many are missing when it is time to look which are too old
	open      map[string]waiting
	messages  map[string]place  // that were sent and are not over, by what the record calls them: where they were sent
	once      once              // the requests that were settled
	kept      error             // why these could not be kept
	keys      map[string]string // the key of each device and token that decided; "" of one that does not sign
	rulesKeys map[string]int    // places in Report.RulesKeys
	over      map[string]uint64 // the keys that were revoked, and by which entry
}

// waiting is a request that waits.
type waiting struct {
	place
	time  time.Time
	input string // the digest of its input; empty where that is not known
}

// gone is an entry that is not there.
type gone struct {
	line, leaf int64
	request    string
	time       time.Time
}

func (v *verifier) find(f Finding) {
	if len(v.rep.Findings) == maxFindings {
		v.rep.More++
		return
	}
	if f.Line == 0 {
		f.Line = max(1, v.line)
	}
	v.rep.Findings = append(v.rep.Findings, f)
}

func (v *verifier) findIn(n int64, l *tree.Leaf, what, do string) {
	v.find(Finding{Leaf: &n, Seq: l.Seq, Request: l.Request, What: what, Do: do})
}

func (v *verifier) take(l *line) {
	_, isExport := l.parsed.(*tree.ExportLine)
	_, isProofs := l.parsed.(*tree.ProofsLine)
	if v.begun == (isExport || isProofs) {
		v.find(Finding{What: "this line does not belong here: an export begins with a line that says so, and has one", Do: doAgain})
		return
	}
	switch parsed := l.parsed.(type) {
	case *tree.ExportLine:
		v.begin(parsed.Version, parsed.Origin)
		v.edge = tree.Edge{Size: parsed.Size, Hashes: parsed.Edge}
		if !v.edge.Fits() {
			v.find(Finding{What: "the edge of the tree does not fit its size", Do: doAgain})
			v.edge = tree.Edge{}
		}
		v.rep.From, v.covered = v.edge.Size, v.edge.Size
		v.compareKept()
	case *tree.ProofsLine:
		v.begin(parsed.Version, parsed.Origin)
		v.proofs, v.rep.Proof = true, true
	case *tree.LeafLine:
		v.leaf(l)
	case *tree.ProofLine:
		v.proof(l, parsed.Hashes)
	case *tree.UnprovedLine:
		v.unproved(parsed)
	case *tree.NoteLine:
		v.checkpoint(parsed.Note)
	}
}

func (v *verifier) begin(version int, origin string) {
	v.begun, v.rep.Origin = true, origin
	if version != tree.Version {
		v.find(Finding{What: fmt.Sprintf("this is version %d of the format, and this program knows %d", version, tree.Version), Do: "use a newer assent"})
	}
	for _, c := range v.Kept {
		if c.Origin != origin {
			v.find(Finding{What: fmt.Sprintf("the kept checkpoint is of another tree, %s, than this export, of %s: the record was begun anew, or they are of two brokers", c.Origin, origin), Do: doRollback})
		}
	}
}

// leaf takes the next leaf of an export.
func (v *verifier) leaf(l *line) {
	if v.proofs {
		v.find(Finding{What: "a leaf without a proof among proofs", Do: doAgain})
		return
	}
	if l.leafErr != nil {
		v.find(Finding{Leaf: &l.n, What: "the leaf cannot be read: it was changed", Do: doCompare})
		v.edge.Append(l.hash, nil)
		return
	}
	if l.n != v.edge.Size {
		v.findIn(l.n, &l.leaf, fmt.Sprintf("leaf %d is expected here: leaves were left out, put in or moved", v.edge.Size), doCompare)
	}
	v.order(l.n, &l.leaf)
	v.edge.Append(l.hash, nil)
	v.rep.Leaves++
	v.compareKept()
	v.content(l)
}

// order looks at the sequences, which leave nothing out.
func (v *verifier) order(n int64, l *tree.Leaf) {
	if n == 0 && l.Kind != tree.KindStart {
		v.findIn(n, l, "the tree does not begin with its start", doCompare)
	}
	if l.Seq == 0 || max(l.Seq, l.To) == math.MaxUint64 { // behind which nothing could be expected
		v.findIn(n, l, "no record has an entry of this number", doCompare)
	}
	switch l.Kind {
	case tree.KindStart:
		if n == 0 {
			v.start = l.Seq
		} else {
			v.findIn(n, l, fmt.Sprintf("the tree was begun again here: the record was deleted and made anew, or was not what the tree said of it, and goes on at %d", l.Seq), doCompare)
		}
		v.next = l.Seq
	case tree.KindRecord:
		if v.next != 0 && l.Seq != v.next {
			v.findIn(n, l, fmt.Sprintf("entry %d of the record is expected here", v.next), doCompare)
		}
		v.next = l.Seq + 1
	case tree.KindGap:
		if v.next != 0 && l.Seq != v.next || l.To < l.Seq {
			v.findIn(n, l, fmt.Sprintf("entry %d of the record is expected here", v.next), doCompare)
		} else {
			v.rep.Gone += int64(l.To - l.Seq + 1)
			v.findIn(n, l, fmt.Sprintf("the entries %d to %d of the record were gone before the tree came to them", l.Seq, l.To), doCompare)
		}
		v.next = l.To + 1
	case tree.KindForgotten:
		if v.next != 0 && l.Seq >= v.next {
			v.findIn(n, l, "an entry is said to be forgotten that the tree has not", doCompare)
		}
		if _, ok := v.missing[l.Seq]; ok {
			v.rep.Forgotten++
			delete(v.missing, l.Seq)
		}
	}
}

// proof takes a leaf with its proof.
func (v *verifier) proof(l *line, hashes []tlog.Hash) {
	switch {
	case !v.proofs:
		v.find(Finding{What: "a proof in an export", Do: doAgain})
		return
	case l.leafErr != nil:
		v.find(Finding{Leaf: &l.n, What: "the leaf cannot be read: it was changed", Do: doCompare})
		return
	case v.last == nil:
		v.findIn(l.n, &l.leaf, "a proof without a checkpoint", doAgain)
		return
	}
	v.rep.Leaves++
	if l.n < 0 || l.n >= v.last.Size || tlog.CheckRecord(hashes, v.last.Size, v.last.Root, l.n, l.hash) != nil {
		v.findIn(l.n, &l.leaf, "the checkpoint has no such leaf there", doCompare)
	} else if v.Proved != nil {
		v.Proved(l.leaf.Seq, l.n)
	}
	v.content(l)
}

// unproved takes the word of whoever proves that an entry has no proof.
func (v *verifier) unproved(l *tree.UnprovedLine) {
	switch {
	case !v.proofs:
		v.find(Finding{Seq: l.Seq, What: "an export has no entries that are not proved", Do: doAgain})
	case l.Why == tree.WhyBefore, l.Why == tree.WhyWaits:
		if len(v.rep.Unproved) < maxFindings {
			v.rep.Unproved = append(v.rep.Unproved, Unproved{l.Seq, l.Why})
		} else {
			v.find(Finding{Seq: l.Seq, What: "there are more entries without a proof than a request has", Do: doAgain})
		}
	case l.Why == tree.WhyMissing:
		if v.Missing != nil {
			v.Missing(l.Seq)
		}
		v.find(Finding{Seq: l.Seq, What: "the entry stands in the record, and the tree has nothing of it: it was put in later", Do: doCompare})
	default:
		v.find(Finding{Seq: l.Seq, What: "it is not said why the entry is not proved", Do: "use a newer assent"})
	}
}

func (v *verifier) end() {
	if !v.begun {
		v.find(Finding{What: "this is no export", Do: "write one with: assent audit export"})
		return
	}
	if v.last == nil {
		v.find(Finding{What: "there is no checkpoint: nothing here is signed", Do: doAgain})
		return
	}
	if v.proofs {
		if v.rep.Leaves == 0 && len(v.rep.Findings) == 0 {
			v.find(Finding{What: "there is no proof", Do: doAgain})
		}
		return
	}
	if v.covered != v.edge.Size {
		v.find(Finding{What: fmt.Sprintf("the leaves from %d on have no checkpoint", v.covered), Do: doAgain})
	}
	v.comparePast()
	horizon := v.horizon()
	lost := make([]uint64, 0, len(v.missing))
	for seq, m := range v.missing {
		if m.time.Before(horizon) {
			v.rep.Aged++
		} else {
			lost = append(lost, seq)
		}
	}
	slices.Sort(lost)
	for _, seq := range lost {
		m := v.missing[seq]
		v.find(Finding{Line: m.line, Leaf: &m.leaf, Seq: seq, Request: m.request, What: "the entry is missing, and nothing says that it was forgotten", Do: doCompare})
	}
}
