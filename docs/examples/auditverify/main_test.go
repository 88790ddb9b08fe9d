package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"assent/internal/audit"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
)

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// verified says what this program says of an export.
func verified(export []byte, pub, kept string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	verify(bytes.NewReader(export), pub, kept)
	return nil
}

// TestAgrees: of an export of which any byte is another, with an end that fits it and without, this program and assent audit verify say
// the same. With the race detector, which makes that nine times as dear and finds nothing where nothing is at work beside
// it, it is one byte in 15; make test runs it with it and without.
func TestAgrees(t *testing.T) {
	pub, kept, text := testdata(t, "broker.pub"), testdata(t, "kept.txt"), []byte(testdata(t, "record.jsonl"))
	key, err := note.NewVerifier(strings.TrimSpace(pub))
	if err != nil {
		t.Fatal(err)
	}
	agree := func(export []byte) (wrong error) {
		wrong = verified(export, pub, "")
		rep, err := audit.VerifyLines(bytes.NewReader(export), audit.VerifyOptions{Keys: []note.Verifier{key}, Decode: stream.DecodeEntry})
		if err != nil {
			t.Fatal(err)
		}
		if rep.OK() != (wrong == nil) {
			t.Errorf("assent says %v, and this program %v of\n%.300s", rep.Findings, wrong, export)
		}
		return wrong
	}
	synctest.Test(t, func(t *testing.T) { // the export is of November 2026, and the clock here of 2000
		time.Sleep(30 * 365 * 24 * time.Hour)
		if err := verified(text, pub, kept); err != nil || agree(text) != nil {
			t.Fatal(err)
		}
		end := bytes.LastIndex(text, []byte(`{"type":"end"`))
		step := 1
		if raceEnabled {
			step = 15 // has no factor in common with those below
		}
		for i := 0; i < len(text); i += step {
			changed := bytes.Clone(text)
			changed[i] ^= 1 << (i % 7)
			says := agree
			if i%4 != 0 { // each byte of what verify reads is changed by its own test
				says = func(export []byte) error { return verified(export, pub, "") }
			}
			if says(changed) == nil {
				t.Errorf("byte %d may be another", i)
			}
			if i%7 != 5 || i >= end { // what changes the case of a letter may be JSON still, also of the same names
				continue
			}
			if fits := ended(changed); fits != nil && agree(fits) == nil {
				t.Errorf("byte %d may be another where the end fits", i)
			}
		}
	})
}

// ended gives lines an end that fits them, or nil where one is no JSON.
func ended(text []byte) []byte {
	var out bytes.Buffer
	w := tree.NewLineWriter(&out)
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	for _, l := range lines[:len(lines)-1] {
		if !json.Valid(l) {
			return nil
		}
		w.Line(json.RawMessage(l))
	}
	if w.End() != nil {
		return nil
	}
	return out.Bytes()
}

// TestFinds: what is wrong with whole lines or keys is found.
func TestFinds(t *testing.T) {
	pub, kept, text := testdata(t, "broker.pub"), testdata(t, "kept.txt"), testdata(t, "record.jsonl")
	lines := strings.SplitAfter(text, "\n")
	without := func(i int) []byte {
		return ended([]byte(strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")))
	}
	synctest.Test(t, func(t *testing.T) {
		if err := verified([]byte(text), pub, ""); err == nil || !strings.Contains(err.Error(), "not that of the leaves") {
			t.Errorf("checkpoints of the future: %v", err)
		}
		time.Sleep(30 * 365 * 24 * time.Hour)
		for i := range lines[:len(lines)-2] {
			if verified(without(i), pub, "") == nil {
				t.Errorf("line %d is left out, and it is verified", i+1)
			}
		}
		if verified([]byte(text), "", "") == nil {
			t.Error("it is verified without a key")
		}
		if verified([]byte(text), pub, strings.Replace(kept, "\n10\n", "\n11\n", 1)) == nil {
			t.Error("a kept checkpoint that nobody signed is taken")
		}
		if early := ended([]byte(strings.Join(append(append([]string{}, lines[:3]...), lines[len(lines)-2]), ""))); verified(early, pub, "") != nil || verified(early, pub, kept) == nil {
			t.Errorf("an older record: %v, and beside a kept checkpoint nil", verified(early, pub, ""))
		}
	})
}

// TestKept: a checkpoint that was kept is compared also where the export begins at it, a kept one in front of the export says that it cannot
// be, and two kept ones of one size are of one record.
func TestKept(t *testing.T) {
	key, pub := newKey(t)
	other := newTree(t, key, "another record")
	mine := newTree(t, key, "the record")
	if err := verified(mine.export(0), pub, mine.note(2)+mine.note(5)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		export []byte
		kept   string
	}{
		"of another record, at its beginning": {mine.export(2), other.note(2)},
		"in front of it":                      {mine.export(2), mine.note(1)},
		"of another record, then of this":     {mine.export(0), other.note(5) + mine.note(5)},
		"of this record, then of another":     {mine.export(0), mine.note(5) + other.note(5)},
	} {
		says := verified(c.export, pub, c.kept)
		var kept []tree.Checkpoint
		for _, text := range tree.SplitCheckpoints(c.kept) {
			k, err := tree.OpenCheckpoint(text)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, k)
		}
		v, err := note.NewVerifier(strings.TrimSpace(pub))
		if err != nil {
			t.Fatal(err)
		}
		rep, err := audit.VerifyLines(bytes.NewReader(c.export), audit.VerifyOptions{Keys: []note.Verifier{v}, Kept: kept, Decode: stream.DecodeEntry})
		if err != nil {
			t.Fatal(err)
		}
		if says == nil || rep.OK() {
			t.Errorf("%s: this program says %v, assent %v", name, says, rep.Findings)
		}
	}
}

// madeTree is a tree of two entries that were forgotten.
type madeTree struct {
	leaves []string
	notes  map[int]string // checkpoints, by the number of leaves
}

const madeOrigin = "assent/0123456789abcdef"

func newKey(t *testing.T) (note.Signer, string) {
	t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, madeOrigin)
	if err != nil {
		t.Fatal(err)
	}
	s, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return s, public + "\n"
}

