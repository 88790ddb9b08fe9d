package notify

import (
	"slices"
	"time"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// news is what happened beside requests.
type news struct {
	kind     string // typeFinished, typeFailed, typeBlocked, typeHalted, or prompt
	session  string
	name     string // the session's short name
	agent    string // the agent's own name; of the ring, its name for people
	project  string
	reply    bool   // of typeFinished: a message can be sent to the session
	hosted   bool   // a host says it, and maybe twice
	waits    string // of typeBlocked
	halt, by string // of typeHalted
	until    time.Time
	at       time.Time
}

// prompt is news for the ring alone: a turn began.
const prompt = "prompt"

const (
	maxNews = 64 // on their way to the ring; what comes beyond is dropped
	// maxTargetNews is how many a target may have that it was not sent; what comes beyond is dropped, and a
	// stop or a pause takes the place of the oldest.
	maxTargetNews = 8
	// newsLife is how long news is worth sending.
	newsLife = 10 * time.Minute
	// longTurn is how long a turn takes of whose end devices are notified: who waits for less looks on.
	longTurn = 30 * time.Second
	// maxTurns bounds the turns whose beginning is known.
	maxTurns = 1024
	// longWait is after what time a device is notified again of a request.
	longWait = 10 * time.Minute
)

// Observe takes an event of an agent's hook, with what is readable of its payload. It does not block.
func (p *Push) Observe(e hook.Event, said hook.Payload) {
	n := news{session: said.SessionID, at: e.Time}
	switch e.Type {
	case hook.EventStop:
		n.kind = typeFinished
	case hook.EventStopFailure:
		n.kind = typeFailed
	case hook.EventUserPromptSubmit:
		if said.Continues {
			return
		}
		n.kind = prompt
	default:
		return
	}
	if n.session == "" || e.Emitted || time.Since(n.at) > newsLife { // what a start reads again is old
		return
	}
	if n.kind == typeFinished && p.cfg.TurnOver != nil {
		queued, reply := p.cfg.TurnOver(&e, n.session)
		if queued {
			return // the turn goes on with it, or another begins
		}
		n.reply = reply
	}
	n.agent = e.Agent
	n.name, n.project = shortNameOf(said.CWD, e.Origin.Repo.Root), projectOf(said.CWD, e.Origin.Repo.Root)
	p.offer(n)
}

// Blocked takes that a session of a host's agent waits to be allowed more: money, or time (overTime). It does not block.
func (p *Push) Blocked(session, agent string, overTime bool, at time.Time) {
	n := news{kind: typeBlocked, session: session, name: show.Short(agent, 40), hosted: true, waits: waitsBudget, at: at}
	if overTime {
		n.waits = waitsTime
	}
	p.hosted(n)
}

// Failed takes that a turn of a host's agent failed in a way of which the agent's own hooks do not tell: its process
// ended, for one. It does not block.
func (p *Push) Failed(session, agent string, at time.Time) {
	p.hosted(news{kind: typeFailed, session: session, name: show.Short(agent, 40), hosted: true, at: at})
}

func (p *Push) hosted(n news) {
	if time.Since(n.at) <= newsLife {
		p.offer(n)
	}
}

// Halted takes how it stands with everything: its newest act is told to all, whatever their settings. It
// does not block.
func (p *Push) Halted(h hook.Halt) {
	if len(h.Acts) == 0 {
		return
	}
	last := h.Acts[len(h.Acts)-1]
	p.offer(news{kind: typeHalted, halt: last.Act, by: show.Short(last.By.Who(), 60), until: last.Until, at: last.At})
}

func (p *Push) offer(n news) {
	select {
	case p.news <- n:
	default:
		p.counts.dropped.Inc()
		now, last := time.Now().Unix(), p.newsFull.Load()
		if now-last >= 60 && p.newsFull.CompareAndSwap(last, now) {
			p.cfg.Logf("push: more happens than can be told of; what comes beyond %d events is dropped", maxNews)
		}
	}
}

// tell gives news to the targets that want it.
func (r *ring) tell(n news) {
	if n.hosted {
		now := r.turns[n.session]
		if now.ended.Equal(n.at) && now.how == n.kind {
			return
		}
		now.ended, now.how = n.at, n.kind
		r.setTurn(n.session, now)
	}
	switch n.kind {
	case typeHalted:
		// A stop is news when it is done and again when it is recorded, if that was not the same moment.
		if n.at.Equal(r.halted.at) && n.halt == r.halted.halt {
			return
		}
		r.halted = n
	case prompt:
		r.setTurn(n.session, turn{began: n.at})
		return
	case typeFinished:
		now := r.turns[n.session]
		if now.finished || n.at.Sub(now.began) < longTurn {
			return
		}
		now.finished = true // a hook that lengthens the turn makes it end again
		r.setTurn(n.session, now)
	}
	n.agent = r.agentOf(n.agent)
	for _, t := range r.targets {
		if t.wants(&n) {
			if !r.mine && len(t.news) >= maxTargetNews {
				t.news = t.news[1:] // the broker that tells has most likely told it
			}
			t.add(&n)
		}
	}
}

// turn is what is known of a session's last turn.
type turn struct {
	began    time.Time // zero: not known, so long ago
	finished bool      // its end was told
	ended    time.Time // that a host told of last, and how: the kind of news
	how      string
}

func (r *ring) setTurn(session string, now turn) {
	if _, known := r.turns[session]; !known && len(r.turns) >= maxTurns {
		clear(r.turns)
	}
	r.turns[session] = now
}

// add keeps news for t until it is sent.
func (t *target) add(n *news) {
	if len(t.news) >= maxTargetNews {
		t.drop(1, "it has not been told of %d events", len(t.news))
		if n.kind != typeHalted {
			return
		}
		i := slices.IndexFunc(t.news, func(old *news) bool { return old.kind != typeHalted })
		t.news = slices.Delete(t.news, max(i, 0), max(i, 0)+1)
	}
	t.news = append(t.news, n)
}

// drop counts news of t that is dropped, and says once why, until it gets some again.
func (t *target) drop(n int, why string, args ...any) {
	t.p.counts.dropped.Add(float64(n))
	if !t.dropping {
		t.p.cfg.Logf("push: news for "+t.what()+" is dropped: "+why, args...)
	}
	t.dropping = true
}

// forgetOldNews drops what is not worth sending any more.
func (t *target) forgetOldNews(now time.Time) {
	before := len(t.news)
	t.news = slices.DeleteFunc(t.news, func(n *news) bool { return now.Sub(n.at) > newsLife })
	if n := before - len(t.news); n > 0 {
		t.drop(n, "it could not be told within %v", newsLife)
	}
}

// wants reports whether t is to be notified of n.
func (t *target) wants(n *news) bool {
	if n.kind == typeHalted {
		return true
	}
	if _, quiet := t.set.quietUntil(time.Now()); quiet || !t.set.rings(n.session) {
		return false
	}
	return n.kind == typeBlocked || n.kind == typeFinished && t.set.Finished || n.kind == typeFailed && t.set.Failed
}

// nextNews is a delivery of the oldest news, or nil.
func (t *target) nextNews(now time.Time) *delivery {
	if len(t.news) == 0 {
		return nil
	}
	n := t.news[0]
	d := &delivery{made: now, upTo: t.cursor, news: n, Message: Message{
		Type: n.kind, Waits: n.waits, Agent: n.agent, Waiting: t.ones + t.many, Halt: n.halt, By: n.by, Until: n.until,
	}}
	if t.set.ShowSession {
		d.Session = n.name
	}
	if t.set.ShowContent {
		d.Project = n.project
	}
	if t.device && n.kind != typeHalted {
		d.SessionID = n.session
	}
	if n.reply && t.device && t.p.cfg.MaySend != nil && t.p.cfg.MaySend(t.id) {
		d.Reply = n.session
	}
	return d
}

// nextWaits is a delivery about a request that has waited for long, or nil and when one will have; zero:
// not before something happens.
func (t *target) nextWaits(now time.Time, items []*item) (*delivery, time.Time) {
	if !t.set.StillWaits {
		return nil, time.Time{}
	}
	if end, quiet := t.set.quietUntil(now); quiet {
		return nil, end
	}
	for _, it := range items {
		if it.n <= t.reminded || it.settled || !t.set.rings(it.session) || it.short != "" && t.toldAside[reminderID(it.id)[:16]] {
			continue
		}
		if at := it.asked.Add(max(longWait, t.set.after())); now.Before(at) {
			return nil, at
		}
		d := &delivery{made: now, upTo: t.cursor, waits: it, deadline: it.deadline, Message: Message{
			Type: typeWaits, RequestID: it.id, Waits: it.waits, Waiting: t.ones + t.many,
		}}
		t.describe(d, it)
		return d, time.Time{}
	}
	return nil, time.Time{}
}

// describe puts into d what t wants to know of an item.
func (t *target) describe(d *delivery, it *item) {
	d.Agent = it.agent
	if t.set.ShowSession {
		d.Session = it.name
	}
	if !t.set.ShowContent {
		return
	}
	d.Project, d.Risk, d.Effects = it.about.project, it.about.risk, it.about.kinds
	if t.set.ShowSentence {
		d.Sentence = it.about.sentence
	}
}

// about is what a request is about, in words that may travel.
type about struct {
	project  string
	risk     hook.Risk
	kinds    []string
	sentence string
}

// maxKinds is how many kinds of effect a message names.
const maxKinds = 4

// aboutOf says what a request is about, the worst first.
func (p *Push) aboutOf(q *hook.Request) about {
	a := about{project: projectOf(q.CWD, q.Repo.Root)}
	if p.cfg.Effects == nil {
		return a
	}
	e := p.cfg.Effects(q)
	if e == nil {
		return a
	}
	a.risk, a.sentence = e.Risk, scrub(e.Sentence)
	list := slices.Clone(e.Effects)
	slices.SortStableFunc(list, func(x, y hook.Effect) int { return y.Risk.Level() - x.Risk.Level() })
	for _, x := range list {
		if len(a.kinds) < maxKinds && !slices.Contains(a.kinds, x.Effect) {
			a.kinds = append(a.kinds, x.Effect)
		}
	}
	return a
}

// projectOf is what people call a project: the name of its repository's directory, or of the one where
// the agent runs.
func projectOf(cwd, root string) string {
	for _, dir := range []string{root, cwd} {
		if name := hook.ProjectName(dir); name != "" {
			return show.Short(name, 40)
		}
	}
	return ""
}
