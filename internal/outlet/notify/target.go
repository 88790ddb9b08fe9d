package notify

import (
	"sort"
	"time"
)

// item is a request as the ring knows it. Owned by the ring.
type item struct {
	n           uint64 // counts up in the order in which the ring heard of them
	id, session string
	name        string // the session's short name
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
}

// notified is one target that was notified of an item: of it alone, or of several at once.
type notified struct {
	t   *target
	one bool
}

// target is a device or a notice, and what it was notified of. Owned by the ring.
type target struct {
	id     string // a device's, or a notice's name
	device bool
	set    Settings
	sub    *Subscription // of a device
	notice *Notice       // of a notice

	cursor   uint64  // items up to it are dealt with
	ones     int     // waiting items it was notified of one by one
	many     int     // waiting items it was notified of together
	reminded uint64  // items up to it are not told of again, however long they wait
	news     []*news // it was not sent yet; at most maxTargetNews
	gone     []Gone  // items that ended and it does not know of yet; with ones at most maxOnes, and two of many
	sending  bool
	removed  bool

	full      time.Time // the pace: see pace
	notBefore time.Time // after a failure
	failures  int
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
	if t.notBefore.After(at) {
		return t.notBefore
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
func (t *target) failed(now time.Time, retryAfter time.Duration) {
	wait := longest
	if t.failures < 9 {
		wait = min(longest, time.Second<<t.failures)
	}
	t.failures++
	t.notBefore = now.Add(max(wait, min(retryAfter, longest)))
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
	if d := t.nextNews(now); d != nil {
		return d, time.Time{}
	}
	rings, upTo, again := t.due(now, items)
	d := &delivery{made: now, upTo: upTo, Message: Message{Gone: t.gone}}
	switch {
	case len(rings) == 0 && len(t.gone) == 0:
		d, later := t.nextWaits(now, items)
		if d == nil && (again.IsZero() || !later.IsZero() && later.Before(again)) {
			again = later
		}
		return d, again
	case len(rings) == 0:
		d.Type, d.upTo = typeSettled, t.cursor
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

// due returns the items to ring for now, the number up to which all items are dealt with when
// that is done, and when the next item is due.
func (t *target) due(now time.Time, items []*item) (rings []*item, upTo uint64, again time.Time) {
	if end, quiet := t.set.quietUntil(now); quiet {
		return nil, t.cursor, end
	}
	upTo = t.cursor
	for _, it := range items[t.first(items):] {
		if !it.settled {
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
	t.failures = 0
	t.cursor = max(t.cursor, d.upTo)
	t.gone = t.gone[min(len(d.Gone), len(t.gone)):]
	if d.waits != nil {
		t.reminded = d.waits.n
	}
	if d.news != nil && len(t.news) > 0 && t.news[0] == d.news {
		t.news = t.news[1:]
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
