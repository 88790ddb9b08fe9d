package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/api"
	"assent/internal/auth/devicekey"
	"assent/internal/host/regular"
	"assent/internal/setup/statedir"
	"assent/internal/text/show"
	"assent/internal/text/strictjson"
)

// maxToken bounds the file of a running broker's token, in bytes.
const maxToken = 4 << 10

// client is the API of the running broker, or of the one that --url names, with the commands' exit
// codes.
type client struct {
	*api.Client
	info  statedir.Broker // of a broker elsewhere the URL only
	token string
	tls   *tls.Config
	// signs is the key that the token is bound to; nil: it is bound to none.
	signs *devicekey.Key
}

// broker finds the broker: that of --url, or the running one of the state directory. It is
// spoken to with the owner's token, or with ASSENT_TOKEN. The owner's token never leaves for a
// URL: whoever sets the environment would get it.
func (a *app) broker() (*client, error) {
	config, info, err := a.address()
	if err != nil {
		return nil, err
	}
	config.Token = cmp.Or(os.Getenv("ASSENT_TOKEN"), a.credential)
	if config.Token == "" && a.url != "" {
		return nil, errors.New("no credential: set ASSENT_TOKEN to a token of that broker (there: assent token create)")
	}
	if config.Token == "" {
		b, err := regular.Read(filepath.Join(a.stateDir, "owner.token"), maxToken, 0)
		if err != nil {
			return nil, fmt.Errorf("no credential: set ASSENT_TOKEN (the owner's token cannot be read: %w)", err)
		}
		config.Token = strings.TrimSpace(string(b))
	}
	b := newClient(config, info)
	b.signs, err = tokenKey()
	return b, err
}

// reach is broker without a credential.
func (a *app) reach() (*client, error) {
	config, info, err := a.address()
	if err != nil {
		return nil, err
	}
	return newClient(config, info), nil
}

func newClient(config api.ClientConfig, info statedir.Broker) *client {
	return &client{Client: api.NewClient(config), info: info, token: config.Token, tls: config.TLS}
}

// address is where the broker is and how it is known.
func (a *app) address() (api.ClientConfig, statedir.Broker, error) {
	config := api.ClientConfig{UntrustedHint: "if its certificate is your own, name it: --cacert FILE"}
	var info statedir.Broker
	var err error
	if a.url != "" {
		info.HTTPURL = a.url
		if config.TLS, err = a.remoteTLS(); err != nil {
			return config, info, err
		}
		if strings.HasPrefix(a.url, "https:") { // a proxy sees nothing of that
			config.Proxy = http.ProxyFromEnvironment
		}
		config.Hint = "does it run there, and is the URL right?"
	} else {
		if info, err = a.runtime(); err != nil {
			return config, info, err
		}
		config.TLS = info.TLS()
		config.Hint = "is it running? start it with: " + typed() + " serve"
	}
	config.URL = info.HTTPURL
	return config, info, nil
}

// runtime is the broker that runs for the state directory.
func (a *app) runtime() (statedir.Broker, error) {
	info, err := statedir.ReadBroker(a.stateDir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = noBroker(fmt.Errorf("no broker is running for the state directory %s; start one with: %s up, or %[2]s serve", a.stateDir, typed()))
	case errors.Is(err, os.ErrPermission):
		err = fmt.Errorf("%w; it is another user's broker: reach it with --url and ASSENT_TOKEN", err)
	}
	return info, err
}

// hookSocket is where the running broker listens for hooks; where none runs it is otherwise.
func (a *app) hookSocket(otherwise string) string {
	if info, err := a.runtime(); err == nil && info.Socket != "" {
		return info.Socket
	}
	return otherwise
}

func refusedf(format string, args ...any) error {
	return &exitError{exitRefused, fmt.Errorf(format, args...)}
}

func noBroker(err error) error { return &exitError{exitNoBroker, err} }

// call is api.Client.Call with the exit codes for a broker that does not answer, and for one that
// refuses (an answer of the 4xx kind).
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	return withExit(c.Call(ctx, method, path, in, out))
}

// lines is api.Client.Lines with the exit codes of call, and without an end to its time.
func (c *client) lines(ctx context.Context, path string) (io.ReadCloser, error) {
	c.Timeout = 0
	body, err := c.Lines(ctx, path)
	return body, withExit(err)
}

func withExit(err error) error {
	var away *api.UnreachableError
	var p *api.Problem
	var name *api.NameError
	switch {
	case errors.As(err, &name) && name.Short:
		return usagef("%w", err)
	case errors.As(err, &name) && name.See != "":
		return refusedf("%w; see: %s %s", err, typed(), name.See)
	case errors.As(err, &name):
		return refusedf("%w", err)
	case errors.As(err, &away):
		return noBroker(err)
	case errors.As(err, &p) && p.Status >= 400 && p.Status < 500:
		return &exitError{exitRefused, err}
	}
	return err
}

// listen is api.Client.Listen with the exit code for a credential that is refused.
func (c *client) listen(ctx context.Context, query string, out chan<- []byte, connected func()) error {
	err := c.Listen(ctx, query, out, connected)
	var no *api.HandshakeError
	if errors.As(err, &no) && no.Refused() {
		return &exitError{exitRefused, err}
	}
	return err
}

// printJSON writes v as one line of JSON, fit for a terminal.
func (a *app) printJSON(v any) error {
	text, err := strictjson.Encode(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(show.JSON(append(text, '\n')))
	return err
}
