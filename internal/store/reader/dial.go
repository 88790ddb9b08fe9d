package reader

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/store/stream"
)

// answerTimeout bounds one answer of the server.
const answerTimeout = 5 * time.Second

// dial connects once; the connection is not made again when it is lost, for the address
// and the token may be others by then.
func dial(info stream.NATSInfo, opts ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	opts = append([]nats.Option{
		nats.Token(info.Token), nats.Name("assent events"), nats.NoReconnect(), nats.Timeout(answerTimeout),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // calls return what matters
	}, opts...)
	nc, err := nats.Connect(info.URL, opts...)
	if err != nil {
		why := ErrNoServer
		if errors.Is(err, nats.ErrAuthorization) {
			why = ErrToken
		}
		return nil, nil, fmt.Errorf("%w at %s: %w", why, withoutPassword(info.URL), err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("open JetStream at %s: %w", withoutPassword(info.URL), err)
	}
	return nc, js, nil
}

// withoutPassword is address, one or a list, fit to be shown.
func withoutPassword(address string) string {
	var shown []string
	for one := range strings.SplitSeq(address, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			shown = append(shown, "…")
			continue
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ",")
}
