package memo

import "testing"

// At least the newest Most are remembered, and twice as many at most.
func TestMemo(t *testing.T) {
	m := Memo[int, int]{Most: 10}
	for i := range 100 {
		m.Put(i, -i)
		known := 0
		for k := range 100 {
			v, ok := m.Get(k)
			if ok && v != -k {
				t.Errorf("%d is %d", k, v)
			}
			if ok {
				known++
			}
			if !ok && k <= i && k > i-10 {
				t.Errorf("after %d, %d is forgotten", i, k)
			}
		}
		if known > 20 {
			t.Errorf("%d are remembered", known)
		}
	}
	var one Memo[string, int]
	one.Put("a", 1)
	if v, ok := one.Get("a"); v != 1 || !ok {
		t.Error("the zero value remembers nothing")
	}
}
