package stream

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// On a cluster of one's own the separation of accounts is the operator's to make. This is the
// configuration that does it as the embedded server does: the events have an account, the record has one, and
// readers have one in which there is a mirror of the events and nothing else.

// The users of that configuration.
const (
	UserEvents = "assent" // owns the events
	UserRecord = "record" // owns requests, decisions and the state
	UserKeeper = "keeper" // makes the readers' windows, once
	UserReader = "reader" // reads them, and can do nothing else
)

// The accounts of that configuration.
const (
	eventsAccount = "ASSENT"
	recordAccount = "RECORD"
	windowAccount = "READERS"
)

// Users are those users, in the order in which they are said.
func Users() []string { return []string{UserEvents, UserRecord, UserKeeper, UserReader} }

// AccountsConfig is configuration of nats-server with these users and their passwords, to be included in that
// of each server of a cluster. Passwords are made of letters, digits, "-" and "_".
func AccountsConfig(passwords map[string]string) string {
	user := func(name, more string) string {
		return fmt.Sprintf("{ user: %s, password: %q%s }", name, passwords[name], more)
	}
	var allowed []string
	for _, subject := range readerPermissions().Publish.Allow {
		allowed = append(allowed, fmt.Sprintf("          %q", subject))
	}
	reader := user(UserReader, ", permissions: {\n        publish: [\n"+strings.Join(allowed, "\n")+"\n        ]\n        subscribe: [ \"_INBOX.>\" ]\n      } ")
	text := strings.TrimSpace(accounts)
	text = strings.Replace(text, coreAccount+" {\n    jetstream: enabled\n", coreAccount+" {\n    jetstream: enabled\n    users: [ "+user(UserEvents, "")+" ]\n", 1)
	text = strings.Replace(text, readersAccount+" {\n    jetstream: enabled\n", readersAccount+" {\n    jetstream: enabled\n    users: [\n      "+user(UserKeeper, "")+"\n      "+reader+"\n    ]\n", 1)
	text = strings.TrimSuffix(text, "}") + "  " + recordAccount + " {\n    jetstream: enabled\n    users: [ " + user(UserRecord, "") + " ]\n  }\n}\n"
	return strings.NewReplacer(coreAccount, eventsAccount, readersAccount+"]", windowAccount+"]", readersAccount+" {", windowAccount+" {").Replace(text)
}

// MakeWindows makes the readers' windows on a cluster with that configuration, or leaves them as they are. urls are
// those of UserKeeper. The brokers must have run before: the windows are mirrors of their streams.
func MakeWindows(ctx context.Context, urls string, replicas int) error {
	nc, err := dialOnce(urls)
	if err != nil {
		return fmt.Errorf("connect to NATS as %s: %w", UserKeeper, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	for _, w := range []struct {
		window jetstream.StreamConfig
		of     string
	}{{hookWindow(), EventsStream}, {agentWindow(), agentsStream}} {
		w.window.Replicas = replicas
		w.window.Mirror = &jetstream.StreamSource{Name: w.of, External: &jetstream.ExternalStream{APIPrefix: mirrorAPI, DeliverPrefix: mirrorDeliver}}
		if _, err := js.CreateOrUpdateStream(ctx, w.window); err != nil {
			return fmt.Errorf("make the window %s of %s: %w", w.window.Name, w.of, err)
		}
	}
	return nil
}

// dialOnce connects to a cluster for a few calls.
func dialOnce(urls string) (*nats.Conn, error) {
	return nats.Connect(urls, nats.Name("assent nats-accounts"), nats.Timeout(connectTimeout), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // LastError has it
}
