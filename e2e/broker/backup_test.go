package broker

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// backups has verify look into copies of the state directory: base is whole, and stays as it is; early is older than what was kept.
func backups(t *testing.T, d *rig.Daemon, dir string, run func(args ...string) (string, bool)) {
	t.Helper()
	file := func(name string) string { return filepath.Join(dir, name) }
	verify := func(name string) (string, bool) {
		return run("audit", "verify", file(name), "--key", file("pub"), "--kept", file("kept"))
	}
	before := digests(t, file("base"))
	if out, ok := verify("base"); !ok || !strings.Contains(out, "of them signed by a device: 4") {
		t.Errorf("it is not verified: %s", out)
	}
	if after := digests(t, file("base")); !maps.Equal(before, after) {
		t.Error("the backup was changed")
	}
	if out, ok := verify("early"); ok || !strings.Contains(out, "older than what the kept checkpoint") {
		t.Errorf("an older one: %s", out)
	}
	copyTree(t, file("base"), file("cut"))
	blocks, err := filepath.Glob(filepath.Join(file("cut"), "nats/record/jetstream/*/streams/APPROVALS/msgs/*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatal(err, "there are no files of the record")
	}
	if err := os.Truncate(blocks[len(blocks)-1], 100); err != nil {
		t.Fatal(err)
	}
	if out, ok := verify("cut"); ok || !strings.Contains(out, "damaged") {
		t.Errorf("half of it: %s", out)
	}
	if err := os.Mkdir(file("empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, ok := verify("empty"); ok || !strings.Contains(out, "no broker has kept a record here") {
		t.Errorf("nothing: %s", out)
	}
	d.Start()
	defer d.Stop()
	if out, ok := run("audit", "verify", d.State, "--key", file("pub")); ok || !strings.Contains(out, "a broker works in") {
		t.Errorf("one that is in use: %s", out)
	}
}

// digests are those of the files below a directory.
func digests(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		sums[path] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}
