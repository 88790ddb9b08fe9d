package stream

import "testing"

func TestRecordsAreSalted(t *testing.T) {
	rec := decided("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	a, errA := recordMessage(rec)
	b, errB := recordMessage(rec)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if x, y := a.Header.Get(HeaderSalt), b.Header.Get(HeaderSalt); len(x) != 64 || len(y) != 64 || x == y {
		t.Errorf("salts %q and %q", x, y)
	}
	// Records of earlier releases have none.
	a.Header.Del(HeaderSalt)
	if got, err := messageRecord(a.Header, a.Data, 1); err != nil || got.RequestID != rec.RequestID {
		t.Errorf("got %+v, %v", got, err)
	}
}
