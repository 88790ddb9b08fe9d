package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/store/tree"
)

// shelf is a record that does not move, and the blocks of its tree, which the follower and whoever asks
// for a checkpoint write, and several read.
type shelf struct {
	entries []tree.Entry
	mu      sync.Mutex // of blocks
	blocks  [][]byte
}

func (s *shelf) written() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks
}

func (s *shelf) LastBlock(context.Context) (uint64, []byte, error) {
	blocks := s.written()
	if len(blocks) == 0 {
		return 0, nil, tree.ErrNoBlock
	}
	return uint64(len(blocks)), blocks[len(blocks)-1], nil
}
func (s *shelf) Block(_ context.Context, n uint64) ([]byte, error) { return s.written()[n-1], nil }
func (s *shelf) AppendBlock(_ context.Context, _ uint64, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = append(s.blocks, b)
	return nil
}
func (s *shelf) EntriesAfter(ctx context.Context, c follow.Cursor, fn func(tree.Entry, tree.Decode)) error {
	for _, e := range s.entries {
		if e.Seq > c.Seq {
			fn(e, nil)
		}
	}
	<-ctx.Done()
	return ctx.Err()
}
func (s *shelf) EntriesBetween(_ context.Context, from, to uint64, fn func(tree.Entry) error) error {
	for _, e := range s.entries[from-1 : min(to, uint64(len(s.entries)))] { // none is missing
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}
func (s *shelf) EntriesOf(context.Context, string) ([]uint64, error) { return nil, nil }
func (s *shelf) RecordsNow(context.Context) (follow.Stream, error) {
	if len(s.written()) == 0 {
		return follow.Stream{Made: time.Unix(1, 0)}, nil // the tree begins in an empty record
	}
	return follow.Stream{Made: time.Unix(1, 0), Last: uint64(len(s.entries))}, nil
}

func decode(e tree.Entry) (rec hook.Record, err error) {
	err = json.Unmarshal(e.Body, &rec)
	return rec, err
}

// requests are n requests, asked and allowed in turn by two devices.
func requests(n int) (records []hook.Record) {
	keys := []*authtest.Key{authtest.NewKey(), authtest.NewKey()}
	at := time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)
	for i := range n {
		id, key := fmt.Sprintf("r-%d", i), keys[i%2]
		jwk := key.JWK()
		d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: fmt.Sprintf("%064d", i), SignedAt: "2026-11-28T05:00:00Z", PublicKey: &jwk}
		d.Signature = key.Sign(auth.DecisionText(id, d))
		records = append(records,
			hook.Record{ID: "a", RequestID: id, Step: hook.StepAsked, Time: at, Request: &hook.Request{ID: id, ToolName: "Bash", InputSHA256: d.InputSHA256}},
			hook.Record{ID: "d", RequestID: id, Step: hook.StepDecided, Time: at, Outcome: hook.Allowed, Decision: &d, By: &hook.Approver{Kind: "device", ID: fmt.Sprintf("d-%d", i%2), Name: "phone"}})
	}
	return records
}

// exported is a record as it is exported with a key.
func exported(t testing.TB, key *tree.Key, records []hook.Record) (text []byte, opts audit.VerifyOptions) {
	t.Helper()
	s := &shelf{}
	for i := range records {
		s.entries = append(s.entries, entryOf(t, i, &records[i]))
	}
	var out bytes.Buffer
	_, opts = exportTo(t, key, s, func() io.Writer {
		out.Reset()
		return &out
	})
	return out.Bytes(), opts
}

// entryOf is a record as the entry at a place, from 0.
func entryOf(t testing.TB, i int, rec *hook.Record) tree.Entry {
	t.Helper()
	body, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Entry{Seq: uint64(i + 1), Subject: "approvals." + rec.RequestID, Header: map[string][]string{"Assent-Salt": {strings.Repeat("5a", 32)}}, Body: body}
}

