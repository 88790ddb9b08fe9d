package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/store/kvmirror/kvtest"
)

const secret = "correct-horse-battery"

// signedWords is a message whose signature the test knows again.
func signedWords(id string) hook.Message {
	m := message(id, secret)
	m.Signature, m.Verification = "signature-of-"+secret, &hook.Verification{}
	return m
}

// What can be forgotten of a message never stands in the KV, whose files keep the bytes of what was replaced, and is
// written elsewhere once.
func TestWordsStandApart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		if _, err := r.Store.Send(t.Context(), signedWords("m1")); err != nil {
			t.Fatal(err)
		}
		r.prompt(r.handed()[0])
		r.event("Stop", `,"stop_hook_active":false`)
		if m := r.wants("m1", sent, taken, started, ended); m.Prompt != secret || m.Signature != "signature-of-"+secret || m.Verification == nil {
			t.Errorf("what it is: %+v", m)
		}
		if err := r.Forget(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		m := r.wants("m1", sent, taken, started, ended)
		if m.Prompt != "" || m.Signature != "" || m.Verification != nil || m.Forgotten == nil || m.Forgotten.By != nil || m.PublicKey == nil {
			t.Errorf("what is left of it: %+v", m)
		}
		if text := strings.Join(r.kv.Ever(), "\n"); strings.Contains(text, secret) || !strings.Contains(text, `"digest":"`) {
			t.Errorf("the KV had %s", text)
		}
		if writes, left := r.texts.Writes(), r.texts.Values(); writes != 2 || len(left) > 0 { // one, and its end
			t.Errorf("the texts had %d changes, and have %v", writes, left)
		}
	})
}

// A record of an earlier release has its text in itself. It goes its way, and is forgotten.
func TestWordsOfEarlierReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, kv: kvtest.New(), texts: kvtest.New()}
		m := signedWords("m1")
		m.State, m.Submitter, m.ExpiresAt = sent, self, time.Now().Add(time.Hour).Format(time.RFC3339)
		m.Steps = []hook.MessageStep{{State: sent, At: time.Now()}}
		value, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.kv.Create(t.Context(), prefix+"m1", value); err != nil {
			t.Fatal(err)
		}
		defer r.start()()
		r.inbox(true)
		time.Sleep(retryTime)
		r.wants("m1", sent, taken)
		r.prompt(r.handed()[0])
		if m := r.wants("m1", sent, taken, started); m.Prompt != secret {
			t.Errorf("its text is %q", m.Prompt)
		}
		if err := r.Forget(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if m := r.wants("m1", sent, taken, started, ended); m.Prompt != "" || m.Signature != "" || m.Forgotten == nil {
			t.Errorf("what is left of it: %+v", m)
		}
		if left := fmt.Sprint(r.kv.Values()); strings.Contains(left, secret) {
			t.Errorf("left behind: %s", left)
		}
	})
}

// The id of a message that was forgotten stays taken as long as a broker whose clock is behind would take the message again, and hand it
// over once more.
func TestForgottenForABrokerBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		if _, err := r.Store.Send(t.Context(), signedWords("m1")); err != nil {
			t.Fatal(err)
		}
		r.prompt(r.handed()[0])
		r.event("Stop", `,"stop_hook_active":false`)
		time.Sleep(DefaultExpiry + clocks - time.Second)
		if err := r.Forget(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if m, err := r.Message("m1"); err != nil || m.Prompt != "" || m.Forgotten == nil {
			t.Errorf("within what clocks differ: %+v, %v", m, err)
		}
		time.Sleep(sweepEvery + clocks)
		if _, err := r.Message("m1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("later: %v", err)
		}
	})
}

