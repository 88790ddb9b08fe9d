package acp

import (
	"math"
	"strconv"
	"unicode/utf8"

	"assent/internal/text/strictjson"
)

// maxDepth is how deep a message that is asked about may nest, as in package claude.
const maxDepth = 200

// message is a line of JSON-RPC, as far as its outermost members say. Its texts are parts of the line.
type message struct {
	method string
	id     []byte // as it stands there; nil: a notification
	key    string // of id, the same for every spelling; "" without one
	params []byte // nil where there are none
	result []byte
}

// readMessage reads a line; whole says that all of it is there. ok says that it can be taken for one
// message only: of a line that is cut off that is so where the members before the cut name a method.
func readMessage(line []byte, whole bool) (m message, ok bool) {
	members, err := strictjson.Object(line)
	if err != nil && whole {
		return m, false
	}
	if _, twice := strictjson.Repeated(members); twice {
		return m, false
	}
	if _, varied := strictjson.Variant(members, "jsonrpc", "id", "method", "params", "result", "error"); varied {
		return m, false
	}
	for _, x := range members {
		switch x.Key {
		case "id":
			if key, known := idKey(x.Value); known {
				m.id, m.key = x.Value, key
			} else if string(x.Value) != "null" {
				return m, false
			}
		case "method":
			if x.Value[0] != '"' {
				return m, false
			}
			m.method = strictjson.Text(x.Value)
		case "params":
			m.params = x.Value
		case "result":
			m.result = x.Value
		}
	}
	return m, whole || m.method != ""
}

// idKey is the same for every spelling of an id.
func idKey(value []byte) (key string, ok bool) {
	if len(value) == 0 {
		return "", false
	}
	switch c := value[0]; {
	case c == '"':
		return "s" + strictjson.Text(value), true
	case c == '-' || '0' <= c && c <= '9':
		n, err := strconv.ParseFloat(string(value), 64)
		if err != nil || math.Trunc(n) != n || math.Abs(n) > 1<<53 {
			return "", false
		}
		return "n" + strconv.FormatInt(int64(n), 10), true
	}
	return "", false
}

// object are the members of an object, by their exact keys; nil where the text is none, or has a key that
// some reader takes for another one of them.
type object map[string][]byte

func readObject(text []byte) object {
	members, err := strictjson.Object(text)
	if err != nil {
		return nil
	}
	if _, twice := strictjson.Repeated(members); twice {
		return nil
	}
	o := make(object, len(members))
	for _, m := range members {
		o[m.Key] = m.Value
	}
	return o
}

// text is a member that is a text, "" otherwise.
func (o object) text(key string) string {
	if v := o[key]; len(v) > 0 && v[0] == '"' {
		return strictjson.Text(v)
	}
	return ""
}

// in is an object within an object; nil where there is none.
func (o object) in(keys ...string) object {
	for _, k := range keys {
		if o == nil {
			return nil
		}
		o = readObject(o[k])
	}
	return o
}

// plain says that no two readers can take a text for two things.
func plain(text []byte) bool {
	return utf8.Valid(text) && strictjson.Ambiguous(text, maxDepth) == nil
}
