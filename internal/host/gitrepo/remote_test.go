package gitrepo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRemoteURL(t *testing.T) {
	cases := []struct{ name, conf, want string }{
		{"empty", "", ""},
		{"origin after another", "[remote \"a\"]\nurl=A\n[remote \"origin\"]\n\turl = O\n", "O"},
		{"first of several", "[remote \"a\"]\nurl=A\n[remote \"b\"]\nurl=B\n", "A"},
		{"first url", "[remote \"origin\"]\nurl=A\nurl=B\n", "A"},
		{"key on the line of the section", "[remote \"origin\"] url = A", "A"},
		{"case", "[ReMote \"origin\"]\nURL=A", "A"},
		{"name is exact", "[remote \"Origin\"]\nurl=A\n[remote \"origin\"]\nurl=B", "B"},
		{"comment", "[remote \"origin\"]\n# url = C\n; url = D\nurl = A # no\n", "A"},
		{"quotes", "[remote \"origin\"]\nurl = \"a b # c \" \n", "a b # c "},
		{"goes on", "[remote \"origin\"]\nurl = aa\\\nbb\n", "aabb"},
		{"goes on at the end", "[remote \"origin\"]\nurl = aa\\", "aa\\"},
		{"crlf", "[remote \"origin\"]\r\n\turl = A\r\n", "A"},
		{"pushurl is another key", "[remote \"origin\"]\npushurl=A\n", ""},
		{"other section", "[branch \"origin\"]\nurl=A\n", ""},
		{"section without a name", "[remote]\nurl=A\n", ""},
		{"section of the old form", "[remote.origin]\nurl=A\n", ""},
		{"unclosed", "[remote \"origin\nurl=A\n", ""},
		{"escaped quote in a name", "[remote \"a\\\"b\"]\nurl=A\n", "A"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := remoteURL(c.conf); got != c.want {
				t.Errorf("got %q want %q", got, c.want)
			}
		})
	}
}

func TestName(t *testing.T) {
	for remote, want := range map[string]string{
		"https://github.com/filipexyz/notif.git":       "filipexyz/notif",
		"https://github.com/filipexyz/notif/":          "filipexyz/notif",
		"git@github.com:filipexyz/notif.git":           "filipexyz/notif",
		"ssh://git@example.com:2222/group/sub/app.git": "group/sub/app",
		"box:o/r":                            "o/r",
		"https://example.com/app.git":        "",
		"git@example.com:app.git":            "",
		"/srv/git/o/r.git":                   "",
		"../o/r":                             "",
		"file:///srv/git/o/r":                "",
		"https://example.com/o/../r":         "",
		"https://example.com/o/a b":          "",
		"https://example.com/o/r?x=1":        "",
		"https://example.com":                "",
		"":                                   "",
		"git@x:" + strings.Repeat("a/", 200): "",
	} {
		if got := Name(remote); got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
}

func TestStripCredentials(t *testing.T) {
	cases := []struct{ url, want string }{
		{"", ""},
		{"https://example.com/a/b.git", "https://example.com/a/b.git"},
		{"https://example.com:8443/a", "https://example.com:8443/a"},
		{"https://secret@example.com/a", "https://example.com/a"},
		{"https://user:secret@example.com/a", "https://example.com/a"},
		{"https://user:sec@ret@example.com/a", "https://example.com/a"},
		{"https://user:sec/ret@example.com/a", ""},
		{"https://user:12/secret@example.com/a", "https://user:12/secret@example.com/a"}, // host "user", port 12: git reads it so too
		{"https://example.com/@scope/a", "https://example.com/@scope/a"},
		{"https://example.com/a?private_token=secret", "https://example.com/a"},
		{"https://example.com/a#secret", "https://example.com/a"},
		{"HTTPS://u:secret@example.com", "HTTPS://example.com"},
		{"ssh://git@example.com:22/a", "ssh://git@example.com:22/a"},
		{"ssh://git:secret@example.com/a", "ssh://git@example.com/a"},
		{"https://[::1]:8080/a", "https://[::1]:8080/a"},
		{"https://u:secret@[::1]/a", "https://[::1]/a"},
		{"x::https://u:secret@example.com/a", "x::https://example.com/a"},
		{"git@example.com:a/b.git", "git@example.com:a/b.git"},
		{"git:secret@example.com:a/b.git", "git@example.com:a/b.git"},
		{"git:se@cret@example.com:a/b.git", ""},
		{"/srv/git/a@b.git", "/srv/git/a@b.git"},
		{"../a", "../a"},
		{"file:///srv/a", "file:///srv/a"},
		{"https://example.com/" + strings.Repeat("a", maxRemote), ""},
	}
	for _, c := range cases {
		if got := StripCredentials(c.url); got != c.want {
			t.Errorf("StripCredentials(%.60q) = %q, want %q", c.url, got, c.want)
		}
	}
}

// No part of a user:password pair of an http remote may survive, wherever the password's bytes
// come from, unless git itself would read them as host, port and path.
func FuzzStripCredentials(f *testing.F) {
	f.Add("hunter2")
	f.Add("a/b@c:d?e#f")
	f.Fuzz(func(t *testing.T, secret string) {
		if strings.ContainsAny(secret, "/?#\\") {
			secret = strings.NewReplacer("/", "-", "?", "-", "#", "-", "\\", "-").Replace(secret)
		}
		if len(secret) > 1000 {
			secret = secret[:1000]
		}
		if got := StripCredentials("https://u:" + secret + "@h.example/p"); got != "https://h.example/p" {
			t.Errorf("secret %q: %q", secret, got)
		}
		StripCredentials(secret)
	})
}

// FuzzFind feeds every file of a repository; what comes out must look like what it claims.
func FuzzFind(f *testing.F) {
	f.Add([]byte("ref: refs/heads/m\n"), []byte(sha1a+" refs/heads/m\n"), []byte("[remote \"origin\"]\nurl=\"a\\\nb\n"))
	f.Add([]byte(sha1a), []byte("#"), []byte("[remote \"\\"))
	f.Fuzz(func(t *testing.T, head, packed, conf []byte) {
		root := tree(t, map[string]string{".git/HEAD": ""})
		for name, b := range map[string][]byte{"HEAD": head, "packed-refs": packed, "config": conf} {
			if err := os.WriteFile(filepath.Join(root, ".git", name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r := Find(root)
		if r.Root == "" {
			t.Error("no root")
		}
		if r.Head != "" && !isObjectName(r.Head) {
			t.Errorf("head %q", r.Head)
		}
		if strings.ContainsAny(r.Branch, "\x00\n ") || len(r.Branch) > maxRefName || len(r.Remote) > maxRemote {
			t.Errorf("%+v", r)
		}
	})
}
