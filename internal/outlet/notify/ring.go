package notify

import (
	"context"
	"reflect"
	"sync"
	"time"

	"assent/broker"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// ring decides which target is notified of which requests, and when. All of it is owned by Run.
type ring struct {
	p       *Push
	began   time.Time
	last    uint64           // the n of the newest item
	items   []*item          // in the order of n; some are settled
	byID    map[string]*item // those that wait
	targets map[string]*target
	turns   map[string]turn // the last turn of each session, as far as that is known
	others  bool            // another agent than Claude Code was heard of
	halted  news            // the last that was told of a stop or a pause
	flying  int             // deliveries on their way
	mine    bool            // this broker tells
	recent  []ended         // while it does not: what ended last
	results chan result
	sends   sync.WaitGroup
}

// result is the outcome of a delivery. t is owned by Run; sub and notice are those it was sent to.
type result struct {
	t      *target
	d      *delivery
	sub    *Subscription
	notice *Notice
	asked  []string // see target.askedNow
	verdict
}

// Run sends notifications until ctx is done.
func (p *Push) Run(ctx context.Context) error {
	r := &ring{p: p, began: time.Now(), byID: map[string]*item{}, targets: map[string]*target{}, turns: map[string]turn{}, results: make(chan result)}
	batches := make(chan broker.Batch)
	r.sends.Go(func() { p.follow(ctx, batches) })
	if p.cfg.NoticesFile != "" {
		r.sends.Go(func() { p.watchNotices(ctx) })
	}
	defer r.sends.Wait()
	r.sync()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		r.look()
		timer.Reset(r.send(ctx))
		select {
		case b := <-batches:
			r.take(b)
		case <-p.changed:
			r.sync()
		case n := <-p.news:
			r.tell(n)
		case res := <-r.results:
			r.flying--
			r.settle(ctx, res)
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follow hands over what the broker shows until ctx is done.
func (p *Push) follow(ctx context.Context, batches chan<- broker.Batch) {
	w := p.cfg.Broker.Watch("", 0)
	defer w.Close()
	for {
		b, err := w.Next(ctx)
		if err != nil {
			return // ctx is done, or the broker stops: then nothing will happen any more
		}
		select {
		case batches <- b:
		case <-ctx.Done():
			return
		}
	}
}

// take takes in a batch of the broker's changes.
func (r *ring) take(b broker.Batch) {
	if s := b.Snapshot; s != nil {
		waits := make(map[string]bool, len(s.Pending))
		for _, v := range s.Pending {
			waits[v.ID] = true
			r.see(v)
		}
		for id, it := range r.byID {
			if !waits[id] { // it went while we were behind
				r.over(it, "")
			}
		}
	}
	for _, c := range b.Changes {
		r.see(c.View)
	}
	r.compact()
}

// see takes in the present state of one request.
func (r *ring) see(v broker.View) {
	it := r.byID[v.ID]
	switch {
	case it != nil && v.State == broker.Ended:
		r.over(it, string(v.Outcome))
	case it == nil && v.State == broker.Pending:
		r.last++
		it = &item{
			n: r.last, id: v.ID, session: v.SessionID, name: shortName(v), agent: r.agentOf(v.Agent), waits: waitsFor(v.ToolName),
			asked: v.CreatedAt, deadline: v.Deadline, before: r.p.cfg.Mine == nil && v.CreatedAt.Before(r.began),
		}
		if r.p.cfg.Mine != nil {
			it.short = shortID(it.id)
		}
		if r.describes() {
			it.about = r.p.aboutOf(&v.Request)
		}
		if now := time.Now(); it.asked.After(now) {
			it.asked = now // a clock that was set back must not delay it
		}
		r.items = append(r.items, it)
		r.byID[it.id] = it
	}
}

// agentOf is what people call an agent, "" as long as no other than Claude Code was heard of: to name it would
// say nothing.
func (r *ring) agentOf(name string) string {
	r.others = r.others || name != "" && name != "claude"
	if !r.others || r.p.cfg.AgentTitle == nil {
		return ""
	}
	return show.Short(r.p.cfg.AgentTitle(name), 40)
}

// describes reports whether anybody wants to know what requests are about.
func (r *ring) describes() bool {
	for _, t := range r.targets {
		if t.set.ShowContent {
			return true
		}
	}
	return false
}

// over takes in that a request does not wait any more.
func (r *ring) over(it *item, outcome string) {
	delete(r.byID, it.id)
	it.settled, it.outcome = true, outcome
	if !r.mine {
		r.overElsewhere(it)
		return
	}
	for _, n := range it.notified {
		delete(n.t.told, it.short)
		n.t.over(it, n.one)
	}
	if it.before {
		for _, t := range r.targets {
			if !it.wasNotified(t) {
				t.overFromBefore(it)
			}
		}
	}
	if it.short != "" {
		for _, t := range r.targets {
			t.overTold(it)
		}
	}
	it.notified = nil
}

func (it *item) wasNotified(t *target) bool {
	for _, n := range it.notified {
		if n.t == t {
			return true
		}
	}
	return false
}

// compact drops the settled items, once they are the greater part.
func (r *ring) compact() {
	const few = 64
	if len(r.items) < few || len(r.items) < 2*len(r.byID) {
		return
	}
	kept := make([]*item, 0, len(r.byID))
	for _, it := range r.items {
		if !it.settled {
			kept = append(kept, it)
		}
	}
	r.items = kept
}

// sync takes in subscriptions, settings and notices.
func (r *ring) sync() {
	p := r.p
	p.mu.Lock()
	created := r.syncNoticesLocked()
	defer func() {
		p.mu.Unlock()
		for _, t := range created {
			t.begin()
		}
	}()
	for id, t := range r.targets {
		if t.device {
			if e := p.devices[t.id]; e == nil || e.Subscription == nil {
				t.removed = true
				delete(r.targets, id)
			}
		}
	}
	for id, e := range p.devices {
		if e.Subscription == nil {
			continue
		}
		t := r.targets[deviceKey(id)]
		if t == nil || t.sub.Endpoint != e.Subscription.Endpoint {
			if t != nil {
				t.removed = true
			}
			// A person who subscribes has the page open, and sees what waits already.
			t = &target{p: p, id: id, device: true, cursor: r.last, reminded: r.last}
			r.targets[deviceKey(id)] = t
			created = append(created, t)
		}
		t.sub, t.set = e.Subscription, e.Settings
	}
}

// syncNoticesLocked takes in the notices, and returns the targets that it made; the lock is the Push's.
func (r *ring) syncNoticesLocked() (created []*target) {
	p := r.p
	there := map[string]bool{}
	for i := range p.notices {
		n := &p.notices[i]
		key := noticeKey(n.Name)
		there[key] = true
		t := r.targets[key]
		if t == nil {
			t = &target{p: p, id: n.Name} // what waits already is news to it
			r.targets[key] = t
			created = append(created, t)
		}
		if t.notice == nil || !reflect.DeepEqual(t.notice, n) {
			t.notice, t.set = n, n.Settings
			t.requests, t.aside = backoff{}, backoff{} // what was wrong may be fixed
			delete(p.status, key)
		}
	}
	for key, t := range r.targets {
		if !t.device && !there[key] {
			t.removed = true
			delete(r.targets, key)
			delete(p.status, key)
		}
	}
	return created
}

// send starts deliveries, and says when to look again.
func (r *ring) send(ctx context.Context) time.Duration {
	now := time.Now()
	wait := time.Minute // clocks may be set, and machines sleep
	if r.p.cfg.Mine != nil {
		wait = mineEvery
	}
	if !r.mine {
		return wait
	}
	for _, t := range r.targets {
		if r.flying >= maxSending {
			return wait // a result comes first
		}
		d, again := t.next(now, r.items)
		if d != nil {
			t.sending = true
			r.flying++
			res := result{t: t, d: d, sub: t.sub, notice: t.notice} // t stays with run
			if r.p.cfg.Mine != nil {
				res.asked = t.askedNow(d)
			}
			r.sends.Go(func() { r.deliver(ctx, res) })
		} else if !again.IsZero() {
			wait = min(wait, again.Sub(now))
		}
	}
	return max(wait, time.Millisecond)
}

// deliver sends one delivery, in a goroutine of its own.
func (r *ring) deliver(ctx context.Context, res result) {
	if !r.p.mine() {
		res.elsewhere = true
	} else if res.notice != nil {
		res.verdict = r.p.toNotice(ctx, res.notice, res.d)
	} else {
		res.verdict = r.p.toDevice(ctx, res.t.id, res.sub, res.d)
	}
	if r.p.cfg.Mine != nil && !res.elsewhere && res.trouble == "" {
		r.p.keepTold(ctx, &res)
	}
	select {
	case r.results <- res:
	case <-ctx.Done():
	}
}

// settle notes the outcome of a delivery.
func (r *ring) settle(ctx context.Context, res result) {
	t, now := res.t, time.Now()
	t.sending = false
	if res.elsewhere {
		return
	}
	r.p.counts.sent(t.device, res.trouble == "")
	if !t.removed {
		r.p.setStatus(t.key(), func(s *sendStatus) {
			s.trouble = res.trouble
			if res.trouble == "" {
				s.sentAt = now.UTC()
			}
		})
	}
	if res.trouble == "" {
		if t.backoffOf(res.d).failures > 0 {
			r.p.cfg.Logf("push: %s is told again", t.what())
		}
		t.arrived(res.d)
		t.pace(now)
		return
	}
	if t.backoffOf(res.d).failures == 0 {
		r.p.cfg.Logf("push: %s cannot be told: %s", t.what(), res.trouble)
	}
	t.failed(res.d, now, res.retryAfter)
	switch {
	case res.revoked:
		t.removed = true // if Remove fails the target comes back, and the next send finds it revoked again
		r.sends.Go(func() { _ = r.p.Remove(ctx, t.id) })
	case res.dead:
		r.sends.Go(func() { r.p.unsubscribe(ctx, t.id, res.sub) })
	}
}

func deviceKey(id string) string   { return "device " + id }
func noticeKey(name string) string { return "notice " + name }

// key is what a target is found by.
func (t *target) key() string {
	if t.device {
		return deviceKey(t.id)
	}
	return noticeKey(t.id)
}

// what names a target in the log.
func (t *target) what() string {
	if t.device {
		return "device " + t.id
	}
	return "notice " + show.Line(t.id)
}

// waitsFor is what a tool's request waits for.
func waitsFor(tool string) string {
	switch feed.WaitingFor(tool) {
	case feed.StateAskUser:
		return "question"
	case feed.StateBlocked:
		return "permission"
	}
	return "plan"
}

// shortName is what people call a session: the last part of its directory.
func shortName(v broker.View) string { return shortNameOf(v.CWD, v.Repo.Root) }

func shortNameOf(cwd, root string) string {
	for _, dir := range []string{cwd, root} {
		if name := hook.ProjectName(dir); name != "" {
			return show.Short(name, 40)
		}
	}
	return ""
}
