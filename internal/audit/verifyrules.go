package audit

import (
	"fmt"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// RulesKey is a key that signed rules by which requests were answered.
type RulesKey struct {
	// Key is its thumbprint (RFC 7638), and Named says that VerifyOptions.TrustRules has it.
	Key   string `json:"key"`
	Named bool   `json:"named"`
	// Answers are how many it stands behind. First is when the rules behind the first of them were signed, and
	// Last the same of the last.
	Answers int64     `json:"answers"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// maxRulesKeys is how many such keys a report names.
const maxRulesKeys = 1000

const doRulesKey = "ask who answers for the rules whose key that is (assent rules key shows one); name it with --trust-rules if it is theirs, else look at the request with assent trace"

// signedRules counts an answer by rules whose signature fits, for the key that made it. Whoever can write to the record can sign
// rules with a key of their own, so a signature says something only to who knows whose key that is.
func (v *verifier) signedRules(l *line, s *hook.RulesSignature) {
	key := auth.Thumbprint(s.PublicKey)
	at, _, _ := signed.RulesTimes(s) // it fits, so there is one
	since, named := v.TrustRules[key]
	i, known := v.rulesKeys[key]
	switch {
	case !known && len(v.rep.RulesKeys) == maxRulesKeys:
		v.findIn(l.n, &l.leaf, fmt.Sprintf("rules were signed with more than %d keys, here with device:%s", maxRulesKeys, key), doRulesKey)
		return
	case !known:
		i = len(v.rep.RulesKeys)
		v.rulesKeys[key] = i
		v.rep.RulesKeys = append(v.rep.RulesKeys, RulesKey{Key: key, Named: named, First: at.UTC()})
		if !named && len(v.TrustRules) > 0 {
			v.findIn(l.n, &l.leaf, "a rule decided, of rules signed with a key that you did not name: device:"+key+"; its further answers are not listed", doRulesKey)
		}
	}
	k := &v.rep.RulesKeys[i]
	k.Answers++
	k.Last = at.UTC()
	switch {
	case !named:
	case at.Before(since):
		v.findIn(l.n, &l.leaf, "a rule decided, of rules that device:"+key+" signed "+show.Line(s.SignedAt)+", before you let them count", doRulesKey)
	default:
		v.rep.SignedRules++
	}
}
