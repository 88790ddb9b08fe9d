package tree_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"assent/internal/audit"
	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/store/tree"
)

// memory is a record and its blocks in memory.
type memory struct {
	mu      sync.Mutex
	made    time.Time
	entries map[uint64]tree.Entry
	last    uint64
	blocks  [][]byte
	news    chan struct{}
	fail    error // of AppendBlock
	unread  error // of EntriesAfter
}

func newMemory() *memory {
	return &memory{made: time.Now(), entries: map[uint64]tree.Entry{}, news: make(chan struct{})}
}

func decode(e tree.Entry) (rec hook.Record, err error) {
	err = json.Unmarshal(e.Body, &rec)
	return rec, err
}

// add adds a request that was asked and denied.
func (m *memory) add(id string) {
	m.ask(id)
	m.deny(id)
}

func (m *memory) ask(id string) {
	req := hook.Request{ID: id, ToolName: "Bash", InputSHA256: "d" + id}
	m.put(hook.Record{ID: "a", RequestID: id, Step: hook.StepAsked, Time: time.Now(), Request: &req})
}

func (m *memory) deny(id string) {
	m.put(hook.Record{ID: "b", RequestID: id, Step: hook.StepDecided, Time: time.Now(), Outcome: hook.Denied, By: &hook.Approver{Kind: hook.KindRule, ID: "no"}, Decision: &hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: "d" + id}})
}

func (m *memory) put(rec hook.Record) {
	body, err := json.Marshal(rec)
	if err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.entries[m.last] = tree.Entry{Seq: m.last, Subject: "approvals." + rec.RequestID, Header: map[string][]string{"Assent-Salt": {"s" + rec.RequestID}}, Body: body}
	close(m.news)
	m.news = make(chan struct{})
}

func (m *memory) remove(seqs ...uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, seq := range seqs {
		delete(m.entries, seq)
	}
}

func (m *memory) LastBlock(context.Context) (uint64, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.blocks) == 0 {
		return 0, nil, tree.ErrNoBlock
	}
	return uint64(len(m.blocks)), m.blocks[len(m.blocks)-1], nil
}

func (m *memory) Block(_ context.Context, n uint64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < 1 || n > uint64(len(m.blocks)) {
		return nil, tree.ErrNoBlock
	}
	return m.blocks[n-1], nil
}

func (m *memory) AppendBlock(_ context.Context, after uint64, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if after != uint64(len(m.blocks)) {
		return tree.ErrConflict
	}
	m.blocks = append(m.blocks, body)
	return nil
}

