package published

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"assent/internal/hook"
)

// FuzzVersion: whatever stands in the record where the rules were, it takes those in force away only if it is a version.
func FuzzVersion(f *testing.F) {
	for _, v := range []Version{{Version: 1}, {Version: 2, Text: "rules: []", By: hook.Approver{Kind: "owner-cli"}, Signed: &hook.RulesSignature{SHA256: "x"}}} {
		value, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	for _, value := range []string{"", "null", "{}", "[]", `{"version":-1}`, `{"text":"deny: all"}`, `{"version":4,"Version":0}`, `{"version":4,"text":"` + strings.Repeat("x", MaxText+1) + `"}`} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		before := Version{Version: 3, Text: "in force"}
		s := &Store{cfg: Config{Logf: func(string, ...any) {}}, now: before, rev: 1, brokers: map[string]Following{}}
		s.apply(nowKey, value, 2)
		s.apply(atKey+"b", value, 2)
		if f, there := s.brokers["b"]; there && f.Broker != "b" {
			t.Errorf("a broker is %q", f.Broker)
		}
		got := s.Now()
		if value == nil || got == before {
			return
		}
		if got.Version < 1 || len(got.Text) > MaxText {
			t.Errorf("%q passes for a version: %d", value, got.Version)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		s.apply(nowKey, again, 3)
		if was := s.Now(); !reflect.DeepEqual(was, got) {
			t.Errorf("%q is read as %+v", again, was)
		}
	})
}
