package show_test

import (
	"encoding/json"
	"testing"

	"assent/internal/text/show"
)

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "plain \u001b"}`:          `{"a": "plain \u001b"}`,
		"{\"a\":\"\u009b2J\x7f\"}\n":     `{"a":"\u009b2J\u007f"}` + "\n",
		"[\"\u202els\u2066\",\"é漢😀\"]":   `["\u202els\u2066","é漢😀"]`,
		"\"\U000E0041\U0010FFFF\ufffd\"": `"\udb40\udc41\udbff\udfff\ufffd"`,
		"\"\x9b2J\"":                     `"\ufffd2J"`,
	} {
		got := show.JSON([]byte(in))
		if string(got) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		var a, b any
		if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal(got, &b) != nil {
			t.Errorf("%q: no JSON", in)
		} else if x, y := mustJSON(t, a), mustJSON(t, b); x != y {
			t.Errorf("%q means %s, not %s", in, y, x)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
