package stream

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"

	"github.com/nats-io/nats-server/v2/server"
)

// A client from outside holds the token of nats-info.json and may consume
// HOOK_EVENTS and AGENT_EVENTS, nothing else. Subject permissions alone do not give that: a reader names the
// subject its answers go to, and the server checks no permission there. In the account of
// EVENTS, a pull request with the reply subject hooks.Stop stores old events again, and
// $JS.API.INFO with that reply stores the server's answer as an event (tried with nats-server
// 2.15.2). So the mirror and its readers have an account to themselves, in which nothing
// listens on hooks.>, and the only way from it to EVENTS is the mirror's own.
const (
	coreAccount    = "CORE"
	readersAccount = "HOOKS"

	mirrorAPI     = "assent.api"
	mirrorDeliver = "assent.mirror"

	// accounts is nats-server configuration, for the events engine.
	accounts = `
accounts {
  CORE {
    jetstream: enabled
    exports: [
      { service: "$JS.API.CONSUMER.CREATE.EVENTS",   accounts: [HOOKS] }
      { service: "$JS.API.CONSUMER.CREATE.EVENTS.>", accounts: [HOOKS] }
      { service: "$JS.API.CONSUMER.CREATE.AGENTS",   accounts: [HOOKS] }
      { service: "$JS.API.CONSUMER.CREATE.AGENTS.>", accounts: [HOOKS] }
      { service: "$JS.FC.>",                         accounts: [HOOKS] }
      { stream:  "assent.mirror.>",                  accounts: [HOOKS] }
    ]
  }
  HOOKS {
    jetstream: enabled
    imports: [
      { service: { account: CORE, subject: "$JS.API.CONSUMER.CREATE.EVENTS" },   to: "assent.api.CONSUMER.CREATE.EVENTS" }
      { service: { account: CORE, subject: "$JS.API.CONSUMER.CREATE.EVENTS.>" }, to: "assent.api.CONSUMER.CREATE.EVENTS.>" }
      { service: { account: CORE, subject: "$JS.API.CONSUMER.CREATE.AGENTS" },   to: "assent.api.CONSUMER.CREATE.AGENTS" }
      { service: { account: CORE, subject: "$JS.API.CONSUMER.CREATE.AGENTS.>" }, to: "assent.api.CONSUMER.CREATE.AGENTS.>" }
      { service: { account: CORE, subject: "$JS.FC.>" } }
      { stream:  { account: CORE, subject: "assent.mirror.>" } }
    ]
  }
}`
)

// keys are the credentials of one engine, new at every start; the readers' token may be given.
type keys struct {
	core    string // our own connection
	mirror  string // our own connection to the readers' account, to make the mirror
	readers string // the token of nats-info.json
}

func newKeys(readers string) keys {
	key := func() string {
		b := make([]byte, 32)
		_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
		return base64.RawURLEncoding.EncodeToString(b)
	}
	if readers == "" {
		readers = key()
	}
	return keys{core: key(), mirror: key(), readers: readers}
}

// gate is the events engine's authentication.
type gate struct {
	keys   keys
	server func() *server.Server
}

// Check admits a connection by its token and gives it an account and permissions.
func (g *gate) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	token := c.GetOpts().Token
	is := func(key string) bool {
		return subtle.ConstantTimeCompare([]byte(token), []byte(key)) == 1
	}
	user, account := &server.User{}, ""
	switch {
	case is(g.keys.core):
		user.Username, account = "core", coreAccount
	case is(g.keys.mirror):
		user.Username, account = "mirror", readersAccount
	case is(g.keys.readers):
		user.Username, account = "reader", readersAccount
		user.Permissions = readerPermissions()
	default:
		return false
	}
	acc, err := g.server().LookupAccount(account)
	if err != nil {
		return false
	}
	user.Account = acc
	c.RegisterUser(user)
	return true
}

// readerPermissions are the subjects that nats.go's two JetStream packages use to read the
// public streams with consumers of any kind. A user with an allow list may use nothing besides.
func readerPermissions() *server.Permissions {
	allow := []string{"$JS.API.INFO"}
	for _, name := range []string{HookEvents, AgentEvents} {
		allow = append(allow,
			"$JS.API.STREAM.INFO."+name,
			"$JS.API.CONSUMER.*."+name,
			"$JS.API.CONSUMER.*."+name+".>",
			"$JS.API.CONSUMER.DURABLE.CREATE."+name+".>",
			"$JS.API.CONSUMER.MSG.NEXT."+name+".>",
			"$JS.ACK."+name+".>",
			"$JS.FC."+name+".>",
		)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: allow},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}
}
