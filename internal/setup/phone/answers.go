package phone

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Answers asks the broker under the door's address whether it is there, the way that a phone would as far as
// this machine can: at home over https with the door's own root, and behind tailscale as its proxy does.
// nil means that it is.
func (d *Door) Answers(ctx context.Context) error {
	u, err := url.Parse(d.URL)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	ask := d.URL
	switch d.Way {
	case Home:
		transport.TLSClientConfig = &tls.Config{RootCAs: d.Roots(), ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", d.Listen) // the name may not be known here
		}
	case Tailscale:
		ask = d.Target
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ask+"/readyz", nil)
	if err != nil {
		return err
	}
	r.Host = u.Host
	r.Header.Set("X-Forwarded-Proto", "https")
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		if ue := (*url.Error)(nil); errors.As(err, &ue) {
			err = ue.Err
		}
		return err
	}
	_ = res.Body.Close()
	switch res.StatusCode {
	case http.StatusNoContent, http.StatusServiceUnavailable:
		return nil
	case http.StatusMisdirectedRequest:
		return errors.New("the broker does not answer to that name yet")
	}
	return fmt.Errorf("it answers %s", res.Status)
}

// awaitEvery is how often Await asks.
const awaitEvery = 200 * time.Millisecond

// Await waits until the broker answers under the door's address, or returns why it does not.
func (d *Door) Await(ctx context.Context, atMost time.Duration) error {
	end := time.NewTimer(atMost)
	defer end.Stop()
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for {
		err := d.Answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-end.C:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
