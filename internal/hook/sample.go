package hook

import "strings"

// SampleSession begins the id of a session that assent simulate makes up.
const SampleSession = "simulated-"

// Sample reports whether nothing runs, whatever is answered: the request was made up for somebody who tries assent.
// Anybody who submits can say so of a request, so it may only ever take something away from it.
func (r *Request) Sample() bool { return strings.HasPrefix(r.SessionID, SampleSession) }
