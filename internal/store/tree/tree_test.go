package tree

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// TestEdge compares the edge with tlog, at every size.
func TestEdge(t *testing.T) {
	var edge Edge
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for n := range int64(600) {
		data := []byte(strconv.FormatInt(n, 10))
		hashes, err := tlog.StoredHashes(n, data, read)
		if err != nil {
			t.Fatal(err)
		}
		var visited []tlog.Hash
		edge.Append(tlog.RecordHash(data), func(_ int, _ int64, h tlog.Hash) { visited = append(visited, h) })
		stored = append(stored, hashes...)
		want, err := tlog.TreeHash(n+1, read)
		if err != nil || edge.Root() != want || !edge.Fits() || len(visited) != len(hashes) {
			t.Fatalf("size %d: %v", n+1, err)
		}
	}
}

func TestLeafRoundTrip(t *testing.T) {
	at := time.Date(2026, 11, 28, 4, 0, 0, 1, time.UTC)
	for _, l := range []Leaf{
		{Kind: KindRecord, Seq: 3, Request: "q", Step: "decided", Outcome: "allowed", Time: at, Commitment: [32]byte{1}},
		{Kind: KindRecord, Seq: 3}, {Kind: KindStart, Seq: 1, Time: at}, {Kind: KindForgotten, Seq: 9}, {Kind: KindGap, Seq: 2, To: 4},
	} {
		text := l.Text()
		if got, err := ParseLeaf(text); err != nil || got != l {
			t.Errorf("%q came back as %+v, %v", text, got, err)
		}
		for i := range text {
			for bit := range 8 {
				b := []byte(text)
				b[i] ^= 1 << bit
				if got, err := ParseLeaf(string(b)); err == nil && got == l {
					t.Errorf("%q is another spelling of %q", b, text)
				}
			}
		}
	}
}

func TestCheckpointAndKey(t *testing.T) {
	dir := t.TempDir()
	key, err := LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, KeyFile)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	again, err := LoadKey(dir)
	if err != nil || !again.private.Equal(key.private) {
		t.Fatal("the key is another one", err)
	}
	signer, err := key.signer("assent/x")
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.Public("assent/x")
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	c := Checkpoint{Origin: "assent/x", Size: 4, Root: tlog.Hash{1}, Time: time.Unix(1, 0).UTC(), Record: 9}
	if err := c.sign(signer); err != nil {
		t.Fatal(err)
	}
	if got, err := OpenCheckpoint(c.Note, v); err != nil || got != c {
		t.Errorf("got %+v, %v", got, err)
	}
	for i := range c.Note {
		b := []byte(c.Note)
		b[i] ^= 1
		if _, err := OpenCheckpoint(string(b), v); err == nil {
			t.Errorf("byte %d may be another", i)
		}
	}
	next := Checkpoint{Origin: "assent/x", Size: 5, Last: c.Sum()}
	if err := next.sign(signer); err != nil {
		t.Fatal(err)
	}
	if got := SplitCheckpoints(c.Note + "\n" + next.Note); len(got) != 2 || got[0] != c.Note || got[1] != next.Note {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
}
