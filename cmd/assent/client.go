package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/text/show"
)

// runtimeInfo is <state>/runtime.json: where the running broker is to be found.
type runtimeInfo struct {
	PID     int    `json:"pid"`
	HTTPURL string `json:"http_url"`
	Socket  string `json:"socket"`
	Version string `json:"version"`
	// CertSHA256 is the broker's certificate, by which the commands know it: its names may
	// not include the address they use. Empty without TLS.
	CertSHA256 string `json:"cert_sha256,omitempty"`
}

// tlsConfig accepts the one certificate that runtime.json names.
func (i runtimeInfo) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection checks the certificate itself instead of its names
		VerifyConnection: func(s tls.ConnectionState) error {
			if claude.Digest(s.PeerCertificates[0].Raw) != i.CertSHA256 {
				return errors.New("the certificate is not the one the broker wrote to runtime.json")
			}
			return nil
		},
	}
}

// client speaks to the API of the running broker, or of the one that --url names.
type client struct {
	info  runtimeInfo // of a broker elsewhere the URL only
	token string
	tls   *tls.Config
	proxy func(*http.Request) (*url.URL, error)
	http  *http.Client
}

// broker finds the broker: that of --url, or the running one of the state directory. It is
// spoken to with the owner's token, or with ASSENT_TOKEN. The owner's token never leaves for a
// URL: whoever sets the environment would get it.
func (a *app) broker() (*client, error) {
	c, err := a.reach()
	if err != nil {
		return nil, err
	}
	c.token = os.Getenv("ASSENT_TOKEN")
	if c.token == "" && a.url != "" {
		return nil, errors.New("no credential: set ASSENT_TOKEN to a token of that broker (there: assent token create)")
	}
	if c.token == "" {
		b, err := os.ReadFile(filepath.Join(a.stateDir, "owner.token"))
		if err != nil {
			return nil, fmt.Errorf("no credential: set ASSENT_TOKEN (the owner's token cannot be read: %w)", err)
		}
		c.token = strings.TrimSpace(string(b))
	}
	return c, nil
}

// reach is broker without a credential.
func (a *app) reach() (*client, error) {
	c := &client{}
	if a.url != "" {
		config, err := a.remoteTLS()
		if err != nil {
			return nil, err
		}
		c.info, c.tls = runtimeInfo{HTTPURL: a.url}, config
		if strings.HasPrefix(a.url, "https:") { // a proxy sees nothing of that
			c.proxy = http.ProxyFromEnvironment
		}
	} else {
		info, err := a.runtime()
		if err != nil {
			return nil, err
		}
		c.info, c.tls = info, info.tlsConfig()
	}
	c.http = &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: c.tls, Proxy: c.proxy},
		// A broker redirects nobody; whoever does is not to get the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

func (a *app) runtime() (runtimeInfo, error) {
	var info runtimeInfo
	path := filepath.Join(a.stateDir, "runtime.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return info, noBroker(fmt.Errorf("no broker runs on %s; start it with: %s up, or %[2]s serve", a.stateDir, typed()))
	}
	if errors.Is(err, os.ErrPermission) {
		return info, fmt.Errorf("read %s: %w; it is another user's broker: reach it with --url and ASSENT_TOKEN", path, err)
	}
	if err != nil {
		return info, fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(b, &info); err != nil {
		return info, fmt.Errorf("read %s: %w; restart the broker", path, err)
	}
	return info, nil
}

func noBroker(err error) error { return &exitError{exitNoBroker, err} }

// call sends in as JSON, unless nil, and decodes the answer into out, unless nil. Answers of
// the 4xx kind come back as *api.Problem with the exit code for refusals.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.info.HTTPURL, "/")+path, body)
	if err != nil {
		return fmt.Errorf("URL of the broker: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return noBroker(c.silent(err))
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 256<<20))
	if err != nil {
		return fmt.Errorf("read the broker's answer: %w", err)
	}
	if res.StatusCode >= 300 {
		p := &api.Problem{Status: res.StatusCode, Title: res.Status}
		_ = json.Unmarshal(b, p) // a proxy's answer may be no problem document
		if res.StatusCode >= 400 && res.StatusCode < 500 {
			return &exitError{exitRefused, p}
		}
		return p
	}
	if out == nil || len(b) == 0 {
		return nil
	}
	if raw, ok := out.(*json.RawMessage); ok {
		*raw = b
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("the broker's answer: %w", err)
	}
	return nil
}

// get fetches a document that needs no credential, and returns the status.
func (c *client) get(ctx context.Context, path string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", strings.TrimSuffix(c.info.HTTPURL, "/")+path, nil)
	if err != nil {
		return 0, fmt.Errorf("URL of the broker: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	res.Body.Close()
	return res.StatusCode, nil
}

// silent says that no broker answered, and what may be the reason.
func (c *client) silent(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the method and the URL, which stand here already
	}
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &authority):
		return fmt.Errorf("the broker at %s is not trusted (%w); if its certificate is your own, name it: --cacert FILE", c.info.HTTPURL, err)
	case c.info.PID == 0:
		return fmt.Errorf("the broker at %s does not answer (%w); does it run there, and is the URL right?", c.info.HTTPURL, err)
	}
	return fmt.Errorf("the broker at %s does not answer (%w); is it running? start it with: %s serve", c.info.HTTPURL, err, typed())
}

// printJSON writes v as one line of JSON, fit for a terminal.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.out.Write(show.JSON(b.Bytes()))
	return err
}
