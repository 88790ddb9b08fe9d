// Command auditverify verifies an export of assent's record: the tree, as docs/audit.md specifies it. It shares no code with
// assent, and leaves the signatures of devices to it.
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
	"log"
	"os"
	"strconv"
	"strings"
	"time"
)

type line struct {
	Type, Origin, Leaf, Note, SHA256 string
	Version, Size, N, Lines          int
	Edge                             [][]byte
	Entry                            []byte
}

var keys = map[string]ed25519.PublicKey{} // by origin and 4 bytes

func must(ok bool, format string, args ...any) {
	if !ok {
		log.Fatalf(format, args...)
	}
}

func hash(parts ...[]byte) []byte {
	h := sha256.Sum256(bytes.Join(parts, nil))
	return h[:]
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	must(err == nil && strconv.Itoa(n) == s, "%q is no number", s)
	return n
}

// root folds the edge from the right.
func root(edge [][]byte) []byte {
	if len(edge) == 0 {
		return hash()
	}
	r := edge[len(edge)-1]
	for i := len(edge) - 2; i >= 0; i-- {
		r = hash([]byte{1}, edge[i], r)
	}
	return r
}

type checkpoint struct {
	size, record       int
	root               []byte
	origin, last, text string
	time               time.Time
}

// open reads a signed note. One of its signatures must be by a key that is trusted.
func open(note string) (c checkpoint) {
	text, sigs, _ := strings.Cut(note, "\n\n")
	f := strings.Split(text, "\n")
	must(len(f) == 6 && strings.HasPrefix(f[3], "time ") && strings.HasPrefix(f[4], "record ") && strings.HasPrefix(f[5], "last "), "no checkpoint: %q", note)
	c = checkpoint{origin: f[0], size: number(f[1]), record: number(f[4][7:]), last: f[5][5:], text: text + "\n"}
	var errRoot, errTime error
	c.root, errRoot = base64.StdEncoding.Strict().DecodeString(f[2])
	c.time, errTime = time.Parse(time.RFC3339, f[3][5:])
	must(errRoot == nil && errTime == nil, "no checkpoint: %q", note)
	for _, s := range strings.Split(sigs, "\n") {
		name, b64, _ := strings.Cut(strings.TrimPrefix(s, "— "), " ")
		sig, err := base64.StdEncoding.Strict().DecodeString(b64)
		if err != nil || len(sig) != 4+64 || name != c.origin {
			continue
		}
		if key := keys[name+string(sig[:4])]; key != nil && ed25519.Verify(key, []byte(c.text), sig[4:]) {
			return c
		}
	}
	log.Fatalf("a checkpoint is not signed by a key that is trusted: %q", note)
	return c
}

