package executor

import "testing"

// A process is in the session's scope, and not in one that is called much like it.
func TestScopeOfAProcess(t *testing.T) {
	const slice = "/user.slice/user-1000.slice/user@1000.service/app.slice/"
	for text, want := range map[string]string{
		"0::" + slice + "assent-agent-" + one + "-c1.scope\n":        slice + "assent-agent-" + one + "-c1.scope",
		"1:cpu:/\n0::/assent-agent-" + one + "-c1.scope/of/a/tool\n": "/assent-agent-" + one + "-c1.scope",
		"0::" + slice + "assent-agent-" + two + "-c1.scope\n":        "",
		"0::" + slice + "assent-agent-" + one + "-c1.service\n":      "",
		"1:name=systemd:/assent-agent-" + one + "-c1.scope\n0::/\n":  "",
		"":                        "",
		"0::/assent-agent-" + one: "",
	} {
		if got := scopeIn([]byte(text), one); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