func newTree(t *testing.T, key note.Signer, text string) *madeTree {
	t.Helper()
	sum := hex.EncodeToString(hash([]byte(text)))
	record := func(seq string) string {
		return "assent record v1\n" + seq + "\n\n\n2026-11-01T00:00:00Z\n\n" + sum + "\n"
	}
	m := &madeTree{notes: map[int]string{}, leaves: []string{
		"assent start v1\n1\n2026-11-01T00:00:00Z\n", record("1"), record("2"), "assent forgotten v1\n1\n", "assent forgotten v1\n2\n",
	}}
	last := "none"
	for n, entries := range []int{1: 0, 2: 1, 5: 2} {
		if n != 1 && n != 2 && n != 5 {
			continue
		}
		body := fmt.Sprintf("%s\n%d\n%s\ntime 2026-11-01T00:00:0%dZ\nrecord %d\nlast %s\n", madeOrigin, n, m.edge(n).Root(), n, entries, last)
		signed, err := note.Sign(&note.Note{Text: body}, key)
		if err != nil {
			t.Fatal(err)
		}
		m.notes[n], last = string(signed), hex.EncodeToString(hash([]byte(body)))
	}
	return m
}

func (m *madeTree) edge(n int) *tree.Edge {
	edge := &tree.Edge{Hashes: []tlog.Hash{}}
	for _, l := range m.leaves[:n] {
		edge.Append(tlog.RecordHash([]byte(l)), nil)
	}
	return edge
}

// export is of the leaves from one on.
func (m *madeTree) export(from int) []byte {
	var out bytes.Buffer
	w := tree.NewLineWriter(&out)
	w.Line(tree.ExportLine{Type: tree.TypeExport, Version: tree.Version, Origin: madeOrigin, Size: int64(from), Edge: m.edge(from).Hashes})
	for n := from; n < len(m.leaves); n++ {
		w.Line(tree.LeafLine{Type: tree.TypeLeaf, N: int64(n), Leaf: m.leaves[n]})
		if text, ok := m.notes[n+1]; ok {
			w.Line(tree.NoteLine{Type: tree.TypeCheckpoint, Note: text})
		}
	}
	if err := w.End(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func (m *madeTree) note(n int) string { return m.notes[n] + "\n" }

// FuzzAgrees: whatever a line is made, with an end that fits, this program and assent audit verify say the same.
func FuzzAgrees(f *testing.F) {
	read := func(name string) []byte {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	pub, text := string(read("broker.pub")), read("record.jsonl")
	key, err := note.NewVerifier(strings.TrimSpace(pub))
	if err != nil {
		f.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-2] // behind the last line end there is nothing, and the end line is made
	for i, l := range lines[:4] {
		f.Add(uint16(i), uint16(0), uint16(len(l)-1), l[:len(l)-1])
	}
	at := func(i int, old, put string) {
		if j := bytes.Index(lines[i], []byte(old)); j >= 0 {
			f.Add(uint16(i), uint16(j), uint16(len(old)), []byte(put))
		}
	}
	at(0, `"edge":[]`, `"edge":null`)
	at(0, `"size":0`, `"size":-0`)
	at(1, `"leaf":"a`, `"leaf":"\u0061`)
	at(1, `"}`, `","entry":null}`)
	at(1, `"}`, `","entry":""}`)
	at(2, `"}`, `\n"}`)
	at(2, `"n":2`, `"n":2,"N":2`)
	f.Fuzz(func(t *testing.T, line, from, length uint16, put []byte) {
		i := int(line) % len(lines)
		l := lines[i][:len(lines[i])-1]
		a := min(int(from), len(l))
		b := min(a+int(length), len(l))
		sum, n := sha256.New(), 0
		var export []byte
		for j := range lines {
			next := lines[j]
			if j == i {
				next = slices.Concat(l[:a], put, l[b:], []byte("\n"))
			}
			export, n = append(export, next...), n+bytes.Count(next, []byte("\n"))
			sum.Write(next)
		}
		export = fmt.Appendf(export, "{\"type\":\"end\",\"lines\":%d,\"sha256\":\"%x\"}\n", n, sum.Sum(nil))
		wrong := verified(export, pub, "")
		rep, err := audit.VerifyLines(bytes.NewReader(export), audit.VerifyOptions{Keys: []note.Verifier{key}, Decode: stream.DecodeEntry})
		if err != nil {
			t.Fatal(err)
		}
		if rep.OK() != (wrong == nil) {
			t.Errorf("assent says %v, and this program %v of line %d\n%.300q", rep.Findings, wrong, i+1, slices.Concat(l[:a], put, l[b:]))
		}
	})
}