func (m *memory) EntriesAfter(ctx context.Context, c follow.Cursor, fn func(tree.Entry, tree.Decode)) error {
	for {
		m.mu.Lock()
		news, made, last, unread := m.news, m.made, m.last, m.unread
		m.mu.Unlock()
		if unread != nil {
			return unread
		}
		if !made.Equal(c.Made) {
			return follow.ErrAnew
		}
		for seq := c.Seq + 1; seq <= last; seq++ {
			m.mu.Lock()
			e, ok := m.entries[seq]
			m.mu.Unlock()
			if ok {
				fn(e, nil)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c.Seq = seq
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *memory) EntriesBetween(_ context.Context, from, to uint64, fn func(tree.Entry) error) error {
	for seq := from; seq <= to; seq++ {
		m.mu.Lock()
		e, ok := m.entries[seq]
		m.mu.Unlock()
		if !ok {
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) EntriesOf(_ context.Context, id string) (seqs []uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for seq := uint64(1); seq <= m.last; seq++ {
		if e, ok := m.entries[seq]; ok && e.Subject == "approvals."+id {
			seqs = append(seqs, seq)
		}
	}
	return seqs, nil
}

func (m *memory) RecordsNow(context.Context) (follow.Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return follow.Stream{Made: m.made, Last: m.last}, nil
}

// rig is a tree that is written, and what verifies it.
type rig struct {
	t    *testing.T
	m    *memory
	log  *tree.Log
	key  *tree.Key
	stop func()
}

func start(t *testing.T, m *memory, key *tree.Key, change func(*tree.Config)) *rig {
	t.Helper()
	if key == nil {
		var err error
		if key, err = tree.LoadKey(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	cfg := tree.Config{Store: m, Key: key, Decode: decode, Logf: t.Logf}
	if change != nil {
		change(&cfg)
	}
	l, err := tree.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return &rig{t, m, l, key, stop}
}

func (r *rig) export(since time.Time) []byte {
	r.t.Helper()
	var out bytes.Buffer
	if err := r.log.Export(r.t.Context(), since, tree.NewLineWriter(&out)); err != nil {
		r.t.Fatal(err)
	}
	return out.Bytes()
}

func (r *rig) options() audit.VerifyOptions {
	r.t.Helper()
	public, err := r.log.Public()
	if err != nil {
		r.t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		r.t.Fatal(err)
	}
	return audit.VerifyOptions{Keys: []note.Verifier{v}, Decode: decode}
}

func (r *rig) verify(text []byte, kept ...tree.Checkpoint) audit.Report {
	r.t.Helper()
	opts := r.options()
	opts.Kept = kept
	rep, err := audit.VerifyLines(bytes.NewReader(text), opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return rep
}

// finds reports whether one of the findings has these words, of this entry, 0 for any.
func finds(rep audit.Report, words string, seq uint64) bool {
	for _, f := range rep.Findings {
		if strings.Contains(f.What, words) && (seq == 0 || f.Seq == seq) && f.Do != "" {
			return true
		}
	}
	return false
}

func TestLogSealsAfterAMinuteAndAt256(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t, m, nil, nil)
		m.add("q1")
		synctest.Wait()
		if n, _, _ := m.LastBlock(t.Context()); n != 1 {
			t.Errorf("%d blocks", n)
		}
		time.Sleep(tree.SealAfter) // of the fake clock
		synctest.Wait()
		if n, _, _ := m.LastBlock(t.Context()); n != 2 {
			t.Errorf("%d blocks after a minute", n)
		}
		for i := range 128 {
			m.add(fmt.Sprintf("n%d", i))
		}
		synctest.Wait()
		if n, _, _ := m.LastBlock(t.Context()); n != 3 {
			t.Errorf("%d blocks after 256 entries", n)
		}
		rep := r.verify(r.export(time.Time{}))
		if !rep.OK() || rep.Size != 259 || rep.Entries != 258 || rep.Decisions != 129 || rep.Checkpoints != 3 {
			t.Errorf("got %+v", rep)
		}
		// What waits is sealed at the end, and the next broker goes on behind it.
		m.add("last")
		synctest.Wait()
		r.stop()
		r = start(t, m, r.key, nil)
		time.Sleep(2 * time.Second)
		m.add("next")
		if rep := r.verify(r.export(time.Time{})); !rep.OK() || rep.Entries != 262 {
			t.Errorf("after a restart %+v", rep)
		}
		if rep := r.verify(r.export(time.Now())); !rep.OK() || rep.From == 0 || rep.Entries != 2 {
			t.Errorf("the end alone: %+v", rep)
		}
	})
}

func TestProofs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.add("old")
		r := start(t, m, nil, nil)
		var sizes []tree.Checkpoint
		for i := range 400 {
			m.add(fmt.Sprintf("q%d", i))
			if i%70 == 0 {
				synctest.Wait()
				c, err := r.log.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, c)
			}
		}
		for _, id := range []string{"q0", "q1", "q127", "q128", "q399"} {
			var out bytes.Buffer
			if err := r.log.Prove(t.Context(), id, tree.NewLineWriter(&out)); err != nil {
				t.Fatal(err)
			}
			if rep := r.verify(out.Bytes(), sizes...); !rep.OK() || rep.Entries != 2 {
				t.Errorf("%s: %+v", id, rep)
			}
			bad := bytes.Replace(out.Bytes(), []byte(`"n":`), []byte(`"n":1`), 1)
			if rep := r.verify(bad); rep.OK() {
				t.Errorf("%s: a proof of another place is taken", id)
			}
		}
		for _, id := range []string{"old", "never"} {
			if err := r.log.Prove(t.Context(), id, tree.NewLineWriter(&bytes.Buffer{})); !errors.Is(err, tree.ErrNotInTree) {
				t.Errorf("%s: %v", id, err)
			}
		}
		now := sizes[len(sizes)-1]
		for _, old := range sizes {
			p, err := r.log.Consistency(t.Context(), now.Size, old.Size)
			if err == nil && old.Size < now.Size {
				err = tlog.CheckTree(p, now.Size, now.Root, old.Size, old.Root)
			}
			if err != nil {
				t.Errorf("from %d: %v", old.Size, err)
			}
		}
		if _, err := r.log.Consistency(t.Context(), 5, 6); !errors.Is(err, tree.ErrSize) {
			t.Errorf("got %v", err)
		}
	})
}

// TestProofsOfALateTree: of each entry a proof says whether it is proved, and why not.
func TestProofsOfALateTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.ask("old") // 1; what follows is of after the tree began
		r := start(t, m, nil, nil)
		m.deny("old") // 2
		m.ask("q")    // 3
		synctest.Wait()
		if _, err := r.log.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.mu.Lock()
		m.fail = errors.New("the disk is full")
		m.mu.Unlock()
		m.deny("q")   // 4
		m.add("late") // 5 and 6
		synctest.Wait()
		prove := func(id string) (audit.Report, string, error) {
			var out bytes.Buffer
			if err := r.log.Prove(t.Context(), id, tree.NewLineWriter(&out)); err != nil {
				if out.Len() > 0 {
					t.Errorf("%s: %v, and half a proof: %s", id, err, out.Bytes())
				}
				return audit.Report{}, "", err
			}
			return r.verify(out.Bytes()), out.String(), nil
		}
		rep, _, err := prove("old")
		if want := []audit.Unproved{{Seq: 1, Why: tree.WhyBefore}}; err != nil || !rep.OK() || rep.Entries != 1 || !slices.Equal(rep.Unproved, want) {
			t.Errorf("%v, %+v", err, rep)
		}
		rep, text, err := prove("q")
		if want := []audit.Unproved{{Seq: 4, Why: tree.WhyWaits}}; err != nil || !rep.OK() || rep.Entries != 1 || !slices.Equal(rep.Unproved, want) {
			t.Errorf("%v, %+v", err, rep)
		}
		if !strings.Contains(text, `{"type":"unproved","seq":4,"why":"waits"}`) {
			t.Errorf("got %s", text)
		}
		if _, _, err = prove("late"); !errors.Is(err, tree.ErrBehind) {
			t.Errorf("nothing of it has a checkpoint: %v", err)
		}
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		if rep, _, err = prove("q"); err != nil || !rep.OK() || rep.Entries != 2 || len(rep.Unproved) != 0 {
			t.Errorf("sealed: %v, %+v", err, rep)
		}
		// What the tree never read, though it stands where the tree has been, was put in later.
		r.stop()
		m.add("gap") // 7 and 8
		gone := m.entries[7]
		m.remove(7)
		r = start(t, m, r.key, nil)
		m.add("next")
		synctest.Wait()
		m.mu.Lock()
		m.entries[7] = gone
		m.mu.Unlock()
		if rep, _, err = prove("gap"); err != nil || len(rep.Findings) != 1 || !finds(rep, "the tree has nothing of it", 7) {
			t.Errorf("put in later: %v, %+v", err, rep)
		}
	})
}

func TestForgottenAndLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t, m, nil, nil)
		for i := range 10 {
			m.add(fmt.Sprintf("q%d", i))
		}
		if err := r.log.Forget(t.Context(), []uint64{9, 7, 8, 10}); err != nil {
			t.Fatal(err)
		}
		m.remove(7, 8, 9, 10)
		if rep := r.verify(r.export(time.Time{})); !rep.OK() || rep.Forgotten != 4 {
			t.Errorf("got %+v", rep)
		}
		m.remove(11)
		if rep := r.verify(r.export(time.Time{})); len(rep.Findings) != 1 || !finds(rep, "missing", 11) {
			t.Errorf("got %+v", rep)
		}
		// After the days of the record that is as it should be.
		time.Sleep(audit.Kept)
		m.add("late")
		if rep := r.verify(r.export(time.Time{})); !rep.OK() || rep.Aged != 1 {
			t.Errorf("got %+v", rep)
		}
	})
}

// TestTwoBrokers has two write one tree.
func TestTwoBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		shared := func(c *tree.Config) { c.Shared = true }
		a := start(t, m, nil, shared)
		b := start(t, m, nil, shared)
		for i := range 300 {
			m.add(fmt.Sprintf("q%d", i))
		}
		time.Sleep(2 * tree.SealAfter)
		synctest.Wait()
		if err := b.log.Forget(t.Context(), []uint64{11, 12}); err != nil {
			t.Fatal(err)
		}
		m.add("end")
		opts := a.options()
		opts.Keys = append(opts.Keys, b.options().Keys...)
		for _, r := range []*rig{a, b} {
			rep, err := audit.VerifyLines(bytes.NewReader(r.export(time.Time{})), opts)
			if err != nil || !rep.OK() || rep.Entries != 602 || r.log.Stopped() != nil {
				t.Errorf("got %+v, %v, %v", rep, err, r.log.Stopped())
			}
		}
		// One that reads nothing for a while is not taken for older: it takes what the other has sealed.
		late, err := tree.Open(t.Context(), tree.Config{Store: m, Key: b.key, Decode: decode, Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		m.add("late")
		synctest.Wait()
		head, err := a.log.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before, err := late.Checkpoint(t.Context())
		if err != nil || before.Size >= head.Size {
			t.Errorf("a broker that reads nothing has %+v, %v", before, err)
		}
		for _, size := range []int64{head.Size, head.Size + 100} {
			if err := late.Reach(t.Context(), size); err != nil {
				t.Error(err)
			}
			if got, err := late.Checkpoint(t.Context()); err != nil || got.Note != head.Note {
				t.Errorf("up to %d: got %+v, %v; want %+v", size, got, err, head)
			}
		}

		// A broker that is shown another record says so.
		b.stop()
		m.add("next")
		time.Sleep(2 * tree.SealAfter)
		m.mu.Lock()
		other := newMemory()
		other.made, other.last, other.entries, other.blocks = m.made, 604, maps.Clone(m.entries), slices.Clone(m.blocks[:len(m.blocks)-1])
		next := m.blocks[len(m.blocks)-1]
		m.mu.Unlock()
		c := start(t, other, b.key, shared)
		synctest.Wait()
		other.mu.Lock()
		other.blocks = append(other.blocks, next)
		other.mu.Unlock()
		other.add("another")
		time.Sleep(2 * tree.SealAfter)
		synctest.Wait()
		if c.log.Stopped() == nil {
			t.Error("a broker that reads another entry goes on")
		}
	})
}

