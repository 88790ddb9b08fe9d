package api

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
	"strings"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

const (
	callTimeout      = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	maxAnswer        = 256 << 20 // bytes of one answer
	maxMessage       = 64 << 20  // bytes of one message of the WebSocket
)

// ClientConfig is where a broker is and how to speak to it. URL is required; the zero value of the
// rest works.
type ClientConfig struct {
	// URL is scheme and host: http://127.0.0.1:7717.
	URL string
	// Token is the bearer of every call; empty: none is sent.
	Token string
	TLS   *tls.Config
	Proxy func(*http.Request) (*url.URL, error)
	// Hint ends the error of a broker that does not answer, and UntrustedHint that of one whose
	// certificate is not trusted: what to do next.
	Hint, UntrustedHint string
}

// Client speaks to the API of one broker. Its methods may be called from any goroutine.
type Client struct {
	// Timeout bounds one Call, connecting and reading included; 0: only its context does. It is 30
	// seconds unless set before the first call.
	Timeout time.Duration

	cfg       ClientConfig
	transport *http.Transport
	maxAnswer int64
}

// NewClient returns a Client. It connects to nothing yet.
func NewClient(cfg ClientConfig) *Client {
	cfg.URL = strings.TrimSuffix(cfg.URL, "/")
	return &Client{
		Timeout:   callTimeout,
		cfg:       cfg,
		transport: &http.Transport{TLSClientConfig: cfg.TLS, Proxy: cfg.Proxy},
		maxAnswer: maxAnswer,
	}
}

// With returns a Client for the same broker that sends another bearer. The two share their connections.
func (c *Client) With(token string) *Client {
	other := *c
	other.cfg.Token = token
	return &other
}

// UnreachableError says that no broker answered.
type UnreachableError struct {
	URL string
	Err error
	// Untrusted says that something answered, with a certificate that is not trusted.
	Untrusted bool
	Hint      string // what to do next; may be empty
}

func (e *UnreachableError) Error() string {
	what := "does not answer"
	if e.Untrusted {
		what = "is not trusted"
	}
	s := fmt.Sprintf("the broker at %s %s (%v)", e.URL, what, plain(e.Err))
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// plain leaves out what a person knows already: where the connection went.
func plain(err error) error {
	var refused *os.SyscallError
	if errors.As(err, &refused) && errors.Is(refused, syscall.ECONNREFUSED) {
		return refused.Err
	}
	return err
}

// Call sends in as JSON, unless nil, and decodes the answer into out, unless nil; a *json.RawMessage
// gets it byte for byte. An answer of 300 or above comes back as *Problem, also where a proxy wrote it
// that knows no problems; no answer at all as *UnreachableError.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, c.maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the broker's answer: %w", err)
	}
	if int64(len(b)) > c.maxAnswer {
		return fmt.Errorf("the broker's answer to %s %s is larger than %d bytes; ask for less of it", method, path, c.maxAnswer)
	}
	if res.StatusCode >= 300 {
		p := &Problem{Status: res.StatusCode, Title: res.Status}
		_ = json.Unmarshal(b, p) // a proxy's answer may be no problem document
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

// Lines opens a GET of path whose answer is as long as it is, for the caller to close. Errors are those of Call;
// Timeout bounds the whole answer.
func (c *Client) Lines(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 {
		return res.Body, nil
	}
	defer res.Body.Close()
	p := &Problem{Status: res.StatusCode, Title: res.Status}
	if b, err := io.ReadAll(io.LimitReader(res.Body, 64<<10)); err == nil {
		_ = json.Unmarshal(b, p) // a proxy's answer may be no problem document
	}
	return nil, p
}

// Status returns the status of a GET of path, whose body is not read and which needs no credential:
// none is sent. No answer is an *UnreachableError.
func (c *Client) Status(ctx context.Context, path string) (int, error) {
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Del("Authorization")
	res, err := c.do(req)
	if err != nil {
		return 0, err
	}
	res.Body.Close()
	return res.StatusCode, nil
}

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.URL+path, body)
	if err != nil {
		return nil, fmt.Errorf("URL of the broker: %w", err)
	}
	c.authorize(req.Header)
	return req, nil
}

func (c *Client) authorize(h http.Header) {
	if c.cfg.Token != "" {
		h.Set("Authorization", "Bearer "+c.cfg.Token)
	}
}

func (c *Client) do(req *http.Request) (*http.Response, error) {
	h := &http.Client{
		Transport: c.transport,
		Timeout:   c.Timeout,
		// A broker redirects nobody; whoever does is not to get the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := h.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	return res, nil
}

func (c *Client) unreachable(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the method and the URL, which stand in the error already
	}
	e := &UnreachableError{URL: c.cfg.URL, Err: err, Hint: c.cfg.Hint}
	if errors.Is(err, http.ErrSchemeMismatch) {
		e.Hint = "something there speaks http and not TLS: is the port right, or should the URL begin with http://?"
	}
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		e.Untrusted, e.Hint = true, c.cfg.UntrustedHint
	}
	return e
}

// HandshakeError says that the broker, or something before it, did not open a WebSocket.
type HandshakeError struct {
	Code   int    // the HTTP status
	Status string // "401 Unauthorized"
}

func (e *HandshakeError) Error() string { return "the broker refused: " + e.Status }

// Refused reports whether the credential is at fault, so that trying again is of no use.
func (e *HandshakeError) Refused() bool {
	return e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden
}

// Listen opens the WebSocket, calls connected and sends every message on out, one Message in JSON
// each, until the connection ends or ctx is done: it always returns an error. query is that of
// /v1/ws, with its question mark, or empty. A refused handshake is a *HandshakeError.
func (c *Client) Listen(ctx context.Context, query string, out chan<- []byte, connected func()) error {
	header := http.Header{}
	c.authorize(header)
	dialer := websocket.Dialer{TLSClientConfig: c.cfg.TLS, Proxy: c.cfg.Proxy, HandshakeTimeout: handshakeTimeout}
	conn, res, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(c.cfg.URL, "http")+"/v1/ws"+query, header)
	if err != nil {
		if res != nil && res.StatusCode < 500 {
			return &HandshakeError{Code: res.StatusCode, Status: res.Status}
		}
		return err
	}
	connected()
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetReadLimit(maxMessage)
	for {
		_, m, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		select {
		case out <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
