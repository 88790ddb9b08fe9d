package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
)

// allMessages reads the stream from its beginning until n messages came.
func allMessages(t *testing.T, d *rig.Daemon, n int) (all []rig.Message) {
	t.Helper()
	c := rig.Consume(t, d)
	rig.Eventually(t, rig.Soon, fmt.Sprintf("%d messages", n), func() bool {
		all = append(all, c.Take()...)
		return len(all) >= n
	})
	return all
}

// examples returns every recorded payload, by the path of its file.
func examples(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	root := filepath.Join("..", "..", "schemas", "examples", "hooks")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 33 {
		t.Fatalf("%d payloads in %s, want one of each of 33 events", len(all), root)
	}
	return all
}

func TestEveryPayloadComesOutWithTheSameBytes(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	c := rig.Consume(t, d)
	want := map[string]string{} // payload → subject
	hooks := map[string]*rig.HookRun{}
	for path, b := range examples(t) {
		var p struct {
			Event string `json:"hook_event_name"`
		}
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if p.Event == "" {
			t.Logf("%s names no event", path)
			continue
		}
		want[string(b)] = "hooks." + p.Event
		// One after the other, but for those that wait: later events would retire them.
		h := d.Hook(b, "--timeout", "1s")
		if p.Event == "PermissionRequest" {
			hooks[path] = h
		} else if out := h.Wait(); out != "" {
			t.Errorf("%s: printed %q", path, out)
		}
	}
	for path, h := range hooks {
		if out := h.Wait(); out != "" {
			t.Errorf("%s: printed %q though nobody answered", path, out)
		}
	}
	for _, odd := range []string{"\x00\xff not JSON", `{"hook_event_name":"a.b.>","x":1}`, `{"hook_event_name":"Stop"} `, "{\r\n\t\"hook_event_name\" : \"Stop\", \"n\": 1e400, \"n\": 2}"} {
		want[odd] = "hooks.Unknown"
		if strings.Contains(odd, `"Stop"`) {
			want[odd] = "hooks.Stop"
		}
		if out := d.Hook([]byte(odd)).Wait(); out != "" {
			t.Errorf("%q: printed %q", odd, out)
		}
	}
	left := map[string]string{}
	for k, v := range want {
		left[k] = v
	}
	rig.Eventually(t, rig.Soon, "all payloads out of the stream", func() bool {
		for _, m := range c.Take() {
			subject, ok := want[m.Data]
			if !ok || subject != m.Subject {
				t.Errorf("on %s came %q, want it on %q", m.Subject, m.Data, subject)
			}
			if m.ID == "" {
				t.Errorf("no Nats-Msg-Id on %s", m.Subject)
			}
			delete(left, m.Data)
		}
		return len(left) == 0 || t.Failed()
	})
}

func TestReadersTokenMayOnlyRead(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	nc, stream := rig.Connect(t, d)
	mayOnlyRead(t, d, nc, stream, 0)
}

