package executor

import (
	"slices"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
)

// Order is a message that this host may take, once it was verified.
type Order struct {
	ID      string `json:"id"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Kind    string `json:"kind"` // hook.MessagePrompt and its like
	Prompt  string `json:"prompt,omitempty"`
	By      string `json:"by"` // thumbprint of the key that signed it
	// BudgetUSD and Timeout lower the ceilings of the session; 0: those of the agent.
	BudgetUSD float64       `json:"budgetUsd,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
	// AutoPR asks for a pull request once the turn has ended well.
	AutoPR    bool      `json:"autoPr,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Own says that this host gives the order to itself: the broker has no message of it.
	Own bool `json:"own,omitempty"`
}

// state is how far a message is here.
//
//	claimed -> confirmed -> written -> started -> ended
//	claimed -> dropped
//	confirmed at once, of an order of the host's own
//	written -> lost -> started (the receipt came late)
//	written -> confirmed (its process ended, and the transcript shows that it never arrived)
type state string

const (
	claimed   state = "claimed"   // the broker was told taken, and has not said yet whether it is ours
	confirmed state = "confirmed" // it is ours
	written   state = "written"   // handed to the agent, or about to be
	started   state = "started"   // in the agent's context
	ended     state = "ended"
	lost      state = "lost"    // whether the agent has it is not known
	dropped   state = "dropped" // it was not ours
)

// message is an order with what became of it.
type message struct {
	Order
	state   state
	at      time.Time // of the state
	began   time.Time // when it came into the agent's context; zero: never
	outcome string
	code    string // of an outcome that is not hook.OutcomeCompleted
	why     string
	result  string
	output  string       // what the agent said in the turn, where that is more than the result
	cost    float64      // of the session, at its end
	command string       // of a handover
	pr      *api.AgentPR // that the session had opened by its end
	cancels int
	by      string // id of the message that cancelled it; empty: nobody's did
	tries   int    // processes that it was written to
	acked   map[string]bool
}

// book is what the journal of a session adds up to.
type book struct {
	messages []*message // in the order in which they came
	process  began      // the last one
	starting bool       // it was about to be started, and nothing is known of it
	runs     bool       // as far as the journal knows
	version  string     // of the client, as it said last
	offset   int64
	active   time.Duration
	waited   time.Duration // for a person, in the turn that runs, or ran last
	handed   bool          // to a terminal, and no message of kind resume came since
	begun    bool          // a prompt came into the context of the process
	controls []string      // control requests that the process was written, and has not answered
	opening  []opening     // calls that may open a pull request, the newest last
	pr       *api.AgentPR  // that it opened last

	spent float64 // by the processes that have ended
	base  float64 // what the process that runs said at its beginning that it had spent: the figure goes on
	last  float64 // what it said last
	saved float64 // what a resumed process begins with, if it begins with anything
	fresh bool    // it has said nothing yet

	unmetered int     // calls of the model since it said last what it had spent
	dearest   float64 // the most that it said at once
}

func (b *book) find(id string) *message {
	for _, m := range b.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// apply adds one entry.
func (b *book) apply(e entry) {
	if e.Offset > 0 {
		b.offset = e.Offset
	}
	b.active = max(b.active, min(e.Active, maxActive))
	b.waited = max(0, min(e.Waited, maxActive))
	if e.Cost != nil {
		b.costs(*e.Cost, e.Base)
	}
	b.unmetered = max(0, e.Unmetered)
	b.pull(e)
	if e.Control != "" {
		b.controls = append(b.controls, e.Control)
	}
	if i := slices.Index(b.controls, e.Answered); i >= 0 {
		b.controls = slices.Delete(b.controls, i, i+1)
	}
	if e.Acked != "" {
		for _, m := range b.messages {
			if frameOf(e.Acked, m.ID) {
				m.acked[e.Acked] = true
			}
		}
	}
	switch {
	case e.Order != nil && b.find(e.Order.ID) == nil: // one of an id
		m := &message{Order: *e.Order, state: claimed, at: e.At, acked: map[string]bool{}}
		if m.Own {
			m.state = confirmed
		}
		b.messages = append(b.messages, m)
	case e.Message != "":
		if m := b.find(e.Message); m != nil {
			b.step(m, e)
		}
	case e.Process != nil && e.Process.PID == 0:
		b.starting, b.runs, b.offset, b.fresh, b.begun, b.controls = true, false, 0, true, false, nil
	case e.Process != nil:
		b.process, b.starting, b.runs = *e.Process, false, true
	case e.Exit != nil:
		b.exit(e.Exit.Saved)
	}
}

func (b *book) step(m *message, e entry) {
	if e.State == written && m.state == confirmed {
		m.tries++
	}
	if m.state != e.State {
		m.state, m.at = e.State, e.At
	}
	m.cancels = max(m.cancels, e.Cancels)
	switch {
	case e.State == confirmed && m.Kind == hook.MessageResume:
		b.handed = false
	case e.State == ended && m.Kind == hook.MessageHandover:
		b.handed, m.command = e.Outcome == hook.OutcomeCompleted, e.Command
	}
	switch e.State {
	case started:
		b.begun = true
		if m.began.IsZero() {
			m.began = e.At
			if !hook.Wordless(m.Kind) {
				b.waited = 0
			}
		}
	case ended, lost:
		m.outcome, m.code, m.why, m.result, m.output, m.cost, m.pr, m.by = e.Outcome, e.Code, e.Why, e.Result, e.Output, b.cost(), b.pr, e.By
	}
}

// costs takes in what the process says that it has spent. A process that goes on with a session begins with
// what the one before had saved, if that had the time to; else with nothing. begins says that this is it.
//
// The agent can write what the process is taken to say, and the journal. So whatever the figure is, what follows of it is
// a number that JSON has and that the broker takes: between 0 and api.MaxCost.
func (b *book) costs(total float64, begins bool) {
	total = figure(total)
	switch {
	case begins && !b.fresh:
		return // it was asked again
	case begins:
		b.fresh, b.base, b.last = false, total, total
	case b.fresh:
		b.fresh, b.base = false, 0
		if total >= b.saved {
			b.base = b.saved
		}
		b.last = b.base
	}
	b.dearest = max(b.dearest, total-b.last)
	b.last = max(b.last, total)
}

// figure is what a cost is taken for, in USD.
func figure(cost float64) float64 {
	if !(cost > 0) { // also where it is no number
		return 0
	}
	return min(cost, api.MaxCost)
}

// maxActive is longer than turns of a session can have run: a sum with it is a time, too.
const maxActive = 10 * 365 * 24 * time.Hour

// unknownCall is what a call of the model is taken to cost where none has been metered yet, in USD.
const unknownCall = 0.01

// exit closes the account of the process. What it spent since it said so last nobody knows once it was killed:
// each of those calls, and one that may have been on its way, is taken for as dear as the dearest.
func (b *book) exit(saved bool) {
	if !b.fresh {
		b.spent = figure(b.spent + b.last - b.base)
		if saved {
			b.saved = b.last
		}
	}
	if !saved && b.turn() != nil {
		call := b.dearest
		if call == 0 {
			call = unknownCall
		}
		b.spent = figure(b.spent + (float64(b.unmetered)+1)*call)
	}
	b.runs, b.starting, b.base, b.last, b.fresh, b.unmetered = false, false, 0, 0, true, 0
}

// cost is what the session has spent, in USD, by the client's own estimate.
func (b *book) cost() float64 {
	if b.fresh {
		return b.spent
	}
	return figure(b.spent + b.last - b.base)
}

// outstanding is the prompt that the session is about, nil if it is about none. There is one at most: the
// next one is taken when it is over.
func (b *book) outstanding() *message {
	for _, m := range b.messages {
		if hook.Wordless(m.Kind) {
			continue
		}
		if m.state != ended && m.state != dropped && !(m.state == lost && !b.runs) {
			return m
		}
	}
	return nil
}

// canceller is the id of the message that ends the turn now, the first of them; empty if none does.
func (b *book) canceller() string {
	for _, c := range b.messages {
		if c.Kind == hook.MessageCancel && (c.state == written || c.state == started) {
			return c.ID
		}
	}
	return ""
}

// handover is the handover that is not over, nil if there is none.
func (b *book) handover() *message {
	for _, m := range b.messages {
		if m.Kind == hook.MessageHandover && m.state != ended && m.state != dropped {
			return m
		}
	}
	return nil
}

// turn is the prompt whose turn runs, nil if none does.
func (b *book) turn() *message {
	if m := b.outstanding(); m != nil && m.state == started {
		return m
	}
	return nil
}
