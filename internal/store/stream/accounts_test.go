package stream

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var testPasswords = map[string]string{UserEvents: "pw-events", UserRecord: "pw-record", UserKeeper: "pw-keeper", UserReader: "pw-reader"}

// withAccounts starts a server with this configuration of accounts, and returns the address of each user.
func withAccounts(t *testing.T, accounts string) map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(fmt.Sprintf("max_payload: 8MB\njetstream { store_dir: %q }\n%s", t.TempDir(), accounts)), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opts.Host, opts.Port, opts.NoSigs, opts.NoLog = "127.0.0.1", -1, true, true
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	urls := map[string]string{}
	for _, user := range Users() {
		urls[user] = "nats://" + user + ":" + testPasswords[user] + "@" + srv.Addr().String()
	}
	return urls
}

// run has a broker's streams made, and the windows.
func run(t *testing.T, urls map[string]string) {
	t.Helper()
	s := open(t, Config{URL: urls[UserEvents], RecordURL: urls[UserRecord]})
	mustAppend(t, s, asked(t), 0)
	mustPublish(t, s, fullEvent())
	nc, err := nats.Connect(urls[UserKeeper])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // again is no mistake
		if err := MakeWindows(t.Context(), urls[UserKeeper], 1); err != nil {
			t.Fatal(err)
		}
	}
	consumer, err := js.CreateConsumer(t.Context(), HookEvents, jetstream.ConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := consumer.Next(jetstream.FetchMaxWait(patience)); err != nil { // the window has what there is
		t.Fatal(err)
	}
}

// TestAccounts: with the configuration that is printed, each user can do what it should and nothing else, and the
// window shows the events.
func TestAccounts(t *testing.T) {
	urls := withAccounts(t, AccountsConfig(testPasswords))
	early := CheckAccounts(t.Context(), urls)
	for _, f := range early {
		if !f.May && !f.OK || f.May && f.OK && strings.HasPrefix(f.What, "see") || f.What == "connect" {
			t.Errorf("before a broker ran: %+v", f)
		}
	}
	run(t, urls)
	findings := CheckAccounts(t.Context(), urls)
	can, cannot := 0, 0
	for _, f := range findings {
		if !f.OK {
			t.Errorf("%+v", f)
		}
		if f.May {
			can++
		} else {
			cannot++
		}
	}
	if can < 7 || cannot < 25 {
		t.Errorf("%d permitted and %d forbidden things were tried", can, cannot)
	}

	nc, err := nats.Connect(urls[UserReader])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateConsumer(t.Context(), HookEvents, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	m, err := consumer.Next(jetstream.FetchMaxWait(patience))
	if err != nil || !strings.HasPrefix(m.Subject(), "hooks.") {
		t.Fatalf("%v, %v", m, err)
	}
	if err := m.DoubleAck(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is wrong with a configuration is found.
func TestAccountsWrong(t *testing.T) {
	good := AccountsConfig(testPasswords)
	reader := good[strings.Index(good, ", permissions:"):strings.Index(good, `subscribe: [ "_INBOX.>" ]`)]
	for _, x := range []struct {
		name, conf string
		record     string // the user of the record
		want       []string
	}{
		{"a reader with no bounds", strings.Replace(good, reader+`subscribe: [ "_INBOX.>" ]`+"\n      }", "", 1), UserRecord, []string{"list streams", "empty the window", "listen on >"}},
		{"a reader that listens", strings.Replace(good, `subscribe: [ "_INBOX.>" ]`, `subscribe: [ "_INBOX.>", "hooks.>" ]`, 1), UserRecord, []string{"listen on hooks.>"}},
		{"one account for events and record", good, UserEvents, []string{"see the stream " + RecordStream, "see the stream " + kvStream}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.conf == good && x.record == UserRecord {
				t.Fatal("the configuration is not another")
			}
			urls := withAccounts(t, x.conf)
			if x.record == UserEvents {
				urls[UserRecord] = urls[UserEvents]
			}
			run(t, urls)
			wrong := map[string]bool{}
			for _, f := range CheckAccounts(t.Context(), urls) {
				if !f.OK {
					wrong[f.What] = true
				}
			}
			for _, what := range x.want {
				if !wrong[what] {
					t.Errorf("not found: %s; found %v", what, wrong)
				}
			}
		})
	}
}

// A check changes nothing, whatever the users may do.
func TestAccountCheckChangesNothing(t *testing.T) {
	good := AccountsConfig(testPasswords)
	i, j := strings.Index(good, ", permissions:"), strings.Index(good, `subscribe: [ "_INBOX.>" ]`)
	urls := withAccounts(t, good[:i]+good[j+len(`subscribe: [ "_INBOX.>" ]`+"\n      }"):])
	run(t, urls)
	nc, err := nats.Connect(urls[UserKeeper])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	state := func() string {
		st, err := js.Stream(t.Context(), HookEvents)
		if err != nil {
			t.Fatal(err)
		}
		info := st.CachedInfo()
		return fmt.Sprint(info.State.Deleted, info.State.FirstSeq, info.Config.MaxMsgs, info.Config.MaxBytes)
	}
	before := state()
	CheckAccounts(t.Context(), urls)
	if after := state(); after != before {
		t.Errorf("%s became %s", before, after)
	}
}
