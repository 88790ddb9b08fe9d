package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"

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
