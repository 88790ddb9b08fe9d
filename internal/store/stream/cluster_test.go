package stream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
	"assent/internal/freeport"
	"assent/internal/hook"
)

// startCluster starts three nats-servers that replicate, and returns their addresses.
func startCluster(t *testing.T) string {
	t.Helper()
	const nodes = 3
	ports, err := freeport.Find(nodes)
	if err != nil {
		t.Fatal(err)
	}
	var routes []*url.URL
	for _, p := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	var urls []string
	var servers []*server.Server
	for i, p := range ports {
		srv, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: p}, Routes: routes,
			JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 40, MaxPayload: maxPayload,
			NoSigs: true, NoLog: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		go srv.Start()
		servers = append(servers, srv)
	}
	t.Cleanup(func() {
		for _, srv := range servers {
			srv.Shutdown()
			srv.WaitForShutdown()
		}
	})
	for _, srv := range servers {
		if !srv.ReadyForConnections(patience) {
			t.Fatal("a node does not start")
		}
		urls = append(urls, srv.ClientURL())
	}
	all := strings.Join(urls, ",")
	nc, err := nats.Connect(all)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err = js.AccountInfo(t.Context()); err == nil {
			return all
		}
		if time.Now().After(end) {
			t.Fatal("the cluster has no leader: ", err)
		}
	}
}

// Of brokers that decide one request in the same moment one wins, and each of the others hears
// that it lost, when it can read who won. A cluster refuses a write that comes while another one of
// its subject is on its way with an error of its own, which a single server never says.
//
// A machine so busy that the cluster falls silent lets a rival hear that nobody knows; no more.
func TestClusterRivals(t *testing.T) {
	t.Parallel() // until the cluster has a leader nothing happens here
	urls := startCluster(t)
	const rivals = 6
	var logs []*Stream
	for range rivals {
		logs = append(logs, open(t, Config{URL: urls, Replicas: 3}))
	}
	for range 40 {
		rec := asked(t)
		after := mustAppend(t, logs[0], rec, 0)
		errs := make([]error, rivals)
		settled := make([]int, rivals)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i, s := range logs {
			wg.Go(func() {
				<-start
				if _, errs[i] = s.Append(t.Context(), decided(rec.RequestID), after); errors.Is(errs[i], broker.ErrConflict) {
					var recs []hook.Record
					if _, err := again(func() (_ uint64, err error) { recs, err = s.Records(t.Context(), rec.RequestID); return }); err != nil {
						t.Error(err)
					}
					settled[i] = len(recs) - 1
				}
			})
		}
		close(start)
		wg.Wait()
		winners, unknown := 0, 0
		for i, err := range errs {
			switch {
			case err == nil:
				winners++
				continue
			case errors.Is(err, errSilent) || errors.Is(err, errUnread) || errors.Is(err, context.DeadlineExceeded):
				unknown++
				continue
			case !errors.Is(err, broker.ErrConflict):
				t.Errorf("a rival hears %v, want a conflict", err)
				continue
			}
			if settled[i] != 1 {
				t.Errorf("a rival that lost reads %d settling records, want 1", settled[i])
			}
		}
		if winners > 1 || winners+unknown == 0 {
			t.Fatalf("%d winners", winners)
		}
	}
}
