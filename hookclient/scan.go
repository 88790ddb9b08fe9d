package hookclient

// maxDepth is how deeply a payload may be nested, as in encoding/json.
const maxDepth = 10000

// payload is what is read of a payload; everything else is the broker's business.
type payload struct {
	event      string // hook_event_name, empty if the payload is unreadable or does not say
	session    string // session_id, empty likewise
	transcript string // transcript_path
	agentID    string // agent_id, a subagent's

	hookName     string // hookName, of Copilot's
	hasSessionID bool   // sessionId is there: the same
}

// scanPayload reads the top-level members that payload names. It is strict where a
// lenient reader could be told one thing and the broker another: the payload must be one JSON
// object and nothing else, no top-level key may be written with escapes, and a member that
// stands twice, is no string or has an escape in it counts as not there.
func scanPayload(raw []byte) payload {
	s := scanner{in: raw}
	if !s.document() {
		return payload{}
	}
	return payload{event: s.event.text(maxName), session: s.session.text(maxName), transcript: s.transcript.text(maxPath), agentID: s.agentID.text(maxName),
		hookName: s.hookName.text(maxName), hasSessionID: s.sessionID.seen > 0}
}

// eventOf reads hook_event_name in the beginning of a payload. The rest could contradict it, so
// that it may be a reason to deny and nothing else.
func eventOf(head []byte) string {
	s := scanner{in: head}
	s.document()
	return s.event.text(maxName)
}

// member is one of the members of payload.
type member struct {
	seen  int
	value []byte // between the quotes; nil if it cannot be used
}

func (m *member) set(v []byte, ok bool) {
	m.seen++
	if ok {
		m.value = v
	}
}

// text is the member's value; empty where it is longer than max bytes.
func (m *member) text(max int) string {
	if m.seen != 1 || len(m.value) > max {
		return ""
	}
	return string(m.value)
}

// maxName bounds an event type, a session id and an agent id, maxPath a path, in bytes.
const (
	maxName = 256
	maxPath = 4096
)

// scanner walks JSON in one pass without recursion.
type scanner struct {
	in      []byte
	i       int
	depth   int
	objects [maxDepth/8 + 1]byte // bit d: the container at depth d is an object

	event, session, transcript, agentID, hookName, sessionID member

	anyKey bool // keys may have escapes, for their meaning is not looked at
}

// document reports whether the input is a JSON object with nothing but blanks around it.
func (s *scanner) document() bool {
	s.blanks()
	if s.peek() != '{' || !s.open() {
		return false
	}
	// Invariant: here stands the first token of a member or element, or the closing bracket
	// of a container that is empty so far (fresh).
	fresh := true
	for s.depth > 0 {
		s.blanks()
		if fresh && s.peek() == s.closer() {
			s.i++
			s.depth--
		} else {
			var name *member
			if s.inObject() {
				var ok bool
				if name, ok = s.key(); !ok {
					return false
				}
			}
			s.blanks()
			if c := s.peek(); c == '{' || c == '[' {
				if name != nil {
					name.set(nil, false)
				}
				if !s.open() {
					return false
				}
				fresh = true
				continue
			}
			if !s.scalar(name) {
				return false
			}
		}
		// A value has ended, and possibly the containers around it.
		fresh = false
		for s.depth > 0 {
			s.blanks()
			if c := s.peek(); c == ',' {
				s.i++
				break
			} else if c != s.closer() {
				return false
			}
			s.i++
			s.depth--
		}
	}
	s.blanks()
	return s.i == len(s.in)
}

// peek returns the next byte, 0 at the end (no JSON token begins with 0).
func (s *scanner) peek() byte {
	if s.i < len(s.in) {
		return s.in[s.i]
	}
	return 0
}

func (s *scanner) blanks() {
	for s.i < len(s.in) {
		switch s.in[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) open() bool {
	if s.depth == maxDepth {
		return false
	}
	s.depth++
	bit := byte(1) << (s.depth % 8)
	if s.in[s.i] == '{' {
		s.objects[s.depth/8] |= bit
	} else {
		s.objects[s.depth/8] &^= bit
	}
	s.i++
	return true
}

func (s *scanner) inObject() bool { return s.objects[s.depth/8]>>(s.depth%8)&1 == 1 }

func (s *scanner) closer() byte {
	if s.inObject() {
		return '}'
	}
	return ']'
}

// key reads a key and its colon. At the top level it says which member begins.
func (s *scanner) key() (name *member, ok bool) {
	k, escaped, ok := s.str()
	if !ok || escaped && s.depth == 1 && !s.anyKey {
		return nil, false
	}
	s.blanks()
	if s.peek() != ':' {
		return nil, false
	}
	s.i++
	if s.depth == 1 {
		switch string(k) {
		case "hook_event_name":
			name = &s.event
		case "session_id":
			name = &s.session
		case "transcript_path":
			name = &s.transcript
		case "agent_id":
			name = &s.agentID
		case "hookName":
			name = &s.hookName
		case "sessionId":
			name = &s.sessionID
		}
	}
	return name, true
}

// scalar reads a string, a number or a literal.
func (s *scanner) scalar(name *member) bool {
	if s.peek() == '"' {
		v, escaped, ok := s.str()
		if name != nil {
			name.set(v, ok && !escaped)
		}
		return ok
	}
	if name != nil {
		name.set(nil, false)
	}
	switch s.peek() {
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) literal(word string) bool {
	if len(s.in)-s.i < len(word) || string(s.in[s.i:s.i+len(word)]) != word {
		return false
	}
	s.i += len(word)
	return true
}

func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	from := s.i
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.i++
	}
	return s.i > from
}

// str reads a string and returns what stands between its quotes. Like encoding/json it takes
// any bytes from 0x20 on, whether they are UTF-8 or not.
func (s *scanner) str() (v []byte, escaped, ok bool) {
	if s.peek() != '"' {
		return nil, false, false
	}
	s.i++
	from := s.i
	for s.i < len(s.in) {
		switch c := s.in[s.i]; {
		case c == '"':
			v = s.in[from:s.i]
			s.i++
			return v, escaped, true
		case c == '\\':
			escaped = true
			if !s.escape() {
				return nil, true, false
			}
		case c < 0x20:
			return nil, escaped, false
		default:
			s.i++
		}
	}
	return nil, escaped, false
}

func (s *scanner) escape() bool {
	s.i++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return true
	case 'u':
		s.i++
		for range 4 {
			switch c := s.peek(); {
			case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
				s.i++
			default:
				return false
			}
		}
		return true
	}
	return false
}