// Where the server does not let the broker keep texts apart, they stand in the record.
func TestWordsWithoutAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := kvtest.New()
		s, err := Open(t.Context(), Config{KV: kv, Inbox: func(context.Context, string) (Line, error) { return line{&rig{}}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Send(t.Context(), signedWords("m1")); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(fmt.Sprint(kv.Values()), secret) {
			t.Error("the text is nowhere")
		}
		if err := s.Forget(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if left := fmt.Sprint(kv.Values()); strings.Contains(left, secret) {
			t.Errorf("left behind: %s", left)
		}
	})
}

// A broker that hears of a message before its text does nothing with it until the text is here; the same message, sent to
// that broker again, is the same.
func TestWordsComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &rig{t: t, kv: kvtest.New(), texts: kvtest.New()}
		b := &rig{t: t, kv: a.kv, texts: a.texts}
		defer a.start()()
		defer b.start()()
		a.prompt("hello")
		m := signedWords("m1")
		m.ExpiresAt = time.Now().Add(time.Hour).Format(time.RFC3339)
		a.texts.Delay(1)
		if _, err := a.Store.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		b.inbox(true)
		time.Sleep(2 * retryTime)
		if m := b.wants("m1", sent); m.Prompt != "" || len(b.handed()) > 0 {
			t.Fatalf("handed over without its text: %q", b.handed())
		}
		_, before := b.Since(0)
		a.texts.Delay(0)
		b.wants("m1", sent, taken)
		if got := b.handed(); len(got) != 1 || !strings.Contains(got[0], secret) {
			t.Errorf("handed over: %q", got)
		}
		if changed, _ := b.Since(before); len(changed) == 0 {
			t.Error("nobody hears that its text has come")
		}

		a.texts.Delay(1)
		m.ID = "m2"
		if _, err := a.Store.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, err := b.Store.Send(t.Context(), m); err != nil || got.Prompt != secret {
			t.Errorf("the same message at the other broker: %q, %v", got.Prompt, err)
		}
		a.texts.Delay(0)
		synctest.Wait()
		a.texts.Delay(1) // an erased text is told of to nobody
		if err := a.Forget(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, m := range b.Messages("s") {
			if m.Prompt != "" || m.Forgotten == nil {
				t.Errorf("the other broker still has %+v", m)
			}
		}
		b.mu.Lock()
		for _, w := range b.words {
			if w.Prompt != "" || w.Signature != "" {
				t.Errorf("the other broker still holds %+v", w)
			}
		}
		b.mu.Unlock()
	})
}

// Where another broker has recorded a message under the id first, no text of the second one is left.
func TestWordsOfTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &rig{t: t, kv: kvtest.New(), texts: kvtest.New()}
		b := &rig{t: t, kv: a.kv, texts: a.texts}
		defer a.start()()
		defer b.start()()
		a.prompt("hello")
		b.prompt("hello")
		a.kv.Delay(1)
		if _, err := a.Store.Send(t.Context(), signedWords("m1")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := b.Store.Send(t.Context(), message("m1", "another text")); !errors.Is(err, ErrDuplicate) {
			t.Errorf("the second: %v", err)
		}
		if left := a.texts.Values(); len(left) != 1 || !strings.Contains(fmt.Sprint(left), secret) {
			t.Errorf("what is left: %v", left)
		}
	})
}

// A text that is not the one that the message was recorded with is handed to nobody.
func TestWordsOfAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.prompt("hello")
		if _, err := r.Store.Send(t.Context(), signedWords("m1")); err != nil {
			t.Fatal(err)
		}
		key := slices.Collect(maps.Keys(r.texts.Values()))[0]
		value, rev, err := r.texts.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.texts.Update(t.Context(), key, []byte(strings.Replace(string(value), secret, "rm -rf /", 1)), rev); err != nil {
			t.Fatal(err)
		}
		r2 := &rig{t: t, kv: r.kv, texts: r.texts} // the next broker
		defer r2.start()()
		r2.inbox(true)
		time.Sleep(2 * retryTime)
		if m := r2.wants("m1", sent); m.Prompt != "" || len(r2.handed()) > 0 {
			t.Errorf("handed over: %q", r2.handed())
		}
		time.Sleep(DefaultExpiry)
		r2.wants("m1", sent, expiredState)
	})
}

