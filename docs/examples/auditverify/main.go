// Command auditverify verifies an export of assent's record: the tree, as docs/audit.md specifies it. It shares no code with
// assent, and leaves the decisions and their signatures to it.
//
//	auditverify record.jsonl broker.pub [kept.txt]
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const skew = 5 * time.Minute

var (
	keyText    = regexp.MustCompile(`^(.+?)\+([0-9a-f]{8})\+(.+)$`)
	noteText   = regexp.MustCompile(`^((.+)\n(0|[1-9]\d*)\n(.{44})\ntime (.+)\nrecord (0|[1-9]\d*)\nlast (.+)\n)\n((?:— .+ .+\n)+)$`)
	signature  = regexp.MustCompile(`— (.+) (.+)\n`)
	leafText   = regexp.MustCompile(`^assent (record|start|forgotten) v1\n([1-9]\d*)\n(?:(.*)\n(.*)\n(.*)\n(.*)\n([0-9a-f]{64})\n|(.*)\n)?$`)
	lineFields = map[string][]string{"export": {"version", "origin", "size", "edge"}, "leaf": {"n", "leaf", "entry"}, "checkpoint": {"note"}, "end": {"lines", "sha256"}}
)

// line has the members of all lines; those of one are in lineFields, in their order.
type line struct {
	Type, Origin, Leaf, Note, SHA256 string
	Version, Size, N, Lines          int
	Edge                             [][]byte
	Entry                            []byte
}

type checkpoint struct {
	origin, last, text string
	size, record       int
	root               []byte
	time               time.Time
}

// must ends verify. What cannot be read at all ends it by an error of Go's own.
func must(ok bool, what string, args ...any) {
	if !ok {
		panic(fmt.Errorf(what, args...))
	}
}

func read[T any](parse func(string) (T, error), text string) T {
	v, err := parse(text)
	must(err == nil, "%q: %v", text, err)
	return v
}

func base64Of(s string) ([]byte, error)  { return base64.StdEncoding.Strict().DecodeString(s) }
func timeOf(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }

func hash(parts ...[]byte) []byte {
	h := sha256.Sum256(bytes.Join(parts, nil))
	return h[:]
}

// root folds the edge from the right.
func root(edge [][]byte) []byte {
	r := edge[len(edge)-1]
	for i := len(edge) - 2; i >= 0; i-- {
		r = hash([]byte{1}, edge[i], r)
	}
	return r
}

func main() {
	defer func() {
		if err := recover(); err != nil {
			fmt.Fprintln(os.Stderr, "not verified:", err)
			os.Exit(1)
		}
	}()
	export := read(os.Open, os.Args[1])
	kept := ""
	if len(os.Args) > 3 {
		kept = string(read(os.ReadFile, os.Args[3]))
	}
	fmt.Println(verify(export, string(read(os.ReadFile, os.Args[2])), kept))
}

