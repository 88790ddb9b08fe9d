package tree

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

// plainLeafLine reads the line of a leaf whose text needs no escape but \n, as those that assent writes are: nearly all
// lines of an export. Of all others it says no, for the reader of JSON to judge.
func plainLeafLine(text []byte) (*LeafLine, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"type":"leaf","n":`))
	if !ok {
		return nil, false
	}
	number, rest, ok := bytes.Cut(rest, []byte(`,"leaf":"`))
	if !ok || len(number) > 1 && number[0] == '0' || len(number) == 0 || number[0] < '0' || number[0] > '9' {
		return nil, false
	}
	line := &LeafLine{Type: TypeLeaf}
	var err error
	if line.N, err = strconv.ParseInt(string(number), 10, 64); err != nil {
		return nil, false
	}
	leaf, rest, _ := bytes.Cut(rest, []byte{'"'})
	if line.Leaf, ok = plainText(leaf); !ok {
		return nil, false
	}
	if string(rest) == "}" {
		return line, true
	}
	entry, ok := bytes.CutPrefix(rest, []byte(`,"entry":"`))
	if ok {
		entry, ok = bytes.CutSuffix(entry, []byte(`"}`))
	}
	if !ok || len(entry) == 0 || bytes.ContainsAny(entry, "\r\n") { // which the decoder skips
		return nil, false
	}
	line.Entry = make([]byte, strict.DecodedLen(len(entry)))
	n, err := strict.Decode(line.Entry, entry)
	line.Entry = line.Entry[:n]
	return line, err == nil
}

// strict takes no bits that say nothing: each text has one spelling.
var strict = base64.StdEncoding.Strict()

// plainText undoes \n in what is else as it stands; ok is false of all that encoding/json would write otherwise.
func plainText(quoted []byte) (text string, ok bool) {
	out := make([]byte, 0, len(quoted))
	for i := 0; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '\\' && i+1 < len(quoted) && quoted[i+1] == 'n':
			out = append(out, '\n')
			i++
		case c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>' || c == '&':
			return "", false
		default:
			out = append(out, c)
		}
	}
	return string(out), true
}
