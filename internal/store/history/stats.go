package history

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"assent/internal/hook"
)

// Bounds of what Stats answers.
const (
	maxBuckets  = 400
	maxDeciders = 20
)

// The steps of Stats.
const (
	StepHour = "hour"
	StepDay  = "day"
)

// Stats counts what became of requests from since on, by hours or days of zone. More than a year
// of days, or as many hours, is ErrQuery.
func (h *History) Stats(ctx context.Context, since time.Time, step string, zone *time.Location) (hook.Stats, error) {
	return h.statsUntil(ctx, since, time.Now(), step, zone)
}

func (h *History) statsUntil(ctx context.Context, since, now time.Time, step string, zone *time.Location) (hook.Stats, error) {
	starts := bucketStarts(since.In(zone), now.In(zone), step)
	if len(starts) == 0 || len(starts) > maxBuckets {
		return hook.Stats{}, fmt.Errorf("count decisions: %d steps: %w", len(starts), ErrQuery)
	}
	stats := hook.Stats{Since: starts[0], Step: step, Zone: zone.String(), By: []hook.StatsDecider{}}
	buckets := make([]hook.StatsBucket, len(starts))
	took := make([][]int64, len(starts))
	type decider struct {
		hook.StatsDecider
		took []int64
	}
	by := map[hook.Decider]*decider{}
	err := h.slow(ctx, "count decisions", func(ctx context.Context) error {
		return h.query(ctx, "count decisions", `SELECT settled, asked, outcome, by_kind, by_name FROM requests WHERE settled >= ?`,
			[]any{starts[0].UnixMilli()}, func(row *sql.Rows) error {
				var settled, asked int64
				var outcome hook.Outcome
				var who hook.Decider
				if err := row.Scan(&settled, &asked, &outcome, &who.Kind, &who.Name); err != nil {
					return err
				}
				i, exact := slices.BinarySearchFunc(starts, settled, func(t time.Time, ms int64) int { return cmp.Compare(t.UnixMilli(), ms) })
				if !exact {
					i--
				}
				count(&buckets[i], outcome, who.Kind == hook.KindRule)
				if outcome != hook.Allowed && outcome != hook.Denied {
					return nil
				}
				d := by[who]
				if d == nil {
					d = &decider{StatsDecider: hook.StatsDecider{Decider: who}}
					by[who] = d
				}
				if outcome == hook.Allowed {
					d.Allowed++
				} else {
					d.Denied++
				}
				if who.Kind != hook.KindRule {
					ms := max(0, settled-asked)
					took[i], d.took = append(took[i], ms), append(d.took, ms)
				}
				return nil
			})
	})
	if err != nil {
		return hook.Stats{}, err
	}
	for i := range buckets {
		slices.Sort(took[i])
		buckets[i].Start, buckets[i].MedianMS, buckets[i].P90MS = starts[i], quantile(took[i], 50), quantile(took[i], 90)
	}
	stats.Buckets = buckets
	for _, d := range by {
		slices.Sort(d.took)
		d.MedianMS = quantile(d.took, 50)
		stats.By = append(stats.By, d.StatsDecider)
	}
	slices.SortFunc(stats.By, func(a, b hook.StatsDecider) int {
		return cmp.Or(cmp.Compare(b.Allowed+b.Denied, a.Allowed+a.Denied), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	stats.By = stats.By[:min(len(stats.By), maxDeciders)]
	return stats, nil
}

// bucketStarts are the hours or days from since to now, in their zone, where a day may have 23 or
// 25 hours. There is one more than may be when there are too many.
func bucketStarts(since, now time.Time, step string) (starts []time.Time) {
	y, m, d := since.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, since.Location())
	if step == StepHour {
		t = since.Truncate(time.Hour) // zones that are half an hour off begin there
	}
	for !t.After(now) && len(starts) <= maxBuckets {
		starts = append(starts, t)
		if step == StepHour {
			t = t.Add(time.Hour)
		} else {
			d++
			t = time.Date(y, m, d, 0, 0, 0, 0, since.Location())
		}
	}
	return starts
}

func count(b *hook.StatsBucket, o hook.Outcome, rule bool) {
	switch {
	case o == hook.Allowed && rule:
		b.AllowedRule++
	case o == hook.Allowed:
		b.AllowedPerson++
	case o == hook.Denied && rule:
		b.DeniedRule++
	case o == hook.Denied:
		b.DeniedPerson++
	case o == hook.Expired:
		b.Expired++
	case o == hook.Withdrawn:
		b.Withdrawn++
	case o == hook.HandedBack:
		b.HandedBack++
	}
}

// quantile is the nearest rank of a sorted list; 0 for none.
func quantile(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