// TestSealingFails has the store refuse blocks for a while: nothing is lost, and whoever asks is answered.
func TestSealingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t, m, nil, nil)
		m.mu.Lock()
		m.fail = errors.New("the disk is full")
		m.mu.Unlock()
		for i := range 200 {
			m.add(fmt.Sprintf("q%d", i))
		}
		synctest.Wait()
		if c, err := r.log.Checkpoint(t.Context()); err != nil || c.Size != 1 {
			t.Errorf("got %+v, %v", c, err)
		}
		if h := r.log.Health(); h.Words() != "" {
			t.Errorf("at once: %+v", h)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if h := r.log.Health(); h.Late != 400 || h.Words() != "checkpoints of the record are late: the disk is full" {
			t.Errorf("after minutes: %+v, %q", h, h.Words())
		}
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if h := r.log.Health(); h.Words() != "" {
			t.Errorf("sealed: %+v", h)
		}
		synctest.Wait()
		if rep := r.verify(r.export(time.Time{})); !rep.OK() || rep.Entries != 400 {
			t.Errorf("got %+v", rep)
		}
	})
}

// TestReadingFails: a follower that gets nothing is told as late, though nothing waits to be sealed.
func TestReadingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.unread = errors.New("the reader is gone")
		r := start(t, m, nil, nil)
		m.add("q")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if h := r.log.Health(); h.Late != 2 || h.Words() != "checkpoints of the record are late: the reader is gone" {
			t.Errorf("%+v, %q", h, h.Words())
		}
		m.mu.Lock()
		m.unread = nil
		m.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if h := r.log.Health(); h.Words() != "" {
			t.Errorf("%+v", h)
		}
	})
}

func TestNotTheSameRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t, m, nil, nil)
		for i := range 5 {
			m.add(fmt.Sprintf("q%d", i))
		}
		r.export(time.Time{})
		r.stop()

		// One entry is another now.
		was := m.entries[4]
		other := was
		other.Body = bytes.Replace(was.Body, []byte(`denied`), []byte(`allowed`), 1)
		m.entries[4] = other
		r = start(t, m, r.key, nil)
		if r.log.Stopped() == nil {
			t.Error("an entry that was changed is not noticed at the start")
		}
		if rep := r.verify(r.export(time.Time{})); !finds(rep, "it was changed", 4) {
			t.Errorf("got %+v", rep)
		}
		r.stop()
		r = start(t, m, r.key, func(c *tree.Config) { c.Repair = true })
		m.add("more")
		if rep := r.verify(r.export(time.Time{})); r.log.Stopped() != nil || !finds(rep, "it was changed", 4) || !finds(rep, "begun again", 0) || len(rep.Findings) != 2 {
			t.Errorf("after a repair %+v", rep)
		}
		r.stop()
		m.entries[4] = was

		// The record was put back, the tree was not.
		m.last -= 2
		r = start(t, m, r.key, nil)
		if err := r.log.Stopped(); err == nil || !strings.Contains(err.Error(), "put back") {
			t.Errorf("got %v", err)
		}
		r.stop()

		// The record was made anew: all of it is in the tree again.
		m.made, m.last, m.entries = time.Now().Add(time.Hour), 0, map[uint64]tree.Entry{}
		r = start(t, m, r.key, nil)
		m.add("anew")
		rep := r.verify(r.export(time.Time{}))
		if r.log.Stopped() != nil || !finds(rep, "begun again", 1) {
			t.Errorf("got %+v", rep)
		}
	})
}
