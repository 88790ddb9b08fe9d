package signing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
)

const rules = "version: 1\nallow: [\"Bash(ls)\"]\n"

var at = time.Date(2026, 1, 7, 12, 0, 0, 5, time.FixedZone("", 3600))

func key(t *testing.T) *devicekey.Key {
	t.Helper()
	k, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSign(t *testing.T) {
	k := key(t)
	s, err := Sign([]byte(rules), k, at, time.Hour)
	if err != nil || s.SignedAt != "2026-01-07T11:00:00.000000005Z" || s.Until != "2026-01-07T12:00:00Z" {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := signed.RulesFit(rules, s); err != nil {
		t.Errorf("it does not fit its text: %v", err)
	}
	if signed.RulesFit(rules+"#", s) == nil {
		t.Error("it fits another text")
	}
	if s, err = Sign([]byte(rules), k, at, 0); err != nil || s.Until != "" {
		t.Errorf("one without an end: %+v, %v", s, err)
	}
	for what, text := range map[string]string{
		"too much":             rules + strings.Repeat("#", signed.MaxRules),
		"no rules":             "allow: 7",
		"what no hook can say": "version: 1\nallow:\n  - tool: Bash\n    command: ls\n    branch: main\n",
	} {
		if s, err := Sign([]byte(text), k, at, 0); err == nil {
			t.Errorf("%s is signed: %+v", what, s)
		}
	}
}

func TestOf(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rules.yaml")
	if s, err := Of(rules, file, "", nil); s != nil || err != nil {
		t.Errorf("without one: %v, %v", s, err)
	}
	made, err := Sign([]byte(rules), key(t), at, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, large := filepath.Join(dir, "sig"), filepath.Join(dir, "large")
	for path, text := range map[string]string{Beside(file): string(b), elsewhere: string(b), large: strings.Repeat(" ", signed.MaxRulesSignature+1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ what, text, named, in, want string }{
		{"beside it", rules, "", "", ""},
		{"where it is said", rules, elsewhere, "", ""},
		{"on standard input", rules, "-", string(b), ""},
		{"of another text", rules + "#", "", "", file + ".sig: "},
		{"that is not there", rules, filepath.Join(dir, "none"), "", "no such file"},
		{"without end", rules, large, "", "read the signature: it is larger than"},
		{"without end, on standard input", rules, "-", strings.Repeat(" ", signed.MaxRulesSignature+1), "read the signature: it is larger than"},
		{"that is none", rules, "-", "{}", "-: "},
	} {
		t.Run(row.what, func(t *testing.T) {
			s, err := Of(row.text, file, row.named, strings.NewReader(row.in))
			switch {
			case row.want != "":
				if err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("error %v, want %q", err, row.want)
				}
			case err != nil || s.Signature != made.Signature:
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func TestWords(t *testing.T) {
	s, err := Sign([]byte(rules), key(t), at, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]string{
		"":                         Words("", nil),
		"Nobody signed it":         Words(rules, nil),
		"DOES NOT FIT":             Words(rules+"#", s),
		", until 2026-01-07T12:00": Words(rules, s),
	} {
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
