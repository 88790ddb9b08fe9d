package secrets

import (
	"slices"
	"testing"
)

// TestCopies: a copy of what is on the list is on it, and a copy of anything else is not.
func TestCopies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"id_rsa~": true, ".id_rsa.swp": true, "#id_rsa#": true, ".#.npmrc": true, "._id_rsa": true, ".npmrc~": true, ".env.swo": true, "server.key.1": true, "wallet.dat (1)": true, "wallet.dat copy": true, "key4.db-wal": true,
		".pgpass.bak.gz": true, "tokens.json.2024-01-02": true, "core": true, ".server.key.un~": true, ".wallet.dat.un~": true, "wallet.dat.~12~": true, ".wallet.dat.swl": true, ".wallet.dat.kate-swp": true, "wallet.dat___jb_tmp___": true, "vgcore.12": true, ".netrc_old": true,
		"main.go~": false, ".main.go.swp": false, ".main.go.un~": false, "main.go.~1~": false, "movie.swf": false, ".~1~": false, ".sw~": false, ".swp": false, "README.md.orig": false, "libsecret.1": false, "secret-tool.1": false, "Cargo.lock": false, "a (1)": false, "#": false, "##": false, "~": false, ".~": false, ".#": false, "core.go": false, "": false,
	} {
		if got := Name(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !Directory(".ssh~") || !Directory(".aws.bak") || Directory("src.bak") {
		t.Error("copies of directories")
	}
	at := Top("/home/dev/project/.docker")
	if !at.Secret("config.json~", true) || at.Secret("other.json~", true) {
		t.Error("copies of files that are listed with their path")
	}
}

// FuzzOriginals: what a copy was made of is shorter, so that it comes to an end.
func FuzzOriginals(f *testing.F) {
	f.Add(".id_rsa.swp")
	f.Add("##")
	f.Add("a.(1) (2)~")
	f.Fuzz(func(t *testing.T, name string) {
		for _, o := range Originals(name) {
			if len(o) >= len(name) || o == "" {
				t.Errorf("%q of %q", o, name)
			}
		}
		if file(name) && len(name) > 0 && len(name) < 200 && !slices.Contains([]byte("#~"), name[0]) && !file(name+"~") {
			t.Errorf("%q is on the list and its copy is not", name)
		}
	})
}
