package stream

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assent/broker"
)

// After Delete the bytes of a text are nowhere in the state directory, all others are as they were, and that holds after a
// restart.
func TestTexts(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir()}
	s := open(t, cfg)
	texts := s.Texts()
	const secret, other = "correct-horse-battery", "an-innocent-neighbour"
	for key, text := range map[string]string{"message.a": secret, "message.b": other, "message.c": secret + strings.Repeat("x", 60<<10)} {
		if _, err := texts.Create(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := texts.Create(t.Context(), "message.b", []byte(secret)); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("written twice: %v", err)
	}
	for _, key := range []string{"message.a", "message.c", "message.a", "message.never"} { // what is not there is no error
		if _, err := texts.Delete(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	for range 2 {
		texts := s.Texts()
		if _, _, err := texts.Get(t.Context(), "message.a"); !errors.Is(err, ErrKeyNotFound) {
			t.Errorf("get of what was erased: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := map[string]string{}
		_ = texts.Watch(ctx, "message.", func(key string, value []byte, _ uint64) { got[key] = string(value) }, cancel)
		if len(got) != 1 || got["message.b"] != other {
			t.Errorf("what is left: %v", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := filesWith(t, cfg.Dir, other); n != 1 {
			t.Fatalf("%d files have what was to stay; the search finds nothing", n)
		}
		if n := filesWith(t, cfg.Dir, secret); n > 0 {
			t.Errorf("%d files still have what was erased", n)
		}
		s = open(t, cfg)
	}
}

// An operator's cluster that lets the broker have no stream for texts is used without one, and the log says what follows.
func TestTextsWithoutAStream(t *testing.T) {
	t.Parallel()
	const own = recordAccount + " {\n    jetstream: "
	conf := strings.Replace(AccountsConfig(testPasswords), own+"enabled", own+"{ max_streams: 3 }", 1)
	if !strings.Contains(conf, "max_streams") {
		t.Fatal("the configuration is not another")
	}
	urls := withAccounts(t, conf)
	var log testLog
	s := open(t, Config{URL: urls[UserEvents], RecordURL: urls[UserRecord], Logf: log.Logf})
	if s.Texts() != nil {
		t.Error("there is a stream")
	}
	if !log.has("forgetting them does not overwrite them") {
		t.Error("nobody is told")
	}
	mustAppend(t, s, asked(t), 0)
}
