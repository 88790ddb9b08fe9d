package notify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const goodSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestReadNotices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notices.yaml")
	if _, err := ReadNotices(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	doc := `notices:
  - name: phone
    url: ntfy://ntfy.sh/secret-topic
    after: 90s
    quiet: [{from: "22:00", to: "07:00"}]
    time-zone: Europe/Berlin
    mute-sessions: [a]
    show-session: true
  - name: bot
    webhook: https://bot.example.net/hook
    secret: ` + goodSecret + `
    settled: true
`
	if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNotices(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that all can read: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := ReadNotices(path)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if n := list[0]; n.AfterSeconds != 90 || n.Webhook || n.Sessions.Mode != "mute" || !n.ShowSession || n.TimeZone != "Europe/Berlin" || len(n.Quiet) != 1 {
		t.Errorf("%+v", n)
	}
	if n := list[1]; !n.Webhook || len(n.Secret) != 24 || !n.Settled || n.AfterSeconds != 5 || n.URL != "https://bot.example.net/hook" {
		t.Errorf("%+v", n)
	}
	if _, err := ReadNotices(filepath.Dir(path)); err == nil {
		t.Error("a directory is read")
	}
}

// What is wrong is said, and what may be a secret is not.
func TestParseNotices(t *testing.T) {
	for doc, want := range map[string]string{
		"notices: [{name: a, url: 'ntfy://hunter2'}, {name: a, url: 'ntfy://x/y'}]":     "notice 2: want a name",
		"notices: [{url: 'ntfy://hunter2'}]":                                            "notice 1: want a name",
		"notices: [{name: \"a\\nb\", url: 'ntfy://hunter2'}]":                           "notice 1: want a name",
		"notices: [{name: a}]":                                                          "want url",
		"notices: [{name: a, url: 'ntfy://hunter2', webhook: 'https://hunter2'}]":       "want url",
		"notices: [{name: a, url: 'hunter2://x'}]":                                      "no service",
		"notices: [{name: a, url: hunter2}]":                                            "no service",
		"notices: [{name: a, url: 'ntfy://hunter2', secret: x}]":                        "secret is for webhooks",
		"notices: [{name: a, webhook: 'ftp://hunter2', secret: x}]":                     "want an https URL",
		"notices: [{name: a, webhook: 'https://x', secret: hunter2}]":                   "whsec_",
		"notices: [{name: a, webhook: 'https://x'}]":                                    "whsec_",
		"notices: [{name: a, url: 'ntfy://hunter2', after: soon}]":                      "want a duration",
		"notices: [{name: a, url: 'ntfy://hunter2', after: -5s}]":                       "want a duration",
		"notices: [{name: a, url: 'ntfy://hunter2', after: 100000h}]":                   "afterSeconds",
		"notices: [{name: a, url: 'ntfy://x', only-sessions: [a], mute-sessions: [b]}]": "not both",
		"notices: [{name: a, url: 'ntfy://x', time-zone: Atlantis}]":                    "timeZone",
		"notices: [{name: a, token: hunter2}]":                                          "token not found",
		"notices: hunter2":                                                              "cannot unmarshal",
		"notices: [{name: a, after: [hunter2]}]":                                        "cannot unmarshal",
		"\"hunter2":                                                                     "",
	} {
		_, err := parseNotices([]byte(doc))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", doc, err, want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
	if list, err := parseNotices(nil); err != nil || len(list) != 0 {
		t.Errorf("an empty file: %v, %v", list, err)
	}
}

func FuzzParseNotices(f *testing.F) {
	f.Add("notices: [{name: a, url: 'ntfy://ntfy.sh/x', after: 5s}]")
	f.Add("notices: [{name: a, webhook: 'https://x', secret: " + goodSecret + "}]")
	f.Fuzz(func(t *testing.T, doc string) {
		list, err := parseNotices([]byte(doc))
		if err != nil {
			return
		}
		for _, n := range list {
			if n.Settings.check() != nil || n.Webhook && len(n.Secret) < 24 || !n.Webhook && checkService(n.URL) != nil {
				t.Errorf("%+v", n)
			}
		}
	})
}

// TestSign has the example of the Standard Webhooks' own tests.
func TestSign(t *testing.T) {
	secret, err := webhookSecret(goodSecret)
	if err != nil {
		t.Fatal(err)
	}
	got := sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
}

// TestNoticesInDocs reads the file that docs/notifications.md shows.
func TestNoticesInDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	doc, _, _ := strings.Cut(rest, "```")
	list, err := parseNotices([]byte(doc))
	if err != nil || len(list) != 3 || list[0].AfterSeconds != 30 || list[1].Sessions.Mode != "only" || !list[2].Settled {
		t.Fatalf("%+v, %v", list, err)
	}
	if list[1].AfterSeconds != 5 || len(list[0].Quiet) != 1 {
		t.Errorf("%+v", list)
	}
}
