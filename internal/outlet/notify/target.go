package notify

import (
	"slices"
	"sort"
	"time"
)

// item is a request as the ring knows it. Owned by the ring.
type item struct {
	n           uint64 // counts up in the order in which the ring heard of them
	id, session string
	name        string // the session's short name
	agent       string // the agent's name for people; see ring.agentOf
	waits       string
	about       about // zero unless somebody wanted to know
	asked       time.Time
	deadline    time.Time
	settled     bool
	outcome     string
	// before says that it was asked before this broker started, so an earlier one may have notified
	// devices of it.
	before   bool
	notified []notified
	short    string // see shortID; "" where no other broker tells
}

// notified is one target that was notified of an item: of it alone, or of several at once.
type notified struct {
	t   *target
	one bool
}

// target is a device or a notice, and what it was notified of. Owned by the ring.
type target struct {
	p      *Push
	id     string // a device's, or a notice's name
	device bool
	set    Settings
	sub    *Subscription // of a device
	notice *Notice       // of a notice

	cursor          uint64          // items up to it are dealt with
	ones            int             // waiting items it was notified of one by one
	many            int             // waiting items it was notified of together
	reminded        uint64          // items up to it are not told of again, however long they wait
	news            []*news         // it was not sent yet; at most maxTargetNews
	told, toldAside map[string]bool // what was told it by any broker, see told; items that still wait
	gone            []Gone          // items that ended and it does not know of yet; with ones at most maxOnes, and two of many
	sending         bool
	removed         bool

	full time.Time // the pace: see pace
	// A failure to tell of requests puts off everything; one to tell of anything else puts off only that:
	// a service may refuse a kind of message that it does not know.
	requests, aside backoff
	asideTurn       int  // what beside requests is tried first; moves on after a failure
	dropping        bool // news was dropped since it last got any
}

// backoff puts off what failed, longer with each failure in a row. Zero: nothing failed.
type backoff struct {
	failures int
	until    time.Time
}

const (
	// maxOnes is how many notifications of single requests a device may have at once.
	maxOnes = 32
	// maxAlone is how many new requests get a notification each; more at once share one.
	maxAlone = 3
	// A target gets burst messages at once, and then one every interval.
	burst    = 3
	interval = 2 * time.Second
	// A target that fails is tried again after longest at the latest.
	longest = 5 * time.Minute
)

// freeAt is when the target may be sent to.
func (t *target) freeAt() time.Time {
	at := t.full.Add(-(burst - 1) * interval)
	if t.requests.until.After(at) {
		return t.requests.until
	}
	return at
}

// pace counts a message that was sent now.
func (t *target) pace(now time.Time) {
	if t.full.Before(now) {
		t.full = now
	}
	t.full = t.full.Add(interval)
}

// failed puts the next try off, twice as long each time.
func (b *backoff) failed(now time.Time, retryAfter time.Duration) {
	wait := longest
	if b.failures < 9 {
		wait = min(longest, time.Second<<b.failures)
	}
	b.failures++
	b.until = now.Add(max(wait, min(retryAfter, longest)))
}

// backoffOf is what a failure of d counts for.
func (t *target) backoffOf(d *delivery) *backoff {
	if len(d.items) > 0 {
		return &t.requests
	}
	return &t.aside
}

// failed notes that d did not arrive.
func (t *target) failed(d *delivery, now time.Time, retryAfter time.Duration) {
	t.backoffOf(d).failed(now, retryAfter)
	if len(d.items) > 0 {
		return
	}
	t.asideTurn = (d.aside + 1) % asides
	if d.news != nil && len(t.news) > 1 && t.news[0] == d.news {
		t.news = append(t.news[1:], d.news) // what it refuses is not to keep the rest from it
	}
}

// next returns the delivery to send to t now, or nil and when to look again; zero: not before
// something happens. items are in the order of n.
func (t *target) next(now time.Time, items []*item) (*delivery, time.Time) {
	if t.sending || t.removed {
		return nil, time.Time{}
	}
	if free := t.freeAt(); now.Before(free) {
		return nil, free
	}
	t.forgetOldNews(now)
	rings, upTo, again := t.due(now, items)
	d := &delivery{made: now, upTo: upTo, Message: Message{Gone: t.gone}}
	switch {
	case len(rings) == 0:
		return t.nextAside(now, items, again)
	case len(rings) <= maxAlone && t.ones+len(t.gone) < maxOnes:
		it := rings[0]
		d.Type, d.RequestID, d.Waits, d.deadline = typeAsked, it.id, it.waits, it.deadline
		t.describe(d, it)
		d.items, d.upTo = rings[:1], it.n
	default:
		d.Type, d.items = typeMany, rings
	}
	d.Waiting = t.ones + t.many + len(d.items)
	return d, time.Time{}
}

