package acp

import "slices"

// Lines that assent writes by itself. Ids and options stand in them as they came.

func answerLine(id, option []byte) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":{"outcome":{"outcome":"selected","optionId":`), option, []byte("}}}\n"))
}

func cancelLine(id []byte) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":`), id, []byte("}}\n"))
}

// Decision is what a broker's answer says.
type Decision int

// The decisions.
const (
	Undecided Decision = iota // the editor decides alone
	Allowed
	Denied
)

// ReadDecision reads what the broker answers, in the shape of a hook's output. An answer that says more
// than this protocol carries is none: the agent would do something else than what was decided. Only the words
// of a denial may be lost.
func ReadDecision(body []byte) Decision {
	if !plain(body) {
		return Undecided
	}
	out := readObject(body)
	in := out.in("hookSpecificOutput")
	d := in.in("decision")
	if len(out) != 1 || len(in) != 2 || in.text("hookEventName") != "PermissionRequest" {
		return Undecided
	}
	_, words := d["message"]
	switch behavior := d.text("behavior"); {
	case behavior == "allow" && len(d) == 1:
		return Allowed
	case behavior == "deny" && (len(d) == 1 || len(d) == 2 && words):
		return Denied
	}
	return Undecided
}
