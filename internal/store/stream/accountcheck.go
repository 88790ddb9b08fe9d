package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// connectTimeout bounds a connection, and tryTimeout what is asked over it.
const (
	connectTimeout = 5 * time.Second
	tryTimeout     = 5 * time.Second
)

// AccountFinding is what was found of one thing that a user of AccountsConfig may do, or may not.
type AccountFinding struct {
	User string `json:"user"`
	What string `json:"what"`
	// May says that the user should be able to.
	May bool `json:"may"`
	OK  bool `json:"ok"`
	// Problem says what is wrong.
	Problem string `json:"problem,omitempty"`
}

// may are the streams of which each user may ask, and no other: what is in another account is not there.
var may = map[string][]string{ // read-only
	UserEvents: {EventsStream, agentsStream},
	UserRecord: {RecordStream, AuditStream, kvStream, textsStream},
	UserReader: {HookEvents, AgentEvents},
}

// CheckAccounts tries on a cluster what each user may do, and what not. It changes nothing: whatever could is
// asked for with a body that the server refuses to act on. urls are by user: addresses with the password, or the
// reader of a file of its own.
func CheckAccounts(ctx context.Context, urls map[string]string) (findings []AccountFinding) {
	for _, user := range []string{UserEvents, UserRecord, UserReader} {
		c := checker{ctx: ctx, user: user}
		if err := c.dial(urls[user]); err != nil {
			findings = append(findings, AccountFinding{User: user, What: "connect", May: true, Problem: err.Error()})
			continue
		}
		c.streams()
		if user == UserReader {
			c.reads()
		}
		c.nc.Close()
		findings = append(findings, c.findings...)
	}
	return append(findings, strangers(urls[UserReader]))
}

// strangers finds whether somebody without a password gets in.
func strangers(url string) AccountFinding {
	f := AccountFinding{User: "nobody", What: "connect without a password"}
	var bare []string
	for _, one := range strings.Split(url, ",") {
		if scheme, rest, ok := strings.Cut(one, "://"); ok {
			if _, host, ok := strings.Cut(rest, "@"); ok {
				rest = host
			}
			one = scheme + "://" + rest
		}
		bare = append(bare, one)
	}
	nc, err := dialOnce(strings.Join(bare, ","))
	if err == nil {
		nc.Close()
		f.Problem = "the server takes it"
		return f
	}
	f.OK = errors.Is(err, nats.ErrAuthorization) || strings.Contains(err.Error(), "uthorization")
	if !f.OK {
		f.Problem = err.Error()
	}
	return f
}

// checker tries what one user may do.
type checker struct {
	ctx      context.Context
	user     string
	nc       *nats.Conn
	findings []AccountFinding
}

func (c *checker) dial(url string) (err error) {
	if url == "" {
		return errors.New("no address is given")
	}
	c.nc, err = dialOnce(url)
	return err
}

func (c *checker) add(what string, may bool, problem string) {
	c.findings = append(c.findings, AccountFinding{User: c.user, What: what, May: may, OK: problem == "", Problem: problem})
}

// refused reports whether the server has refused this subject.
func (c *checker) refused(subject string) bool {
	if c.nc.FlushTimeout(tryTimeout) != nil {
		return false
	}
	err := c.nc.LastError() // in lower case; it came before the answer to the flush
	return err != nil && strings.Contains(strings.ToLower(err.Error()), strings.ToLower(`"`+subject+`"`))
}

var errRefused = errors.New("the server refuses it")

// ask asks the server's API. errRefused: the user may not. A *jetstream.APIError is the server's answer.
func (c *checker) ask(subject, body string) error {
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest(subject, inbox, []byte(body)); err != nil {
		return err
	}
	if c.refused(subject) {
		return errRefused
	}
	ctx, cancel := context.WithTimeout(c.ctx, tryTimeout)
	defer cancel()
	m, err := sub.NextMsgWithContext(ctx)
	if errors.Is(err, nats.ErrNoResponders) {
		return errRefused // nobody listens in this account
	}
	if err != nil {
		return err
	}
	if m.Header.Get("Status") == "503" {
		return errRefused
	}
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	if json.Unmarshal(m.Data, &answer) == nil && answer.Error != nil {
		return answer.Error
	}
	return nil
}

