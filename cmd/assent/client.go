package main

import (
	"bytes"
	"context"
	"crypto/tls"
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

	"assent/internal/codec"
	"assent/internal/show"
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
			if codec.Digest(s.PeerCertificates[0].Raw) != i.CertSHA256 {
				return errors.New("the certificate is not the one the broker wrote to runtime.json")
			}
			return nil
		},
	}
}

// client speaks to the running broker's API with the owner's token, or with ASSENT_TOKEN
// where the broker keeps none.
type client struct {
	info  runtimeInfo
	token string
	http  *http.Client
}

// broker finds the running broker of the state directory.
func (a *app) broker() (*client, error) {
	info, err := a.runtime()
	if err != nil {
		return nil, err
	}
	token := os.Getenv("ASSENT_TOKEN")
	if token == "" {
		b, err := os.ReadFile(filepath.Join(a.stateDir, "owner.token"))
		if err != nil {
			return nil, fmt.Errorf("no credential: set ASSENT_TOKEN (the owner's token cannot be read: %w)", err)
		}
		token = strings.TrimSpace(string(b))
	}
	transport := &http.Transport{TLSClientConfig: info.tlsConfig()} // and no proxy: the broker is on this machine
	return &client{info: info, token: token, http: &http.Client{Timeout: 30 * time.Second, Transport: transport}}, nil
}

func (a *app) runtime() (runtimeInfo, error) {
	var info runtimeInfo
	path := filepath.Join(a.stateDir, "runtime.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return info, noBroker(fmt.Errorf("no broker runs on %s; start it with: assent serve", a.stateDir))
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

// problem is an application/problem+json answer.
type problem struct {
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Field     string `json:"field"`
	Outcome   string `json:"outcome"`
	Reason    string `json:"reason"`
	DecidedBy *struct {
		Kind, ID, Name string
	} `json:"decidedBy"`
}

func (p *problem) Error() string {
	s := p.Title
	if p.Detail != "" {
		s = p.Detail
	}
	if p.Field != "" && !strings.Contains(s, p.Field) {
		s = p.Field + ": " + s
	}
	if p.DecidedBy != nil && !strings.Contains(s, p.DecidedBy.Name) {
		s += " (" + p.Outcome + " by " + approverName(p.DecidedBy.Kind, p.DecidedBy.Name) + ")"
	}
	return show.Line(s)
}

func approverName(kind, name string) string {
	if name == "" || name == kind {
		return kind
	}
	return name + ", " + kind
}

// call sends in as JSON, unless nil, and decodes the answer into out, unless nil. Answers of
// the 4xx kind come back as *problem with the exit code for refusals.
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
		return fmt.Errorf("broker URL in runtime.json: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return noBroker(fmt.Errorf("the broker at %s does not answer (%w); is it running? start it with: assent serve", c.info.HTTPURL, err))
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 256<<20))
	if err != nil {
		return fmt.Errorf("read the broker's answer: %w", err)
	}
	if res.StatusCode >= 300 {
		p := &problem{Status: res.StatusCode, Title: res.Status}
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
