package contain

import (
	"strings"
	"testing"
)

func TestConfigTells(t *testing.T) {
	const head = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	for text, want := range map[string]bool{
		"":                                       false,
		head:                                     false,
		head + "\turl = https://example.com/a/b": false,
		head + "\turl = git@example.com:a/b.git": false,
		head + "\turl = ssh://git@example.com/a": false,
		head + "\turl = https://example.com/@scope/pkg":                       false,
		"[credential]\n\thelper = osxkeychain\n":                              false,
		"[user]\n\temail = a@example.com\n":                                   false,
		"[branch \"fix-token\"]\n\tremote = origin\n":                         false,
		head + "\turl = https://x:y@example.com/a":                            true,
		head + "\turl = https://ghp_123@example.com/a":                        true,
		head + "\turl = https://x:y'z@example.com/a":                          true,
		head + "\turl = https://x:y\\\"z@example.com/a":                       true,
		head + "\turl = HTTPS://ghp_123@example.com/a":                        true,
		head + "\turl = https://gh\\\np_123@example.com/a":                    true,
		head + "\turl = ssh://git:pw@example.com/a":                           true,
		head + "\tpushurl = \"https://x:y@example.com/a\"":                    true,
		"[url \"https://x:y@example.com/\"]\n\tinsteadOf = https://e.com/\n":  true,
		"[url \"https://e.com/\"]\n\tinsteadOf = a\n[x] y = https://k@e.com/": true,
		"# url = https://x:y@example.com/a":                                   true,
		"[http]\n\textraHeader = AUTHORIZATION: basic eDp5\n":                 true,
		"[http \"https://e.com/\"] extraheader = x\n":                         true,
		"[github]\n\ttoken = x\n":                                             true,
		"[sendemail]\n\tsmtpPass = x\n":                                       true,
		"[credential]\n\thelper = \"!f() { echo password=x; }; f\"\n":         true,
		"[alias]\n\tup = \"!curl -H 'Authorization: x' https://e.com\"\n":     true,
		strings.Repeat("# x\n", maxGitConfig):                                 true,
	} {
		if got := configTells(text); got != want {
			t.Errorf("%q: %v", text[:min(len(text), 200)], got)
		}
	}
}

func FuzzConfigTells(f *testing.F) {
	f.Add("[remote \"o\"]\n\turl = ", "ghp_x")
	f.Fuzz(func(t *testing.T, before, who string) {
		configTells(before + who)
		if strings.ContainsAny(who, "/@\n\\\r:") || who == "" || len(before) > 1000 || strings.HasSuffix(before, "\\") {
			return
		}
		if !configTells(before + "\nurl = https://" + who + "@example.com/\n") {
			t.Errorf("%q %q", before, who)
		}
	})
}
