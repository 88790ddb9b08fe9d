package doctor

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"assent/internal/setup/phone"
)

func TestPhones(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, err := phone.NewAuthority("assent", netip.MustParseAddr("127.0.0.1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	home := &phone.Door{Way: phone.Home, URL: "https://127.0.0.1:7718", Listen: "127.0.0.1:7718", Root: string(a.Root), Cert: string(a.Cert), Key: string(a.Key)}
	tail := &phone.Door{Way: phone.Tailscale, URL: "https://box.ts.net", Port: 443, Target: "http://127.0.0.1:7717"}
	if got := phones(nil, nil, now); got != nil {
		t.Errorf("without a way: %+v", got)
	}
	for what, c := range map[string]struct {
		door   *phone.Door
		err    error
		at     time.Time
		status Status
		says   string
	}{
		"tailscale":     {tail, nil, now, OK, "https://box.ts.net"},
		"home":          {home, nil, now, OK, a.Ends.Local().Format(time.DateOnly)},
		"home, soon":    {home, nil, a.Ends.Add(-29 * 24 * time.Hour), Warn, "new certificate"},
		"not answering": {home, errors.New("refused"), now, Warn, "refused"},
		"not readable":  {nil, errors.New("chmod 600"), now, Warn, "chmod 600"},
	} {
		got := phones(c.door, c.err, c.at)
		if len(got) != 1 || got[0].Status != c.status || !strings.Contains(got[0].Detail+got[0].Fix, c.says) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
