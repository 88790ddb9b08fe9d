package rig

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// NATS starts a nats-server for brokers that share it, and ends it with the test.
func NATS(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
		JetStreamMaxStore: 64 << 30, // not what the disk has: streams reserve their bound
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(Soon) {
		t.Fatal("the NATS server does not start")
	}
	return s
}
