package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/terminal"
)

// numberedBroker answers as a broker does that has these requests.
func numberedBroker(t *testing.T, pending, ended, older []api.Request) (url string, decided *[]string) {
	t.Helper()
	decided = &[]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		q := r.URL.Query()
		switch {
		case r.Method == "POST":
			*decided = append(*decided, strings.Split(r.URL.Path, "/")[3])
			answer = map[string]string{"delivery": "delivered"}
		case q.Has("number"):
			found := []api.Request{}
			for _, x := range older {
				if strconv.FormatUint(x.Number, 10) == q.Get("number") {
					found = append(found, x)
				}
			}
			answer = found
		case q.Get("state") == "pending":
			answer = pending
		case q.Get("state") == "ended":
			answer = ended
		default:
			for _, x := range append(append(pending, ended...), older...) {
				if x.ID == strings.TrimPrefix(r.URL.Path, "/v1/requests/") {
					answer = x
				}
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(srv.Close)
	t.Setenv("ASSENT_TOKEN", "token")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return srv.URL, decided
}

func numberedRequest(n uint64, id string, risk hook.Risk, age time.Duration) api.Request {
	r := api.Request{Number: n, State: "pending", Effects: &hook.Effects{Risk: risk, Sentence: "Pushes to origin/main", RiskReason: "Everybody sees it."}}
	r.ID, r.InputSHA256, r.CWD, r.ToolName = id+strings.Repeat("0", 36-len(id)), "aa"+id, "/home/dev/shop", "Bash"
	r.CreatedAt = time.Now().Add(-age)
	return r
}

func assent(t *testing.T, url string, line ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append(line, "--url", url), strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

// A number allows what was shown here, and nothing that is dangerous without a person at a terminal.
func TestAllowByNumber(t *testing.T) {
	calm, danger := numberedRequest(417, "c", hook.Calm, 0), numberedRequest(421, "d", hook.Danger, 0)
	strange := numberedRequest(425, "e", hook.Calm, 0)
	strange.Uninspectable = "repeated member tool_input"
	unknown := numberedRequest(429, "f", "", 0) // a broker that knows no effects
	unknown.Effects = nil
	all := []api.Request{calm, danger, strange, unknown}
	url, decided := numberedBroker(t, all, nil, nil)

	if code, out := assent(t, url, "allow", "417"); code != exitRefused || !strings.Contains(out, "never shown") || !strings.Contains(out, calm.ID) {
		t.Errorf("never shown: %d, %s", code, out)
	}
	if code, out := assent(t, url, "pending"); code != 0 || !strings.Contains(out, "417") || !strings.Contains(out, "Pushes to origin/main") || !strings.Contains(out, calm.ID) {
		t.Errorf("pending: %d, %s", code, out)
	}
	// A pipe has no eyes.
	if code, out := assent(t, url, "allow", "417"); code != exitRefused || !strings.Contains(out, "never shown") {
		t.Errorf("printed into a pipe: %d, %s", code, out)
	}
	if err := terminal.NewShownFile(os.Getenv).Add(&calm); err != nil {
		t.Fatal(err)
	}
	if code, out := assent(t, url, "allow", "17"); code != 0 || !strings.Contains(out, "Pushes to origin/main") || !strings.Contains(out, "#417") {
		t.Errorf("shown: %d, %s", code, out)
	}
	for number, want := range map[string]string{"421": "dangerous", "425": "cannot be shown faithfully", "429": "dangerous"} {
		if code, out := assent(t, url, "allow", number); code != exitRefused || !strings.Contains(out, want) {
			t.Errorf("%s: %d, %s", number, code, out)
		}
	}
	if code, out := assent(t, url, "allow", "5"); code != exitRefused {
		t.Errorf("a suffix of one that cannot be shown: %d, %s", code, out)
	}
	if len(*decided) != 1 || (*decided)[0] != calm.ID {
		t.Errorf("decided: %v", *decided)
	}
	if code, out := assent(t, url, "allow", danger.ID); code != 0 {
		t.Errorf("a whole id is enough: %d, %s", code, out)
	}
	if code, out := assent(t, url, "deny", "21"); code != 0 {
		t.Errorf("a denial needs no question: %d, %s", code, out)
	}
}

// A suffix that is not unique is refused, and so is a number that nobody has.
func TestNumbersThatAreRefused(t *testing.T) {
	ended, old := numberedRequest(317, "b", hook.Calm, 10*time.Minute), numberedRequest(1017, "a", hook.Calm, 3*time.Hour)
	ended.State, old.State, ended.SettledAt, old.SettledAt = "ended", "ended", time.Now(), time.Now()
	url, decided := numberedBroker(t, []api.Request{numberedRequest(417, "c", hook.Calm, 0)}, []api.Request{ended, old}, []api.Request{old})
	for _, c := range []struct{ arg, want string }{
		{"17", "317, 417"}, // 1017 is too old to be in the way
		{"9", "no request has the number 9"},
		{"017", "no request has the number 017"}, // a suffix of what is old
	} {
		for _, command := range []string{"allow", "deny", "hand-back", "trace"} {
			if code, out := assent(t, url, command, c.arg); code != exitRefused || !strings.Contains(out, c.want) {
				t.Errorf("%s %s: %d, %s", command, c.arg, code, out)
			}
		}
	}
	if len(*decided) != 0 {
		t.Errorf("decided: %v", *decided)
	}
	// A whole number is found however old the request is.
	if code, out := assent(t, url, "proposals", "1017"); code != 0 {
		t.Errorf("an old number: %d, %s", code, out)
	}
}