// streams tries which streams the user sees.
func (c *checker) streams() {
	for _, of := range []string{EventsStream, agentsStream, RecordStream, AuditStream, kvStream, textsStream, HookEvents, AgentEvents} {
		wanted := false
		for _, name := range may[c.user] {
			wanted = wanted || name == of
		}
		if !wanted && c.user == UserEvents && (of == HookEvents || of == AgentEvents) {
			continue // a broker makes them in its own account, too, where nobody needs them
		}
		err := c.ask("$JS.API.STREAM.INFO."+of, "")
		var answer *jetstream.APIError
		missing := errors.As(err, &answer) && answer.Code == 404
		problem := ""
		switch {
		case wanted && missing:
			problem = "it is not there yet: start a broker with these addresses"
			if c.user == UserReader {
				problem += ", then: assent nats-accounts windows"
			}
		case wanted && err != nil:
			problem = err.Error()
		case !wanted && err == nil:
			problem = "it can be reached: it has to be in an account of its own"
		case !wanted && !missing && !errors.Is(err, errRefused):
			problem = err.Error()
		}
		c.add("see the stream "+of, wanted, problem)
	}
}

// reads tries what a reader may do with the windows, and that it can do nothing else.
func (c *checker) reads() {
	js, err := jetstream.New(c.nc)
	if err == nil {
		ctx, cancel := context.WithTimeout(c.ctx, tryTimeout)
		defer cancel()
		var consumer jetstream.Consumer
		if consumer, err = js.CreateConsumer(ctx, HookEvents, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Minute}); err == nil {
			_, err = consumer.FetchNoWait(1)
			err = errors.Join(err, js.DeleteConsumer(ctx, HookEvents, consumer.CachedInfo().Name))
		}
	}
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	c.add("read "+HookEvents+" with a consumer", true, problem)

	const nothing = `{"seq":"nothing"}` // no number, and not empty: nothing is done
	for _, x := range []struct{ what, subject string }{
		{"forge an event", "hooks.Stop"},
		{"forge what an agent did", "agents.x"},
		{"forge a decision", "approvals.x.decided"},
		{"forge a block of the tree", auditSubject},
		{"write the state", kvSubjects + "x"},
		{"list streams", "$JS.API.STREAM.NAMES"},
		{"make a stream", "$JS.API.STREAM.CREATE.X"},
		{"change the window", "$JS.API.STREAM.UPDATE." + HookEvents},
		{"empty the window", "$JS.API.STREAM.PURGE." + HookEvents},
		{"delete the window", "$JS.API.STREAM.DELETE." + HookEvents},
		{"delete an event", "$JS.API.STREAM.MSG.DELETE." + HookEvents},
		{"read events around the window", mirrorAPI + ".CONSUMER.CREATE." + EventsStream},
		{"consume the record", "$JS.API.CONSUMER.CREATE." + RecordStream},
		{"read the state", "$JS.API.STREAM.MSG.GET." + kvStream},
		{"read the texts of messages", "$JS.API.STREAM.MSG.GET." + textsStream},
	} {
		problem := ""
		if err := c.ask(x.subject, nothing); !errors.Is(err, errRefused) {
			problem = fmt.Sprintf("the server lets it publish to %s (%v)", x.subject, err)
		}
		c.add(x.what, false, problem)
	}
	for _, subject := range []string{">", "hooks.>", mirrorDeliver + ".>", "$JS.>"} {
		sub, err := c.nc.SubscribeSync(subject)
		problem := ""
		if err == nil {
			if !c.refused(subject) {
				problem = "the server lets it"
			}
			_ = sub.Unsubscribe()
		}
		c.add("listen on "+subject, false, problem)
	}
}