func verify(export io.Reader, pub, keptText string) string {
	keys := map[string]ed25519.PublicKey{} // by origin and 4 bytes
	for _, text := range strings.Fields(pub) {
		k := keyText.FindStringSubmatch(text)
		key := read(base64Of, k[3])
		id := hash([]byte(k[1]+"\n"), key)[:4]
		must(len(key) == 33 && key[0] == 1 && hex.EncodeToString(id) == k[2], "no key: %q", text)
		keys[k[1]+string(id)] = key[1:]
	}
	// open reads a signed note. One of its signatures must be by a key that is trusted.
	open := func(note string) checkpoint {
		f := noteText.FindStringSubmatch(note)
		must(f != nil, "no checkpoint: %q", note)
		for _, s := range signature.FindAllStringSubmatch(f[8], -1) {
			sig := read(base64Of, s[2])
			if key := keys[s[1]+string(sig[:4])]; s[1] == f[2] && key != nil && ed25519.Verify(key, []byte(f[1]), sig[4:]) {
				return checkpoint{f[2], f[7], f[1], read(strconv.Atoi, f[3]), read(strconv.Atoi, f[6]), read(base64Of, f[4]), read(timeOf, f[5])}
			}
		}
		panic(fmt.Errorf("a checkpoint is not signed by a key that is trusted: %q", note))
	}
	kept, largest := map[int]checkpoint{}, 0
	for rest := keptText; strings.TrimSpace(rest) != ""; {
		text, more, _ := strings.Cut(rest, "\n\n")
		sigs, _, _ := strings.Cut(more+"\n", "\n")
		c := open(text + "\n\n" + sigs + "\n")
		k, twice := kept[c.size]
		must(!twice || k.origin == c.origin && bytes.Equal(k.root, c.root), "two kept checkpoints of %d leaves are of different records", c.size)
		kept[c.size], largest, rest = c, max(largest, c.size), strings.TrimLeft(strings.TrimPrefix(more, sigs), "\n")
	}

	in, sum := bufio.NewReader(export), sha256.New()
	var head line
	var last checkpoint
	var now time.Time // of the record
	var edge [][]byte
	size, next := 0, 0             // leaves, and the next entry of the record; 0 where that is not known
	missing := map[int]time.Time{} // entries
	revoked := map[string]bool{}   // keys of devices, by their thumbprints
	compare := func() {
		k, ok := kept[size]
		must(!ok || k.origin == head.Origin && bytes.Equal(k.root, root(edge)), "leaf %d: not the record of the kept checkpoint", size)
	}
	for lines := 0; ; lines++ {
		text, err := in.ReadBytes('\n')
		must(err == nil, "line %d: the end is missing", lines+1)
		l := parse(text)
		must((lines == 0) == (l.Type == "export"), "line %d does not belong here", lines+1)
		switch l.Type {
		case "export":
			must(l.Version == 1, "version %d", l.Version)
			head, size, edge = l, l.Size, l.Edge
			fits := size >= 0 && bits.OnesCount(uint(size)) == len(edge)
			for _, h := range edge {
				fits = fits && len(h) == sha256.Size
			}
			must(fits, "the edge does not fit the size")
			compare()
			for n := range kept {
				must(n >= size, "the kept checkpoint of %d leaves is in front of this export: it cannot be compared", n)
			}
		case "leaf":
			f := leafText.FindStringSubmatch(l.Leaf)
			must(f != nil && l.N == size, "line %d: leaf %d is expected", lines+1, size) // also of a gap
			seq := read(strconv.Atoi, f[2])
			switch {
			case f[1] == "start" && f[7] == "" && size == 0:
				next = seq
			case f[1] == "record" && f[7] != "" && (next == 0 || seq == next):
				next = seq + 1
				if f[5] != "" {
					at := read(timeOf, f[5])
					must(!at.Before(now.Add(-skew)) && at.UTC().Format(time.RFC3339Nano) == f[5], "line %d: the time runs back, or is spelled otherwise", lines+1)
					now = at
				}
				if missing[seq] = now; l.Entry != nil {
					entry(l.Entry, f, revoked)
					delete(missing, seq)
				}
				if f[4] == "revoked" { // what that key signed counts no more from here on
					key, ok := strings.CutPrefix(f[3], "key-")
					must(ok && key != "", "line %d: no key is revoked: %q", lines+1, f[3])
					revoked[key] = true
				}
			case f[1] == "forgotten" && f[0] == "assent forgotten v1\n"+f[2]+"\n":
				delete(missing, seq)
			default:
				panic(fmt.Errorf("line %d: entry %d is expected: %q", lines+1, next, l.Leaf))
			}
			h := hash([]byte{0}, []byte(l.Leaf))
			for n := size; n&1 == 1; n >>= 1 {
				h, edge = hash([]byte{1}, edge[len(edge)-1], h), edge[:len(edge)-1]
			}
			edge, size = append(edge, h), size+1
			compare()
		case "checkpoint":
			c := open(l.Note)
			first := last.text == "" && (head.Size > 0 || c.last == "none")
			must(c.origin == head.Origin && c.size == size && bytes.Equal(c.root, root(edge)) && (next == 0 || c.record == next-1) &&
				(first || c.last == hex.EncodeToString(hash([]byte(last.text)))) && !c.time.Before(last.time) && !now.After(c.time.Add(skew)) && time.Until(c.time) < skew,
				"line %d: the checkpoint is not that of the leaves before it", lines+1)
			last = c
		case "end":
			_, err := in.ReadByte()
			must(err == io.EOF && l.Lines == lines && l.SHA256 == hex.EncodeToString(sum.Sum(nil)), "the lines are not those that were written")
			must(last.text != "" && last.size == size, "the last leaves have no checkpoint")
			must(largest <= size, "the record is older than a kept checkpoint: %d leaves, and here are %d", largest, size)
			for seq, at := range missing {
				must(at.Before(last.time.AddDate(0, 0, -90).Add(time.Hour)), "entry %d is missing, and was not forgotten", seq)
			}
			return fmt.Sprintf("verified: %d leaves, root %s", size, base64.StdEncoding.EncodeToString(last.root))
		}
		sum.Write(text)
	}
}

