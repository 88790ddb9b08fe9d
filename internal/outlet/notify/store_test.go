package notify

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// FuzzStored: whatever another release left in the KV, no device is rung at an address that this broker would not take, nor
// by settings that it would refuse.
func FuzzStored(f *testing.F) {
	const keys = `"keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}`
	for _, value := range []string{
		"", "null", "{}", `{"settings":{"afterSeconds":30,"quiet":[{"from":"22:00","to":"07:00"}],"timeZone":"Europe/Berlin"}}`,
		`{"subscription":{"endpoint":"https://push.example/x",` + keys + `},"settings":{"sessions":{"mode":"only","ids":["s"]}}}`,
		`{"subscription":{"endpoint":"https://127.0.0.1/x",` + keys + `},"settings":{}}`, `{"subscription":{},"settings":{"afterSeconds":-1}}`,
		`{"public":"x","private":"y"}`, `{"asked":["q"],"aside":["r"]}`,
	} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		p := &Push{cfg: Config{Logf: func(string, ...any) {}}, devices: map[string]*stored{}, status: map[string]*sendStatus{}, told: map[string]toldState{}, haveKey: make(chan struct{})}
		p.apply(vapidKey, value, 1)
		p.apply(toldPrefix+"x", value, 1)
		p.apply(devicePrefix+"d", value, 1)
		if (p.keys != vapidKeys{}) && (p.keys.Public == "" || p.keys.Private == "") {
			t.Errorf("half a key: %q", value)
		}
		state := p.State("d")
		got := p.devices["d"]
		if got == nil {
			if state.Subscribed {
				t.Errorf("%q is no device, and subscribed", value)
			}
			return
		}
		if err := got.Settings.check(); err != nil {
			t.Errorf("settings %+v: %v", got.Settings, err)
		}
		got.Settings.quietUntil(time.Unix(1_800_000_000, 0))
		if sub := got.Subscription; sub != nil {
			if err := p.checkSubscription(sub); err != nil {
				t.Errorf("subscribed at %q: %v", sub.Endpoint, err)
			}
		}
		again, err := json.Marshal(got.record)
		if err != nil {
			t.Fatal(err)
		}
		was := got.record
		p.apply(devicePrefix+"d", again, 2)
		if now := p.devices["d"].record; !reflect.DeepEqual(now, was) {
			t.Errorf("%s is read as %+v, not %+v", again, now, was)
		}
	})
}