// mayOnlyRead tries everything that a reader must not do, on a stream with so many events.
func mayOnlyRead(t *testing.T, d *rig.Daemon, nc *nats.Conn, stream string, before int) {
	t.Helper()
	d.Hook([]byte(`{"session_id":"s","hook_event_name":"Stop"}`)).Wait()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	config := func(name string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: name, Subjects: []string{"mine.>"}}
	}
	for what, try := range map[string]func() error{
		"publish to the stream": func() error { _, err := js.Publish(short(), "hooks.x", nil); return err },
		"publish to the record": func() error { _, err := js.Publish(short(), "approvals.x", nil); return err },
		"create a stream":       func() error { _, err := js.CreateStream(short(), config("MINE")); return err },
		"change the stream":     func() error { _, err := js.UpdateStream(short(), config(stream)); return err },
		"delete the stream":     func() error { return js.DeleteStream(short(), stream) },
		"delete the source":     func() error { return js.DeleteStream(short(), "EVENTS") },
		"list streams":          func() error { _, err := js.StreamNameBySubject(short(), "hooks.>"); return err },
		"see the source":        func() error { _, err := js.Stream(short(), "EVENTS"); return err },
		"see the record":        func() error { _, err := js.Stream(short(), "APPROVALS"); return err },
		"see the state":         func() error { _, err := js.KeyValue(short(), "ASSENT_STATE"); return err },
		"read the source": func() error {
			_, err := js.OrderedConsumer(short(), "EVENTS", jetstream.OrderedConsumerConfig{})
			return err
		},
		"listen beside the stream": func() error { return subscribe(nc, "hooks.>") },
		"listen to everything":     func() error { return subscribe(nc, ">") },
		"listen to the system":     func() error { return subscribe(nc, "$SYS.>") },
		"purge the stream": func() error {
			_, err := nc.RequestWithContext(short(), "$JS.API.STREAM.PURGE."+stream, nil)
			return err
		},
		"delete a message": func() error {
			_, err := nc.RequestWithContext(short(), "$JS.API.STREAM.MSG.DELETE."+stream, []byte(`{"seq":1}`))
			return err
		},
		"read by sequence": func() error {
			_, err := nc.RequestWithContext(short(), "$JS.API.STREAM.MSG.GET."+stream, []byte(`{"seq":1}`))
			return err
		},
	} {
		if err := try(); err == nil {
			t.Errorf("the readers' token may %s", what)
		}
	}
	// What a request's reply subject carries must not become an event either.
	for _, api := range []string{"$JS.API.INFO", "$JS.API.STREAM.INFO." + stream} {
		if err := nc.PublishRequest(api, "hooks.Forged", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}

	d.Hook([]byte(`{"session_id":"s","hook_event_name":"SessionEnd"}`)).Wait()
	c := rig.ConsumeOn(t, nc, stream) // reading works
	var got []rig.Message
	rig.Eventually(t, rig.Soon, "both events", func() bool {
		got = append(got, c.Take()...)
		return len(got) > before+1
	})
	if got = got[before:]; len(got) != 2 || got[0].Subject != "hooks.Stop" || got[1].Subject != "hooks.SessionEnd" {
		t.Errorf("in the stream: %+v", got)
	}
}

// subscribe returns the server's refusal of a subscription, which comes by itself, later.
func subscribe(nc *nats.Conn, subject string) error {
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.Flush(); err != nil {
		return err
	}
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), fmt.Sprintf("%q", subject)) {
		return err
	}
	return nil
}

func TestStreamNeedsItsToken(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	nc, _ := rig.Connect(t, d)
	for _, opt := range []nats.Option{nats.Token(""), nats.Token("guess"), nats.UserInfo("core", "")} {
		if c, err := nats.Connect(nc.ConnectedUrl(), opt); err == nil {
			c.Close()
			t.Error("connected without the token")
		}
	}
	_, owner := d.Owner()
	if c, err := nats.Connect(nc.ConnectedUrl(), nats.Token(owner)); err == nil {
		c.Close()
		t.Error("connected with the owner's token, which is for the API")
	}
	if status, _, err := d.As("", "GET", "/v1/requests", nil); err != nil || status != http.StatusUnauthorized {
		t.Errorf("the API without a token: %d %v", status, err)
	}
}

func TestTakenEventPortIsNoObstacle(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	d := rig.Serve(t, "--nats-listen", l.Addr().String())
	nc, _ := rig.Connect(t, d)
	if nc.ConnectedAddr() == l.Addr().String() {
		t.Error("two listeners on one address")
	}
}

func TestBrokersStartedAtOnceFindTheirEventPorts(t *testing.T) {
	t.Parallel()
	addr := rig.FreePort(t)
	var ds []*rig.Daemon
	for range 4 {
		ds = append(ds, rig.NewDaemon(t, "--nats-listen", addr))
	}
	for _, d := range ds {
		d.Launch()
	}
	for _, d := range ds {
		d.Await()
		rig.Connect(t, d)
	}
}
