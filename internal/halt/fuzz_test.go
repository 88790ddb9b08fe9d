package halt

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"assent/internal/hook"
)

// FuzzState: whatever stands in the KV where the state was, only acts of which the newest says so lift a stop.
func FuzzState(f *testing.F) {
	stop := hook.HaltAct{Act: hook.HaltStop, By: phone}
	for _, acts := range [][]hook.HaltAct{{}, {stop}, {stop, {Act: hook.HaltLift, By: phone}}, {{Act: hook.HaltPause, By: phone, Seconds: 60}}} {
		value, err := json.Marshal(document{Acts: acts})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	for _, value := range []string{"", "null", "{}", "[]", `{"acts":null}`, `{"acts":[{}]}`, `{"acts":[{"act":"freeze"}]}`, `{"state":"stopped"}`, `{"acts":[{"act":"stop"}],"Acts":null}`} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		s := &Store{cfg: Config{Logf: func(string, ...any) {}}, owed: make(chan struct{}, 1), state: hook.Halt{Revision: 1, Acts: []hook.HaltAct{stop}}}
		s.apply(key, value, 2)
		got := s.State()
		if got.Revision != 2 {
			t.Errorf("revision %d", got.Revision)
		}
		var has struct {
			Acts []struct{ Act string }
		}
		readable := json.Unmarshal(value, &has) == nil && has.Acts != nil
		if got.Stopped() == nil && value != nil {
			if !readable {
				t.Errorf("%s lifts a stop", value)
			} else if n := len(has.Acts); n > 0 && !slices.Contains([]string{hook.HaltLift, hook.HaltPause, hook.HaltResume}, has.Acts[n-1].Act) {
				t.Errorf("%s lifts a stop", value)
			}
		}
		if s.own != nil {
			return
		}
		again, err := json.Marshal(document{Acts: got.Acts})
		if err != nil {
			t.Fatal(err)
		}
		s.apply(key, again, 3)
		if was := s.State(); !reflect.DeepEqual(was.Acts, got.Acts) {
			t.Errorf("%s is read as %+v", again, was.Acts)
		}
	})
}