// Words whose broker was killed before they had a message, or before it had erased them, do not stay.
func TestWordsThatAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, kv: kvtest.New(), texts: kvtest.New()}
		stop := r.start()
		defer func() { stop() }()
		r.inbox(true)
		r.kv.SetDown(errors.New("killed here"))
		if _, err := r.Store.Send(t.Context(), signedWords("m1")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("without a record: %v", err)
		}
		r.kv.SetDown(nil)
		if _, err := r.Store.Send(t.Context(), signedWords("m2")); err != nil {
			t.Fatal(err)
		}
		r.texts.SetDown(errors.New("killed here"))
		if err := r.Forget(t.Context(), "s"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("without erasing: %v", err)
		}
		r.texts.SetDown(nil)
		if left := len(r.texts.Values()); left != 2 {
			t.Fatalf("%d texts are left, and the test shows nothing", left)
		}
		stop()
		stop = r.start()
		synctest.Wait()
		if left := fmt.Sprint(r.texts.Values()); strings.Contains(left, "message.m2.") || !strings.Contains(left, "message.m1.") {
			t.Errorf("after a start: %s", left)
		}
		time.Sleep(orphaned + sweepEvery)
		synctest.Wait()
		if left := r.texts.Values(); len(left) > 0 {
			t.Errorf("after an hour: %v", left)
		}
	})
}

// One message is forgotten, by somebody, and all others are as they were. What is on its way is not; what waits is refused.
func TestOneMessageIsForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		admin := hook.Approver{Kind: hook.KindOwner, Name: "owner"}
		r.inbox(true)
		for _, id := range []string{"m1", "m2", "m3"} {
			if _, err := r.Store.Send(t.Context(), signedWords(id)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * apart)
		}
		for _, step := range []func(){func() {}, func() { r.prompt(r.handed()[0]) }} {
			step()
			if _, err := r.ForgetMessage(t.Context(), "m1", admin); !errors.Is(err, ErrWorking) {
				t.Errorf("while the session has it: %v", err)
			}
		}
		if m, err := r.ForgetMessage(t.Context(), "m3", admin); err != nil || m.State != refused || m.Forgotten == nil {
			t.Errorf("one that waits: %+v, %v", m, err)
		}
		r.event("Stop", `,"stop_hook_active":false`)
		time.Sleep(2 * apart)
		for range 2 {
			m, err := r.ForgetMessage(t.Context(), "m1", admin)
			if err != nil || m.Prompt != "" || m.Signature != "" || m.Forgotten == nil || m.Forgotten.By == nil || *m.Forgotten.By != admin || m.State != ended {
				t.Errorf("it is %+v, %v", m, err)
			}
		}
		if _, err := r.ForgetMessage(t.Context(), "never", admin); !errors.Is(err, ErrNotFound) {
			t.Errorf("one that is not there: %v", err)
		}
		r.prompt(r.handed()[1])
		r.event("Stop", `,"stop_hook_active":false`)
		if m := r.wants("m2", sent, taken, started, ended); m.Prompt != secret || m.Forgotten != nil {
			t.Errorf("another one: %+v", m)
		}
		if left := len(r.texts.Values()); left != 1 {
			t.Errorf("%d texts are left, want 1", left)
		}
		if len(r.handed()) != 2 {
			t.Errorf("handed over %d times", len(r.handed()))
		}
		// That it was there stays as long as without that.
		time.Sleep(keep - sweepEvery)
		r.wants("m1", sent, taken, started, ended)
		time.Sleep(2 * sweepEvery)
		synctest.Wait()
		if left := r.Messages("s"); len(left) > 0 {
			t.Errorf("after a week: %+v", left)
		}
	})
}