// parse reads a line, which has its members in this order and one spelling.
func parse(text []byte) (l line) {
	must(json.Unmarshal(text, &l) == nil && lineFields[l.Type] != nil, "no line of an export: %q", text)
	members := map[string]any{"version": l.Version, "origin": l.Origin, "size": l.Size, "edge": l.Edge, "n": l.N, "leaf": l.Leaf,
		"entry": l.Entry, "note": l.Note, "lines": l.Lines, "sha256": l.SHA256}
	parts := []string{`"type":"` + l.Type + `"`}
	for _, name := range lineFields[l.Type] {
		if name != "entry" || len(l.Entry) > 0 {
			value, err := json.Marshal(members[name])
			must(err == nil, "%v", err)
			parts = append(parts, `"`+name+`":`+string(value))
		}
	}
	must("{"+strings.Join(parts, ",")+"}\n" == string(text), "a line has other members, or another spelling: %q", text)
	return l
}

// jwk is a device's public key.
type jwk struct{ Kty, Crv, X, Y string }

// thumbprint is that of RFC 7638; empty of none.
func (k *jwk) thumbprint() string {
	if k == nil {
		return ""
	}
	text := fmt.Sprintf(`{"crv":%q,"kty":%q,"x":%q,"y":%q}`, k.Crv, k.Kty, k.X, k.Y)
	return base64.RawURLEncoding.EncodeToString(hash([]byte(text)))
}

// entry compares an entry with its leaf. No key may sign it that was revoked before.
func entry(text []byte, leaf []string, revoked map[string]bool) {
	must(hex.EncodeToString(hash(text)) == leaf[7] && strconv.FormatUint(binary.BigEndian.Uint64(text[1:]), 10) == leaf[2], "the entry is not the one of its leaf")
	rest := text[9:]
	take := func() (s string) {
		n, used := binary.Uvarint(rest)
		s, rest = string(rest[used:used+int(n)]), rest[used+int(n):]
		return s
	}
	subject, record := take(), ""
	for name := take(); name != ""; name = take() {
		if value := take(); name == "Assent-Record" {
			record = value
		}
	}
	if record == "" {
		record = string(rest)
	}
	var r struct {
		RequestID, Step, Outcome, Time string
		By                             *struct{}
		Decision, HandBack, Revoked    struct{ PublicKey *jwk }
		Message                        struct{ Sent struct{ PublicKey *jwk } }
	}
	must(json.Unmarshal([]byte(record), &r) == nil && "approvals."+leaf[3] == subject && r.RequestID == leaf[3] && r.Step == leaf[4] && r.Outcome == leaf[6] &&
		read(timeOf, r.Time).UTC().Format(time.RFC3339Nano) == leaf[5], "the leaf says something else than its entry")
	must(r.Step != "revoked" || r.By != nil && "key-"+r.Revoked.PublicKey.thumbprint() == r.RequestID, "it is not said whose key was revoked, or by whom")
	for _, key := range []string{r.Decision.PublicKey.thumbprint(), r.HandBack.PublicKey.thumbprint(), r.Message.Sent.PublicKey.thumbprint()} {
		must(!revoked[key], "entry %s is signed with a key that was revoked before: device:%s", leaf[2], key)
	}
}
