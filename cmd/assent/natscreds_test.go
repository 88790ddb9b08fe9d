package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestNATSAddressesFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "nats://a:b@n1:4222\nnats://a:b@n2:4222, nats://a:b@n3:4222\n", 0o600)
	f := serveFlags{natsURL: "file:" + good, recURL: "nats://n:4222", natsCreds: good}
	if err := f.readNATS(); err != nil || f.natsURL != "nats://a:b@n1:4222,nats://a:b@n2:4222,nats://a:b@n3:4222" || f.recURL != "nats://n:4222" {
		t.Errorf("%q, %v", f.natsURL, err)
	}
	for what, f := range map[string]serveFlags{
		"chmod 600":     {natsURL: "file:" + write("open", "nats://a:b@n", 0o644)},
		"empty":         {natsURL: "file:" + write("empty", "\n", 0o600)},
		"no such file":  {recURL: "file:" + filepath.Join(dir, "none"), natsURL: "nats://n"},
		"--nats-url":    {natsCreds: good},
		"--record-cred": {natsURL: "nats://n", recCreds: filepath.Join(dir, "none")},
	} {
		if err := f.readNATS(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error about %q: %v", what, err)
		}
	}
}

func TestPasswordsOnTheCommandLine(t *testing.T) {
	for args, want := range map[string]int{
		"serve --nats-url nats://a:b@n:4222":              1,
		"serve --nats-url=nats://n1,nats://a:b@n2":        1,
		"serve --nats-url nats://n:4222":                  0,
		"serve --nats-url file:/etc/assent/nats --listen": 0,
		"serve --amqp-url amqp://guest:guest@127.0.0.1/":  0,
	} {
		core, logs := observer.New(zapcore.WarnLevel)
		(&serveFlags{}).warnOfPasswords(strings.Fields(args), zap.New(core))
		if logs.Len() != want {
			t.Errorf("%s: %d warnings, want %d", args, logs.Len(), want)
		}
		for _, l := range logs.All() {
			if strings.Contains(l.Message, "a:b") {
				t.Errorf("the warning has the password: %s", l.Message)
			}
		}
	}
}
