package hostlink

import (
	"encoding/json"
	"testing"

	"assent/internal/api"
)

// Whatever a broker writes, the host goes on or ends the connection, and hands nothing on that nobody it accepts signed.
func FuzzBrokerFrame(f *testing.F) {
	for _, text := range []string{
		`{"type":"welcome","lease":30,"held":[{"id":"x","state":"taken"}],"problems":["x"],"stopped":true}`,
		`{"type":"message","message":{"id":"25e5a0e9-9758-4dff-954c-fc44b3a814da","agent":"coder","sessionId":"25e5a0e9-9758-4dff-954c-fc44b3a814da","kind":"prompt","prompt":"x","expiresAt":"2099-01-01T00:00:00Z","signature":"x","publicKey":{"kty":"EC","crv":"P-256","x":"x","y":"y"}}}`,
		`{"type":"message"}`, `{"type":"ack","id":"x","ok":true}`, `{"type":"halt"}`, `{"type":"forget","sessions":["../x",""]}`, `{"type":"ask","id":"x"}`, `{"type":"new"}`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var frame api.BrokerFrame
		if json.Unmarshal(text, &frame) != nil || frame.Type == api.BrokerAsks && frame.Ask != nil {
			return // what is asked is answered on the connection
		}
		x := &fake{refused: map[string]string{}, acked: make(chan string, 1)}
		l := &link{cfg: Config{Executor: x, Accept: func() ([]string, error) { return []string{"device:x"}, nil }, Logf: t.Logf}, sent: map[string]bool{}}
		err := l.take(t.Context(), frame)
		if len(x.offered) > 0 {
			t.Errorf("%s is handed on: %+v", text, x.offered)
		}
		if (err != nil) != (frame.Type == api.BrokerMessage && frame.Message == nil || frame.Type == api.BrokerAsks) {
			t.Errorf("%s: %v", text, err)
		}
	})
}