// exportTo makes the tree over a record that does not move, and exports it to what anew returns, which is empty each time.
func exportTo(t testing.TB, key *tree.Key, s tree.Store, anew func() io.Writer) (l *tree.Log, opts audit.VerifyOptions) {
	t.Helper()
	l, err := tree.Open(t.Context(), tree.Config{Store: s, Key: key, Decode: decode})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	for {
		err := l.Export(t.Context(), time.Time{}, tree.NewLineWriter(anew()))
		if err == nil {
			break
		}
		if !errors.Is(err, tree.ErrBehind) { // else it has not read all yet
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	public, err := l.Public()
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return l, audit.VerifyOptions{Keys: []note.Verifier{v}, Decode: decode}
}

func newKey(t testing.TB) *tree.Key {
	t.Helper()
	key, err := tree.LoadKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func verify(t *testing.T, text []byte, opts audit.VerifyOptions) audit.Report {
	t.Helper()
	rep, err := audit.VerifyLines(bytes.NewReader(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Findings {
		if f.Line == 0 || f.What == "" || f.Do == "" {
			t.Errorf("a finding without a place, words or help: %+v", f)
		}
	}
	return rep
}

// closed gives lines an end that fits them: whoever changes an export can do that.
func closed(lines [][]byte) []byte {
	var out bytes.Buffer
	w := tree.NewLineWriter(&out)
	for _, l := range lines {
		w.Line(json.RawMessage(l))
	}
	if err := w.End(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// TestChangedLines does what can be done to an export without the broker's key.
func TestChangedLines(t *testing.T) {
	text, opts := exported(t, newKey(t), requests(3))
	if rep := verify(t, text, opts); !rep.OK() || rep.Signed != 3 || rep.Entries != 6 {
		t.Fatalf("got %+v", rep)
	}
	other, _ := exported(t, newKey(t), requests(3))
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	lines = lines[:len(lines)-1]
	put := func(i int, l []byte) [][]byte {
		return append(append(append([][]byte{}, lines[:i]...), l), lines[i+1:]...)
	}
	cut := func(i int) [][]byte { return append(append([][]byte{}, lines[:i]...), lines[i+1:]...) }
	n := len(lines) - 1 // the last checkpoint
	for name, changed := range map[string][][]byte{
		"a leaf is left out":          cut(4),
		"the last leaf is left out":   cut(n - 1),
		"the last checkpoint is gone": cut(n),
		"the first checkpoint is":     cut(2),
		"a leaf is there twice":       append(append(append([][]byte{}, lines[:4]...), lines[4]), lines[4:]...),
		"two are swapped":             append(append(append([][]byte{}, lines[:4]...), lines[5], lines[4]), lines[6:]...),
		"an entry is taken out":       put(4, append(bytes.Clone(lines[4][:bytes.Index(lines[4], []byte(`,"entry"`))]), '}')),
		"another origin":              put(0, bytes.Replace(lines[0], []byte("assent/"), []byte("assent/0"), 1)),
		"another size":                put(0, bytes.Replace(lines[0], []byte(`"size":0`), []byte(`"size":1`), 1)),
	} {
		if verify(t, closed(changed), opts).OK() {
			t.Errorf("%s: verified", name)
		}
	}
	if verify(t, other, opts).OK() {
		t.Error("an export that another key signed is verified")
	}
	if verify(t, text[:len(text)-10], opts).OK() || verify(t, append(bytes.Clone(text), text...), opts).OK() || verify(t, nil, opts).OK() {
		t.Error("an export that is cut, or doubled, or empty is verified")
	}
	without := opts
	without.Keys = nil
	if verify(t, text, without).OK() {
		t.Error("without a key it is verified")
	}
}

// TestEveryByte changes each byte of a whole export, with an end that fits where it can, and each of 200 entries.
func TestEveryByte(t *testing.T) {
	text, opts := exported(t, newKey(t), requests(1)[:1])
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		lines := bytes.Split(bytes.TrimSuffix(bad, []byte("\n")), []byte("\n"))
		fits := true
		for _, l := range lines {
			fits = fits && json.Valid(l)
		}
		if fits && i < bytes.LastIndex(text, []byte(`{"type":"end"`)) {
			bad = closed(lines[:len(lines)-1])
		}
		if verify(t, bad, opts).OK() {
			t.Errorf("byte %d may be another", i)
		}
	}
	for i, rec := range requests(100) {
		body, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		e := tree.Entry{Seq: uint64(i), Subject: "approvals." + rec.RequestID, Header: map[string][]string{"Assent-Salt": {"5a"}}, Body: body}
		leaf, entry := tree.LeafOf(e, decode), e.Text()
		for at := range entry {
			entry[at] ^= 1
			if got, err := tree.ParseEntry(entry); err == nil && got.Hash() == leaf.Commitment {
				t.Errorf("entry %d: byte %d may be another", i, at)
			}
			entry[at] ^= 1
		}
	}
}

// TestSignedAnew does what somebody can do who has the broker's key, and writes the whole tree anew.
func TestSignedAnew(t *testing.T) {
	key := newKey(t)
	text, opts := exported(t, key, requests(4))
	for name, c := range map[string]struct {
		change func(recs []hook.Record) []hook.Record
		words  string
	}{
		"a decision is another": {func(r []hook.Record) []hook.Record { r[1].Decision.Behavior = hook.BehaviorDeny; return r }, "does not fit the decision"},
		"devices are swapped":   {func(r []hook.Record) []hook.Record { r[1].By, r[3].By = r[3].By, r[1].By; return r }, "another key than before"},
		"decisions are swapped": {func(r []hook.Record) []hook.Record {
			r[1].Decision, r[3].Decision = r[3].Decision, r[1].Decision
			return r
		}, "another input"},
		"a device has signed nothing": {func(r []hook.Record) []hook.Record {
			r[1].Decision.PublicKey, r[1].Decision.Signature = nil, ""
			return r
		}, "nothing is signed"},
		"the key is gone":                         {func(r []hook.Record) []hook.Record { r[1].Decision.PublicKey = nil; return r }, "nothing is signed"},
		"an old allow is asked and decided again": {func(r []hook.Record) []hook.Record { return append(r, r[0], r[1]) }, "asked before"},
		"it is asked again while it waits": {func(r []hook.Record) []hook.Record {
			again := *r[0].Request
			again.InputSHA256, again.ToolName = strings.Repeat("f", 64), "Write"
			return append([]hook.Record{{ID: "z", RequestID: r[0].RequestID, Step: hook.StepAsked, Time: r[0].Time, Request: &again}}, r...)
		}, "asked before"},
		"the outcome is another": {func(r []hook.Record) []hook.Record {
			r[1].Outcome = hook.Denied
			return r
		}, "another outcome"},
		"the outcome of a hand-back is an allow": {func(r []hook.Record) []hook.Record {
			r[1].HandBack, r[1].Decision, r[1].Step = &hook.HandBack{InputSHA256: r[1].Decision.InputSHA256}, nil, hook.StepEnded
			return r
		}, "another outcome"},
		"there is no decision at all": {func(r []hook.Record) []hook.Record { r[1].Decision = nil; return r }, "another outcome"},
		"it ends as allowed": {func(r []hook.Record) []hook.Record {
			r[1].Step, r[1].Decision, r[1].By = hook.StepEnded, nil, nil
			return r
		}, "another outcome"},
		"nobody is named": {func(r []hook.Record) []hook.Record { r[1].By = nil; return r }, "nobody is named"},
		"a signature stands beside the owner": {func(r []hook.Record) []hook.Record {
			r[1].By.Kind = hook.KindOwner
			return r
		}, "a signature stands beside"},
		"a token's decision is another": {func(r []hook.Record) []hook.Record {
			r[1].By.Kind, r[1].Decision.Message = hook.KindToken, "x"
			return r
		}, "signature of the token does not fit"},
		"a token signs no longer": {func(r []hook.Record) []hook.Record {
			r[1].By.Kind, r[5].By.Kind = hook.KindToken, hook.KindToken // of one id
			r[5].Decision.PublicKey, r[5].Decision.Signature = nil, ""
			return r
		}, "signs nothing here, and did before"},
		"what was asked is another": {func(r []hook.Record) []hook.Record { r[0].Request.InputSHA256 = strings.Repeat("f", 64); return r }, "another input"},
		"a decision is put in":      {func(r []hook.Record) []hook.Record { return append(r, r[1]) }, "did not wait"},
		"a decision is moved to a later day": {func(r []hook.Record) []hook.Record {
			for i := range r {
				r[i].Time = r[i].Time.Add(24 * time.Hour)
			}
			return r
		}, "before the request was asked"},
		"a decision is moved to an earlier day": {func(r []hook.Record) []hook.Record {
			for i := range r {
				r[i].Time = r[i].Time.Add(-24 * time.Hour)
			}
			return r
		}, "after it was recorded"},
		"one step is of another day": {func(r []hook.Record) []hook.Record {
			r[5].Time = r[5].Time.Add(-24 * time.Hour)
			return r
		}, "the time runs back here by 24h0m0s"},
		"it stands before the asking": {func(r []hook.Record) []hook.Record { r[0], r[1] = r[1], r[0]; return r }, "did not wait"},
	} {
		anew, opts := exported(t, key, c.change(requests(4)))
		found := false
		for _, f := range verify(t, anew, opts).Findings {
			found = found || strings.Contains(f.What, c.words)
		}
		if !found {
			t.Errorf("%s: %q is not found", name, c.words)
		}
	}
	// One that leaves a request out is found by a kept checkpoint alone.
	kept, err := keptOf(text)
	if err != nil {
		t.Fatal(err)
	}
	anew, fits := exported(t, key, requests(4)[:6])
	if rep := verify(t, anew, fits); !rep.OK() {
		t.Errorf("got %+v", rep)
	}
	fits.Kept = []tree.Checkpoint{kept}
	if verify(t, anew, fits).OK() {
		t.Error("a record without its last request is verified against a checkpoint that has it")
	}
	opts.Kept = []tree.Checkpoint{kept}
	if rep := verify(t, text, opts); !rep.OK() {
		t.Errorf("against its own checkpoint: %+v", rep)
	}
	if _, err := audit.Next(&kept, api.Checkpoint{Note: kept.Note}, opts.Keys...); err != nil {
		t.Errorf("the same checkpoint again: %v", err)
	}
	older := kept
	older.Size++
	if _, err := audit.Next(&older, api.Checkpoint{Note: kept.Note}, opts.Keys...); err == nil || !strings.Contains(err.Error(), audit.ErrOlder.Error()) {
		t.Errorf("an older one: %v", err)
	}
}

// TestSaidToBeOld: what is missing is not excused by whoever has the key and writes that it was too old, by another time of the
// entry or of the checkpoint.
func TestSaidToBeOld(t *testing.T) {
	key := newKey(t)
	takeOut := func(text []byte) []byte {
		lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
		lines = lines[:len(lines)-1]
		for i, l := range lines {
			if at := bytes.Index(l, []byte(`,"entry"`)); at > 0 && bytes.Contains(l, []byte(`\nr-1\ndecided\n`)) {
				lines[i] = append(bytes.Clone(l[:at]), '}')
			}
		}
		return closed(lines)
	}
	whole, opts := exported(t, key, requests(3))
	if rep := verify(t, takeOut(whole), opts); rep.OK() || rep.Aged != 0 {
		t.Errorf("an entry of yesterday that is missing: %+v", rep)
	}
	opts.Read = time.Now().Add(100 * 24 * time.Hour) // a backup that is looked into much later has lost it
	if rep := verify(t, takeOut(whole), opts); !rep.OK() || rep.Aged != 1 {
		t.Errorf("the same, read when it was too old: %+v", rep)
	}
	recs := requests(3)
	recs[3].Time = recs[3].Time.Add(-100 * 24 * time.Hour)
	early, opts := exported(t, key, recs)
	if rep := verify(t, takeOut(early), opts); rep.Aged != 1 || !strings.Contains(fmt.Sprint(rep.Findings), "the time runs back") {
		t.Errorf("an entry that is said to be old: %+v", rep)
	}
	var late []byte
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * 365 * 24 * time.Hour) // from 2000
		late, opts = exported(t, key, requests(3))
	})
	if rep := verify(t, takeOut(late), opts); rep.Aged != 1 || !strings.Contains(fmt.Sprint(rep.Findings), "a time that has not come") {
		t.Errorf("a checkpoint of the future: %+v", rep)
	}
}

// TestMovedAhead: whoever has the key and writes later times into the record than it is, is found by the time of the checkpoint.
func TestMovedAhead(t *testing.T) {
	recs := requests(2)
	for i := range recs {
		recs[i].Time = time.Now().Add(time.Hour)
		if d := recs[i].Decision; d != nil {
			d.SignedAt = "" // of somebody who does not sign
			d.PublicKey, d.Signature, recs[i].By.Kind, recs[i].By.ID = nil, "", hook.KindOwner, ""
		}
	}
	text, opts := exported(t, newKey(t), recs)
	if rep := verify(t, text, opts); len(rep.Findings) != 1 || !strings.Contains(rep.Findings[0].What, "of a later time than that") {
		t.Errorf("got %+v", rep.Findings)
	}
}

// TestTimely: a checkpoint is of the time since the broker was asked last, give or take what clocks may differ.
func TestTimely(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	kept := &tree.Checkpoint{Size: 4, Time: now.Add(-time.Hour)}
	for name, c := range map[string]struct {
		kept   *tree.Checkpoint
		size   int64
		time   time.Duration
		looked time.Duration // 0: never
		wrong  bool
	}{
		"the first":                 {nil, 4, -time.Hour, 0, false},
		"a newer one":               {kept, 5, -time.Minute, -2 * time.Minute, false},
		"just before the last look": {kept, 5, -6 * time.Minute, -2 * time.Minute, false},
		"well before the last look": {kept, 5, -8 * time.Minute, -2 * time.Minute, true},
		"nobody has looked":         {kept, 5, -50 * time.Minute, 0, false},
		"the same one again":        {kept, 4, -time.Hour, -2 * time.Minute, false},
		"a little ahead":            {kept, 5, 4 * time.Minute, -2 * time.Minute, false},
		"the future":                {kept, 5, 6 * time.Minute, -2 * time.Minute, true},
		"the first, of the future":  {nil, 4, 6 * time.Minute, 0, true},
	} {
		looked := time.Time{}
		if c.looked != 0 {
			looked = now.Add(c.looked)
		}
		if err := audit.Timely(c.kept, tree.Checkpoint{Size: c.size, Time: now.Add(c.time)}, looked, now, audit.Skew); (err != nil) != c.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRevoked: what a key signed that counts no more is found, by the time of the record or by its own, and nothing of before.
func TestRevoked(t *testing.T) {
	recs := requests(4)
	text, opts := exported(t, newKey(t), recs)
	key := auth.Thumbprint(*recs[1].Decision.PublicKey) // of every other request
	at := recs[1].Time
	for name, c := range map[string]struct {
		since time.Time
		found int
	}{"always": {time.Time{}, 2}, "before": {at.Add(-time.Hour), 2}, "that moment": {at, 2}, "later": {at.Add(time.Second), 0}} {
		opts.Revoked = map[string]time.Time{key: c.since}
		rep := verify(t, text, opts)
		if len(rep.Findings) != c.found || c.found > 0 && !strings.Contains(rep.Findings[0].What, "device:"+key+", was revoked by then") {
			t.Errorf("%s: %+v", name, rep.Findings)
		}
	}
	// The record says that it was before, and the device that it was after.
	for i := range recs {
		recs[i].Time = at.Add(-2 * time.Minute)
	}
	text, opts = exported(t, newKey(t), recs)
	opts.Revoked = map[string]time.Time{key: at.Add(-time.Minute)}
	if rep := verify(t, text, opts); len(rep.Findings) != 2 {
		t.Errorf("got %+v", rep.Findings)
	}
}

// revokedAt puts the entry of a key that was revoked behind so many records.
func revokedAt(records []hook.Record, n int, key hook.JWK) []hook.Record {
	r := hook.Record{
		ID: "k", RequestID: hook.KeyEntry(auth.Thumbprint(key)), Step: hook.StepRevoked, Time: records[n-1].Time, By: &hook.Approver{Kind: hook.KindOwner, Name: "owner"},
		Revoked: &hook.RevokedKey{DeviceID: "d-0", DeviceName: "phone", PublicKey: key, At: records[n-1].Time},
	}
	return slices.Insert(slices.Clone(records), n, r)
}

// TestRevokedInTheRecord: a key that was revoked counts no more from its entry on, without a word of who verifies, and also when the
// entry itself has grown too old for the record.
func TestRevokedInTheRecord(t *testing.T) {
	recs := requests(4)
	key := *recs[1].Decision.PublicKey // of the first and the third
	seqs := func(rep audit.Report) (list []uint64) {
		for _, f := range rep.Findings {
			if !strings.Contains(f.What, "device:"+auth.Thumbprint(key)+", was revoked before, by entry") {
				t.Errorf("found %+v", f)
			}
			list = append(list, f.Seq)
		}
		return list
	}
	for n, want := range map[int][]uint64{1: {3, 7}, 2: {7}, 5: {7}, 6: nil, 8: nil} {
		text, opts := exported(t, newKey(t), revokedAt(recs, n, key))
		rep := verify(t, text, opts)
		if got := seqs(rep); !slices.Equal(got, want) {
			t.Errorf("revoked behind %d: found in %v, want %v", n, got, want)
		}
		told := []audit.RevokedKey{{Key: auth.Thumbprint(key), Time: recs[0].Time, Seq: uint64(n + 1), By: "owner", Device: "phone"}}
		if !slices.Equal(rep.RevokedKeys, told) || rep.Decisions != 4 {
			t.Errorf("told of %+v, want %+v; %d decisions", rep.RevokedKeys, told, rep.Decisions)
		}
	}

	// The entry is gone after 90 days, and its leaf is not.
	text, opts := exported(t, newKey(t), revokedAt(recs, 2, key))
	opts.Read = time.Now().Add(91 * 24 * time.Hour)
	var out bytes.Buffer
	w := tree.NewLineWriter(&out)
	for r := tree.NewLineReader(bytes.NewReader(text)); ; {
		l, err := r.Next()
		if err != nil {
			break
		}
		if leaf, ok := l.(*tree.LeafLine); ok && strings.Contains(leaf.Leaf, "\nrevoked\n") {
			leaf.Entry = nil
		}
		w.Line(l)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	rep := verify(t, out.Bytes(), opts)
	if got := seqs(rep); !slices.Equal(got, []uint64{7}) || rep.Aged != 1 || len(rep.RevokedKeys) != 1 || rep.RevokedKeys[0].By != "" {
		t.Errorf("found in %v, %+v", got, rep)
	}
}

// TestRevokedUnsoundly: what no broker writes of a key is found.
func TestRevokedUnsoundly(t *testing.T) {
	recs := requests(2)
	key := *recs[1].Decision.PublicKey
	for name, change := range map[string]func(*hook.Record){
		"a request":            func(r *hook.Record) { r.RequestID = "r-9" },
		"another key":          func(r *hook.Record) { r.Revoked.PublicKey = authtest.NewKey().JWK() },
		"no key":               func(r *hook.Record) { r.Revoked = nil },
		"nobody who revoked":   func(r *hook.Record) { r.By = nil },
		"a key without a name": func(r *hook.Record) { r.RequestID = "key-" },
	} {
		all := revokedAt(recs, 4, key)
		change(&all[4])
		text, opts := exported(t, newKey(t), all)
		if rep := verify(t, text, opts); len(rep.Findings) != 1 || !strings.Contains(rep.Findings[0].What, "no broker writes that") {
			t.Errorf("%s: %+v", name, rep.Findings)
		}
	}
}

// TestSkew: clocks may differ by so much as is said.
func TestSkew(t *testing.T) {
	recs := requests(2)
	for i := range recs {
		recs[i].Time = recs[i].Time.Add(4 * time.Minute)
	}
	text, opts := exported(t, newKey(t), recs)
	if rep := verify(t, text, opts); !rep.OK() {
		t.Errorf("four minutes: %+v", rep)
	}
	opts.Skew = time.Minute
	if verify(t, text, opts).OK() {
		t.Error("four minutes are passed over where one is said")
	}
}

// keptOf is the last checkpoint of an export.
func keptOf(text []byte) (c tree.Checkpoint, err error) {
	r := tree.NewLineReader(bytes.NewReader(text))
	for {
		l, lineErr := r.Next()
		if lineErr != nil {
			return c, err
		}
		if n, ok := l.(*tree.NoteLine); ok {
			c, err = tree.OpenCheckpoint(n.Note)
		}
	}
}

// TestImpossibleNumbers: what no broker writes is found whoever signed it; it is not a way around what comes behind it.
func TestImpossibleNumbers(t *testing.T) {
	_, opts := exported(t, newKey(t), requests(1))
	for name, leaves := range map[string][]string{
		"a start at 0":                 {"assent start v1\n0\n2026-11-28T05:00:00Z\n"},
		"the last number of all":       {"assent start v1\n1\n\n", "assent gap v1\n1\n18446744073709551615\n"},
		"one that is forgotten, and 0": {"assent start v1\n1\n\n", "assent forgotten v1\n0\n"},
	} {
		lines := [][]byte{[]byte(`{"type":"export","version":1,"origin":"assent/1","size":0,"edge":[]}`)}
		for n, leaf := range leaves {
			l, err := json.Marshal(tree.LeafLine{Type: tree.TypeLeaf, N: int64(n), Leaf: leaf})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, l)
		}
		found := false
		for _, f := range verify(t, closed(lines), opts).Findings {
			found = found || strings.Contains(f.What, "no record has an entry of this number")
		}
		if !found {
			t.Errorf("%s is not found", name)
		}
	}
	for name, head := range map[string]string{
		"more leaves than there are numbers": `{"type":"export","version":1,"origin":"x","size":9223372036854775808,"edge":[]}`,
		"fewer than none":                    `{"type":"export","version":1,"origin":"x","size":-1,"edge":[]}`,
		"a line of another kind":             `{"type":"trust","version":1,"origin":"x","size":0,"edge":[]}`,
	} {
		if rep := verify(t, closed([][]byte{[]byte(head)}), opts); rep.OK() {
			t.Errorf("%s: verified", name)
		}
	}
}

func FuzzVerifyLines(f *testing.F) {
	f.Add([]byte(`{"type":"export","version":1,"origin":"assent/1","size":0,"edge":[]}` + "\n" + `{"type":"leaf","n":0,"leaf":"assent start v1\n1\n\n"}` + "\n"))
	f.Add([]byte(`{"type":"proofs","version":1,"origin":"x"}` + "\n" + `{"type":"proof","n":0,"leaf":"","hashes":[]}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rep, err := audit.VerifyLines(bytes.NewReader(text), audit.VerifyOptions{Decode: decode})
		if err == nil && rep.OK() {
			t.Errorf("%q is verified without a key", text)
		}
	})
}
