package rig

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// AsUser lets a hook run as another user. The programs are copied to where that one can run them.
func (d *Daemon) AsUser(uid uint32, gid uint32, payload []byte, args ...string) *HookRun {
	d.T.Helper()
	cmd := d.HookCommand(payload, args...)
	copied := filepath.Join(d.Dir, "assent-hook")
	if _, err := os.Stat(copied); err != nil {
		b, err := os.ReadFile(cmd.Path)
		if err != nil {
			d.T.Fatal(err)
		}
		if err := os.WriteFile(copied, b, 0o700); err != nil {
			d.T.Fatal(err)
		}
		if err := os.Chmod(copied, 0o755); err != nil {
			d.T.Fatal(err)
		}
	}
	home := filepath.Join(d.Dir, "home-"+strconv.Itoa(int(uid)))
	if err := os.MkdirAll(home, 0o700); err != nil {
		d.T.Fatal(err)
	}
	if err := os.Chown(home, int(uid), int(gid)); err != nil {
		d.T.Fatal(err)
	}
	cmd.Path, cmd.Dir = copied, home
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	return d.Run(cmd)
}
