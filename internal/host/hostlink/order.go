// Package hostlink is a host's connection to its broker: it dials out, takes the messages that are sent to
// the host's agents, and tells what becomes of them (see api.HostFrame).
//
// The broker is not believed. Each message is verified here, by the keys that the owner of this machine
// accepts: who took the broker over can give no new order, change one, or send one again.
package hostlink

import (
	"fmt"
	"slices"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/host/executor"
)

// orderOf makes an order of a message if the key of a device that is accepted signed it; else why says why
// not. id is this host: a message that names another, or none, is not for it, whoever brings it. Whether its
// time is over, its id is new and its agent is ours, the executor looks at.
func orderOf(m hook.Message, id string, accept []string) (o executor.Order, why string) {
	switch {
	case m.PublicKey == nil || m.Signature == "":
		return o, "no device signed it; this host obeys devices only"
	case !slices.Contains(accept, auth.Thumbprint(*m.PublicKey)):
		return o, "the device's key is not accepted here; on the host, add to accept in agents.yaml: device:" + auth.Thumbprint(*m.PublicKey)
	case !auth.VerifyMessage(m):
		return o, "it is not what the device signed"
	case m.HostID == "":
		return o, "it was not signed for this host: reload the page, or update the program that sent it"
	case m.HostID != id:
		return o, fmt.Sprintf("it was signed for the host %.200q, and this is %q; another one, or one set up anew since: send it again", m.HostID, id)
	}
	at, err := time.Parse(time.RFC3339, m.ExpiresAt)
	if err != nil {
		return o, "its expiresAt is no time"
	}
	if at.After(time.Now().Add(maxAhead)) {
		return o, "its expiresAt is more than a day ahead"
	}
	o = executor.Order{ID: m.ID, Agent: m.Agent, Session: m.SessionID, Kind: m.Kind, Prompt: m.Prompt, By: auth.Thumbprint(*m.PublicKey), ExpiresAt: at}
	if p := m.Options; p != nil {
		if !(p.BudgetUSD >= 0) || p.TimeoutSeconds < 0 || p.TimeoutSeconds > int64(maxTimeout/time.Second) {
			return o, fmt.Sprintf("its options are none: budgetUsd %g, timeoutSeconds %d", p.BudgetUSD, p.TimeoutSeconds)
		}
		o.BudgetUSD, o.Timeout, o.AutoPR = p.BudgetUSD, time.Duration(p.TimeoutSeconds)*time.Second, p.AutoPR
	}
	return o, ""
}

const (
	maxAhead   = 24*time.Hour + 5*time.Minute // the clocks of two machines differ
	maxTimeout = 30 * 24 * time.Hour
)
