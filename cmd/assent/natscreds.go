package main

import (
	"net/url"
	"strings"

	"go.uber.org/zap"

	"assent/internal/store/stream"
)

// Addresses of NATS may hold passwords, and every user of a machine can read what is said on command lines. So
// an address may stand in a file, which is named instead of it.

// natsFile begins the name of a file in the place of an address.
const natsFile = "file:"

// readNATS replaces the names of files by the addresses in them, and looks whether the files of credentials
// are there and nobody else's to read.
func (f *serveFlags) readNATS() error {
	for _, flag := range []struct {
		name string
		to   *string
	}{{"--nats-url", &f.natsURL}, {"--record-url", &f.recURL}} {
		path, ok := strings.CutPrefix(*flag.to, natsFile)
		if !ok {
			continue
		}
		text, err := stream.ReadPrivate(path)
		if err != nil {
			return usagef("%s %s: %w", flag.name, natsFile+path, err)
		}
		urls := strings.Fields(strings.ReplaceAll(text, ",", " "))
		if len(urls) == 0 {
			return usagef("%s %s: the file is empty; want nats://USER:PASSWORD@HOST:4222, several on lines of their own", flag.name, natsFile+path)
		}
		*flag.to = strings.Join(urls, ",")
	}
	for _, flag := range []struct{ name, path, url string }{{"--nats-creds", f.natsCreds, f.natsURL}, {"--record-creds", f.recCreds, f.natsURL}} {
		if flag.path == "" {
			continue
		}
		if flag.url == "" {
			return usagef("%s: there is no --nats-url that it is for", flag.name)
		}
		if _, err := stream.ReadPrivate(flag.path); err != nil {
			return usagef("%s %s: %w", flag.name, flag.path, err)
		}
	}
	return nil
}

// warnOfPasswords says where an address on the command line has a password.
func (f *serveFlags) warnOfPasswords(args []string, log *zap.Logger) {
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		for _, word := range strings.Split(arg+","+value, ",") {
			u, err := url.Parse(word)
			if err != nil || u.User == nil || u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss" {
				continue
			}
			log.Warn("the password of NATS stands on the command line, where other users of this machine can read it: write the address into a file (chmod 600) and say --nats-url file:PATH, or --nats-creds FILE")
			return
		}
	}
}
