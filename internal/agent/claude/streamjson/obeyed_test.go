package streamjson

import (
	"strings"
	"testing"
)

// A prompt is words for the model. What the client would do because of it, without a request, is found wherever it
// stands; what is none of that may be said.
func TestObeyed(t *testing.T) {
	for prompt, want := range map[string]string{
		"/config permissionMode=dontAsk":      "/config",
		" \n/config x":                        "/config",
		"\ufeff\u200b\u00a0/clear":            "/clear",
		"/home/dev/app/x.go does not compile": "/home/dev/app/x.go",
		"!rm -rf .":                           "!rm",
		"@~/.local/state/assent/owner.token":  "@~/.local/state/assent/owner.token",
		"say what is in @/etc/passwd please":  "@/etc/passwd",
		"a\n@x":                               "@x",
		"a\t@\"x y\"":                         "@\"x",
		"see\u3002@/etc/passwd":               "@/etc/passwd",
		"see\u3001@/etc/passwd":               "@/etc/passwd",
		"see\u2028@/etc/passwd":               "@/etc/passwd",
		"see\u200b@/etc/passwd":               "@/etc/passwd",
		"@" + strings.Repeat("ä", 100):        "@" + strings.Repeat("ä", 39) + "…",

		"":                                     "",
		"fix it / or not":                      "",
		"the command /config is new":           "",
		"mail a@b.example, or ä@b.example":     "",
		"update \"@types/node\", (@x), `@y`":   "",
		"pkg@1.2 @ home, and an @ by itself @": "",
		"\\@/etc/passwd @@/etc/passwd":         "@@/etc/passwd",
	} {
		if got := Obeyed(prompt); got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}
