package notify

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzParseSubscription: whatever a device sends as its subscription, the endpoint that is taken is https, and no address that is not public.
func FuzzParseSubscription(f *testing.F) {
	const keys = `"keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}`
	for _, at := range []string{
		"https://push.example/x", "https://[::ffff:127.0.0.1]/", "https://127.0.0.1:7717/v1/hooks", "https://localhost./", "https://LOCALHOST/", "https://[fe80::1%25eth0]/", "https://u@push.example/",
		"http://push.example/", "https:push.example", "//push.example", "https://push.example/#x", "https://0x7f.1/", `https://push.example\u000a/`,
	} {
		f.Add([]byte(`{"endpoint":"` + at + `","expirationTime":null,` + keys + `}`))
	}
	f.Add([]byte(`{"endpoint":"https://a.example","Endpoint":"https://127.0.0.1",` + keys + `}`))
	f.Add([]byte(`{"endpoint":"https://a.example",` + keys + `}{}`))
	p := &Push{}
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := ParseSubscription(doc)
		if err != nil || p.checkSubscription(s) != nil {
			return
		}
		u, err := url.Parse(s.Endpoint)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || len(s.Endpoint) > maxEndpoint {
			t.Fatalf("taken: %q", s.Endpoint)
		}
		host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		if a, err := netip.ParseAddr(host); err == nil && !public(a) || host == "localhost" {
			t.Errorf("leads to %q: %q", host, s.Endpoint)
		}
	})
}
