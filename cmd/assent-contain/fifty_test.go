//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
)

// fifty are files with secrets of a project, wherever people and programs put them.
var fifty = strings.Fields(`
.env .env.local .env.production prod.env config/staging.env .envrc .npmrc .yarnrc.yml .pypirc .netrc _netrc .pgpass .my.cnf .htpasswd .git-credentials
.docker/config.json .aws/credentials .ssh/id_rsa .gnupg/secring.gpg .vault-token .terraformrc .kube/config id_rsa id_ed25519 keys/id_ecdsa deploy/server.key deploy/prod.pem
deploy/cert.p12 deploy/client.pfx android/release.jks android/app.keystore ios/AuthKey_AB12.p8 kubeconfig terraform.tfstate terraform.tfstate.backup infra/prod.tfvars
config/credentials.json config/credentials.yml.enc config/master.key config/secrets.yml client_secret_12.json service-account.json firebase-adminsdk-x.json
passwords.kdbx api_token.txt .bash_history .python_history wallet.dat cookies.txt .Renviron .streamlit/secrets.toml local.settings.json`)

// TestFiftySecrets: commands that show all of a project and all of their environment show none of its secrets and no
// key of the agent, and do show what they may read. Uncontained they show each of them.
func TestFiftySecrets(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	const harmless = "HaRmLeSs77"
	w.write(t, "work/project/src/a.go", harmless+"\n")
	marks := map[string]string{} // by where they are
	for i, name := range fifty {
		marks[name] = fmt.Sprintf("CaNaRy%02dq", i)
		w.write(t, "work/project/"+name, marks[name]+"\n")
	}
	if len(marks) < 50 {
		t.Fatalf("only %d files", len(marks))
	}
	for _, key := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"} {
		marks["$"+key] = "CaNaRyK" + key
		w.env = append(w.env, key+"="+marks["$"+key])
	}
	ways := []struct{ files, keys, text string }{
		{"all", "", `grep -r . .`}, {"all", "", `find . -type f -exec cat {} +`}, {"all", "", `find . -type f -print0 | xargs -0 -n 1 awk 1`}, {"all", "", `tar c . | strings -n 4`},
		{"all", "", `shopt -s globstar dotglob; cat **`}, {"all", "", `tar cf - --exclude=.git . 2>/dev/null | tar xf - -O`},
		{"all", "", `for f in $(find . -type f); do head -c 99 < $f; done`}, {"all", "", `git grep --no-index --no-exclude-standard ''`}, {"all", "", `find . -type f | sed "s|^|$PWD/|" | xargs -n 1 sort`},
		{"", "all", `env`}, {"", "all", `printenv`}, {"", "all", `awk 'BEGIN { for (k in ENVIRON) print k, ENVIRON[k] }'`}, {"", "all", `cat /proc/self/environ | tr '\0' '\n'`}, {"", "all", `cat /proc/$$/environ | tr '\0' '\n'`},
		{"", "all", `export -p`}, {"", "all", `set`}, {"", "all", `/usr/bin/python3 -c 'import os; print(os.environ)'`}, {"", "all", `perl -e 'print "$_=$ENV{$_}\n" for keys %ENV'`}, {"", "all", `xargs -0 -n 1 -a /proc/self/environ`},
	}
	for _, way := range ways {
		if strings.Contains(way.text, "python3") && !has("python3") || strings.Contains(way.text, "perl") && !has("perl") {
			continue
		}
		plain, contained := w.plain(t, way.text), w.contained(t, way.text)
		if way.files == "all" && !strings.Contains(contained.out, harmless) {
			t.Errorf("%s\nshows nothing of what may be read: %+v", way.text, contained)
		}
		for place, mark := range marks {
			if asked := strings.HasPrefix(place, "$") && way.keys != "" || !strings.HasPrefix(place, "$") && way.files != ""; asked && !strings.Contains(plain.out, mark) {
				t.Errorf("%s\ndoes not show %s even uncontained: %s", way.text, place, plain.errs)
			}
			if strings.Contains(contained.out+contained.errs, mark) {
				t.Errorf("%s\nshows %s", way.text, place)
			}
		}
	}
}
