package stream

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// Pages of ended requests have every record of each, wherever the records lie between those of
// others and whatever was removed, as one read of each request has them.
func TestEndedIsWhole(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	note := func(id string, step hook.Step, after uint64) uint64 {
		return mustAppend(t, s, hook.Record{ID: uuid.NewString(), RequestID: id, Step: step, Time: time.Now().UTC()}, after)
	}
	const all = 60
	ids, seqs := make([]string, all), make([]uint64, all)
	for i := range all {
		rec := asked(t)
		ids[i] = rec.RequestID
		if i%7 == 3 {
			rec.Request.SessionID = "gone"
		}
		seqs[i] = mustAppend(t, s, rec, 0)
	}
	for _, i := range []int{5, 0, 59, 58, 57, 30, 31, 1, 2} { // far from being asked, in another order
		seqs[i] = mustAppend(t, s, decided(ids[i]), seqs[i])
	}
	for i := range all {
		if seqs[i] <= all && i%5 != 4 { // every fifth stays pending
			seqs[i] = mustAppend(t, s, decided(ids[i]), seqs[i])
		}
		if i%2 == 0 && i > 0 && seqs[i-1] > all {
			seqs[i-1] = note(ids[i-1], hook.StepDelivered, seqs[i-1])
		}
	}
	for i := 0; i < all; i += 3 {
		if seqs[i] > all {
			seqs[i] = note(ids[i], hook.StepConfirmed, seqs[i])
		}
	}
	for i := 0; i < all; i += 6 { // removed, one by one
		for _, rec := range must(s.Records(t.Context(), ids[i])) {
			st, err := s.record.js.Stream(t.Context(), RecordStream)
			if err == nil {
				err = st.DeleteMsg(t.Context(), rec.Seq)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, limit := range []int{1, 2, 3, 7, 25, 1000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			seen, before := map[string]bool{}, uint64(0)
			for {
				page, err := s.Ended(t.Context(), before, limit)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				for _, recs := range page {
					id := recs[0].RequestID
					if seen[id] {
						t.Errorf("request %s comes twice", id)
					}
					seen[id] = true
					if want := must(s.Records(t.Context(), id)); !reflect.DeepEqual(recs, want) {
						t.Errorf("page before %d: request %s has %d records, want %d", before, id, len(recs), len(want))
					}
					for _, rec := range recs {
						if settles(rec) {
							if before != 0 && rec.Seq >= before {
								t.Errorf("a page before %d has one settled at %d", before, rec.Seq)
							}
							before = rec.Seq
						}
					}
				}
			}
			want := 0
			for _, id := range ids {
				for _, rec := range must(s.Records(t.Context(), id)) {
					if settles(rec) {
						want++
					}
				}
			}
			if len(seen) != want {
				t.Errorf("%d requests on all pages, want %d", len(seen), want)
			}
		})
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
