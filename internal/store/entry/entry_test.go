package entry

import (
	"bytes"
	"crypto/sha256"
	"testing"
)

func TestText(t *testing.T) {
	e := Entry{7, "approvals.q", map[string][]string{"B": {"2", ""}, "A": {"1"}, "Nats-Time-Stamp": {"x"}}, []byte("body")}
	text := e.Text()
	if Hash(sha256.Sum256(text)) != e.Hash() {
		t.Error("the hash is not that of the text")
	}
	m, err := Parse(text)
	if err != nil || m.Seq != 7 || m.Subject != "approvals.q" || string(m.Body) != "body" || len(m.Header) != 2 || len(m.Header["B"]) != 2 {
		t.Errorf("got %+v, %v", m, err)
	}
	for n := range len(text) - len("body") {
		if _, err := Parse(text[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken for an entry", n, len(text))
		}
	}
}

// Every record is hashed twice, for the mark and for the tree.
func TestHashMakesLittle(t *testing.T) {
	e := Entry{7, "approvals.q", map[string][]string{"Assent-Record": {string(make([]byte, 1500))}, "Assent-Salt": {string(make([]byte, 64))}}, make([]byte, 400)}
	if n := testing.AllocsPerRun(100, func() { e.Hash() }); n > 4 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Entry{7, "approvals.q", map[string][]string{"A": {"1"}}, []byte("body")}.Text())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		// Headers in another order than ours come back in ours, and lengths in their shortest spelling.
		if m, err := Parse(e.Text()); err != nil || m.Seq != e.Seq || m.Subject != e.Subject || !bytes.Equal(m.Body, e.Body) {
			t.Errorf("%x came back as %+v, %v", text, e, err)
		}
	})
}