func main() {
	pub, err := os.ReadFile(os.Args[2])
	must(err == nil, "%v", err)
	for _, k := range strings.Fields(string(pub)) {
		part := strings.SplitN(k, "+", 3)
		must(len(part) == 3, "no key: %q", k)
		key, err := base64.StdEncoding.DecodeString(part[2])
		must(err == nil && len(key) == 33 && key[0] == 1, "no key: %q", k)
		id := hash([]byte(part[0]+"\n"), key)[:4]
		must(hex.EncodeToString(id) == part[1], "the key %q has another name", k)
		keys[part[0]+string(id)] = key[1:]
	}
	kept := map[int]checkpoint{}
	largest := 0
	if len(os.Args) > 3 {
		text, err := os.ReadFile(os.Args[3])
		must(err == nil, "%v", err)
		note := ""
		for _, l := range strings.SplitAfter(string(text), "\n") {
			if note += l; strings.HasPrefix(l, "— ") {
				c := open(strings.TrimLeft(note, "\n"))
				kept[c.size], largest, note = c, max(largest, c.size), ""
			}
		}
	}

	file, err := os.Open(os.Args[1])
	must(err == nil, "%v", err)
	in, sum, lines := bufio.NewReader(file), sha256.New(), 0
	var head line
	var edge [][]byte
	var last checkpoint
	size, next := 0, 0
	missing := map[int]time.Time{} // sequences without an entry
	for ended := false; !ended; {
		text, err := in.ReadBytes('\n')
		must(err == nil, "line %d: the end is missing", lines+1)
		var l line
		must(json.Unmarshal(text, &l) == nil, "line %d is no JSON", lines+1)
		switch l.Type {
		case "export":
			must(lines == 0 && l.Version == 1, "line %d does not belong here", lines+1)
			head, size, edge = l, l.Size, l.Edge
		case "leaf":
			f := strings.Split(l.Leaf, "\n")
			must(head.Type != "" && l.N == size && len(f) > 2 && f[len(f)-1] == "", "line %d: leaf %d is expected", lines+1, size)
			seq := number(f[1])
			switch {
			case f[0] == "assent start v1" && len(f) == 4 && size == 0:
				next = seq
			case f[0] == "assent record v1" && len(f) == 8:
				must(next == 0 || seq == next, "line %d: entry %d is expected", lines+1, next)
				next = seq + 1
				if l.Entry == nil {
					missing[seq], _ = time.Parse(time.RFC3339, f[4])
				} else {
					entry(l.Entry, f, lines+1)
				}
			case f[0] == "assent forgotten v1" && len(f) == 3:
				delete(missing, seq)
			default: // also a gap, and a further start
				log.Fatalf("line %d: %q", lines+1, l.Leaf)
			}
			h := hash([]byte{0}, []byte(l.Leaf))
			for n := size; n&1 == 1; n >>= 1 {
				h, edge = hash([]byte{1}, edge[len(edge)-1], h), edge[:len(edge)-1]
			}
			edge, size = append(edge, h), size+1
			k, ok := kept[size]
			must(!ok || k.origin == head.Origin && bytes.Equal(k.root, root(edge)), "line %d: not the record of the kept checkpoint", lines+1)
		case "checkpoint":
			c := open(l.Note)
			named := c.last == hex.EncodeToString(hash([]byte(last.text)))
			if last.text == "" {
				named = head.Size > 0 || c.last == "none"
			}
			must(named && c.origin == head.Origin && c.size == size && bytes.Equal(c.root, root(edge)) && (next == 0 || c.record == next-1) && !c.time.Before(last.time),
				"line %d: the checkpoint is not that of the leaves before it", lines+1)
			last = c
		case "end":
			rest, _ := io.ReadAll(in)
			must(l.Lines == lines && l.SHA256 == hex.EncodeToString(sum.Sum(nil)) && len(rest) == 0, "the lines are not those that were written")
			ended = true
		default:
			log.Fatalf("line %d is none of an export", lines+1)
		}
		sum.Write(text)
		lines++
	}
	must(last.text != "" && last.size == size, "the last leaves have no checkpoint")
	must(largest <= size, "the record is older than a kept checkpoint: %d leaves, and here are %d", largest, size)
	for seq, at := range missing {
		must(at.Before(last.time.AddDate(0, 0, -90).Add(time.Hour)), "entry %d is missing, and was not forgotten", seq)
	}
	fmt.Printf("verified: %d leaves, root %s\n", size, base64.StdEncoding.EncodeToString(last.root))
}

// entry compares an entry with the fields of its leaf.
func entry(text []byte, leaf []string, line int) {
	must(hex.EncodeToString(hash(text)) == leaf[6], "line %d: the entry is not the one of its leaf", line)
	must(len(text) > 9 && strconv.FormatUint(binary.BigEndian.Uint64(text[1:]), 10) == leaf[1], "line %d: another sequence", line)
	rest := text[9:]
	take := func() string {
		n, used := binary.Uvarint(rest)
		must(used > 0 && n <= uint64(len(rest)-used), "line %d: the entry cannot be read", line)
		s := string(rest[used : used+int(n)])
		rest = rest[used+int(n):]
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
	var r struct{ RequestID, Step, Outcome, Time string }
	must(json.Unmarshal([]byte(record), &r) == nil && "approvals."+leaf[2] == subject && r.RequestID == leaf[2] && r.Step == leaf[3] && r.Outcome == leaf[5],
		"line %d: the leaf says something else than its entry", line)
	at, err := time.Parse(time.RFC3339, r.Time)
	must(err == nil && at.UTC().Format(time.RFC3339Nano) == leaf[4], "line %d: another time", line)
}
