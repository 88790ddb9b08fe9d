package rabbit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"assent/e2e/rig/rabbitmq"
	"assent/internal/freeport"
)

// tenants is how many tests may have a virtual host of the shared node.
const tenants = 10

// sharedNode is a RabbitMQ for all tests that neither stop it nor change it. Each has a virtual host of
// its own on it: to start a node is the dearest thing that these tests do.
type sharedNode struct {
	*rabbitmq.Server
	dir, cert string // the authority of its TLS listener
	tlsPort   int
	given     atomic.Int32
}

// sharedNow is the shared node, nil while nobody asked for it. TestMain ends it.
var sharedNow atomic.Pointer[sharedNode]

// shared starts the node for the first that asks.
var shared = sync.OnceValues(func() (s *sharedNode, err error) {
	dir, err := os.MkdirTemp("", "assent-rabbit-")
	if err != nil {
		return nil, err
	}
	s = &sharedNode{dir: dir}
	sharedNow.Store(s)
	cert, key, err := certificate(dir)
	if err != nil {
		return nil, err
	}
	ports, err := freeport.Find(1)
	if err != nil {
		return nil, err
	}
	s.cert, s.tlsPort = cert, ports[0]
	hosts := []string{"/"}
	for i := range tenants {
		hosts = append(hosts, tenant(i))
	}
	more, err := definitions(dir, hosts, user{Name: "guest", Password: "guest", configure: ".*", write: ".*", read: ".*"})
	if err != nil {
		return nil, err
	}
	node := filepath.Join(dir, "node")
	if err := os.Mkdir(node, 0o700); err != nil {
		return nil, err
	}
	if s.Server, err = rabbitmq.New(node, more+fmt.Sprintf("listeners.ssl.1 = 127.0.0.1:%d\nssl_options.cacertfile = %s\nssl_options.certfile = %s\nssl_options.keyfile = %s\n", s.tlsPort, cert, cert, key)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s, s.Start(ctx)
})

func (s *sharedNode) close() {
	if s.Server != nil {
		s.Close()
	}
	_ = os.RemoveAll(s.dir)
}

func tenant(i int) string { return fmt.Sprint("tenant", i) }

// share is the shared node, and a virtual host of it that nobody else has.
func share(t *testing.T) (s *sharedNode, host string) {
	t.Helper()
	if testing.Short() {
		t.Skip("RabbitMQ takes its time to start")
	}
	s, err := shared()
	skipOrFail(t, err)
	i := int(s.given.Add(1)) - 1
	if i >= tenants {
		t.Fatal("the shared node has too few virtual hosts")
	}
	return s, tenant(i)
}

// shareURL is the address of a virtual host of the shared node that nobody else has.
func shareURL(t *testing.T) string {
	t.Helper()
	s, host := share(t)
	return s.URL() + host
}

// skipOrFail ends a test that cannot have its RabbitMQ.
func skipOrFail(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, rabbitmq.ErrMissing) && os.Getenv("ASSENT_E2E_REQUIRE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// user is somebody who may log in to a node from its start on, and what he may do on all its hosts.
type user struct {
	Name                   string `json:"name"`
	Password               string `json:"password"`
	Tags                   string `json:"tags"`
	configure, write, read string
}

// definitions is configuration that makes virtual hosts and users as a node starts: rabbitmqctl takes
// seconds for each.
func definitions(dir string, hosts []string, users ...user) (config string, err error) {
	type host struct {
		Name string `json:"name"`
	}
	type permission struct {
		User      string `json:"user"`
		Host      string `json:"vhost"`
		Configure string `json:"configure"`
		Write     string `json:"write"`
		Read      string `json:"read"`
	}
	var all struct {
		Hosts       []host       `json:"vhosts"`
		Users       []user       `json:"users"`
		Permissions []permission `json:"permissions"`
	}
	all.Users = users
	for _, h := range hosts {
		all.Hosts = append(all.Hosts, host{h})
		for _, u := range users {
			all.Permissions = append(all.Permissions, permission{u.Name, h, u.configure, u.write, u.read})
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "definitions.json")
	return "load_definitions = " + path + "\n", os.WriteFile(path, text, 0o600)
}
