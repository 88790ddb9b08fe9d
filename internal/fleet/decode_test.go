package fleet

import (
	"testing"

	"assent/internal/hook"
	"assent/internal/text/digest"
)

// FuzzDecode: whatever another release of a broker has left in the KV and in Texts, it is read without harm, a message that says its words are
// elsewhere brings none of its own, and only the words that it names become its own.
func FuzzDecode(f *testing.F) {
	m := message("m1", secret)
	m.State, m.Steps = sent, []hook.MessageStep{{State: sent}}
	text := []byte(`{"prompt":"` + secret + `","salt":"x","at":"2026-11-28T06:00:00Z"}`)
	for _, at := range []place{{}, {prefix + "m1.x", digest.Of(text)}} {
		value, err := encode(m, at)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value, text)
	}
	f.Add([]byte(`{"message":{"id":"m1","steps":[{}],"prompt":"another"},"words":"message.m1.x","digest":"y"}`), text)
	f.Add([]byte(`{"message":null,"words":"message.m1.x"}`), []byte("null"))
	f.Add([]byte(`{"message":{"id":"m1","steps":[null]},"words":"message.m1.x","digest":""}`), []byte(`{"prompt":"x"}`))
	f.Fuzz(func(t *testing.T, value, text []byte) {
		s := &Store{cfg: Config{Logf: func(string, ...any) {}}, wake: make(chan struct{}, 1), messages: map[string]*entry{}, words: map[string]*words{}, sessions: map[string]*session{}}
		s.apply(prefix+"m1", value, 1)
		e := s.messages["m1"]
		if e == nil {
			return
		}
		own := e.m.Prompt
		s.applyWords(e.at.Words, text, 1)
		if e.m.Prompt != own && e.at.Digest != digest.Of(text) {
			t.Errorf("words of another digest: %q by %q", e.m.Prompt, text)
		}
		if e.at != (place{}) && own != "" {
			t.Errorf("a message whose words are elsewhere has some: %q", own)
		}
		if again, err := encode(e.m, e.at); err != nil {
			t.Error(err)
		} else if _, _, err := decode(again); err != nil {
			t.Errorf("%s: %v", again, err)
		}
	})
}