// What is told of beside requests that wait.
const (
	asideWaits = iota
	asideNews
	asideSettled
	asides // how many there are
)

// nextAside is next where there is no request to ring for before again.
func (t *target) nextAside(now time.Time, items []*item, again time.Time) (*delivery, time.Time) {
	if now.Before(t.aside.until) {
		return nil, sooner(again, t.aside.until)
	}
	for i := range asides {
		kind := (t.asideTurn + i) % asides
		var d *delivery
		var later time.Time
		switch kind {
		case asideWaits:
			d, later = t.nextWaits(now, items)
		case asideNews:
			d = t.nextNews(now)
		case asideSettled:
			if len(t.gone) > 0 {
				d = &delivery{made: now, upTo: t.cursor, Message: Message{Type: typeSettled, Gone: t.gone, Waiting: t.ones + t.many}}
			}
		}
		if d != nil {
			d.aside = kind
			return d, time.Time{}
		}
		again = sooner(again, later)
	}
	return nil, again
}

// sooner is the earlier of two times, of which zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// due returns the items to ring for now, the number up to which all items are dealt with when
// that is done, and when the next item is due.
func (t *target) due(now time.Time, items []*item) (rings []*item, upTo uint64, again time.Time) {
	if end, quiet := t.set.quietUntil(now); quiet {
		return nil, t.cursor, end
	}
	upTo = t.cursor
	for _, it := range items[t.first(items):] {
		if !it.settled && !t.told[it.short] {
			if at := it.asked.Add(t.set.after()); now.Before(at) {
				again = at
				break
			}
			if t.set.rings(it.session) {
				rings = append(rings, it)
			}
		}
		upTo = it.n
	}
	if len(rings) == 0 {
		t.cursor = upTo
	}
	return rings, upTo, again
}

// first is the index in items of the first that t has not dealt with.
func (t *target) first(items []*item) int {
	return sort.Search(len(items), func(i int) bool { return items[i].n > t.cursor })
}

// arrived notes that t has got d.
func (t *target) arrived(d *delivery) {
	*t.backoffOf(d) = backoff{}
	if len(d.items) == 0 {
		t.asideTurn = 0
	}
	t.cursor = max(t.cursor, d.upTo)
	t.gone = t.gone[min(len(d.Gone), len(t.gone)):]
	if d.waits != nil {
		t.reminded = d.waits.n
	}
	if d.news != nil {
		t.dropping = false
		t.news = slices.DeleteFunc(t.news, func(n *news) bool { return n == d.news })
	}
	for _, it := range d.items {
		one := d.Type == typeAsked
		if one {
			t.ones++
		} else {
			t.many++
		}
		if it.settled { // while the delivery was on its way
			t.over(it, one)
		} else {
			it.notified = append(it.notified, notified{t, one})
			if it.short != "" {
				t.told[it.short] = true
			}
		}
	}
}

// over notes that an item of which t was notified does not wait any more.
func (t *target) over(it *item, one bool) {
	switch {
	case t.removed:
		return
	case one:
		t.ones--
		t.addGone(Gone{it.id, it.outcome})
	default:
		if t.many--; t.many == 0 {
			t.addGone(Gone{ID: goneMany})
		}
	}
}

// overFromBefore is over for an item of which a broker that ran before this one may have notified t.
func (t *target) overFromBefore(it *item) {
	if t.device && t.ones+len(t.gone) < maxOnes {
		t.addGone(Gone{it.id, it.outcome})
	}
}

// addGone adds g to what the next delivery to t says. While one is on its way, the beginning of gone is
// in it, and is not changed.
func (t *target) addGone(g Gone) {
	if !t.device && !t.notice.Settled {
		return
	}
	for _, old := range t.gone {
		if old.ID == g.ID && !t.sending {
			return // of many, once is enough
		}
	}
	t.gone = append(t.gone, g)
}
