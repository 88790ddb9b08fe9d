//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// programs are directories of the system's programs and libraries, which the system owns.
var programs = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// ofUsr are the same in /usr and /usr/local. What else lies there may be somebody's own.
var ofUsr = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "share", "include", "games", "man", "src", "go"}

// settings are the files of the system that programs look at to be able to start, to know who they run
// for and what time and language it is there. None of them is a place for a secret; all others of /etc
// stay closed.
var settings = []string{
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-x86_64.path", "ld-musl-aarch64.path",
	"alternatives", "passwd", "group", "nsswitch.conf", "host.conf", "hosts", "hostname", "services", "protocols", "shells",
	"localtime", "timezone", "locale.alias", "locale.conf", "default/locale", "os-release", "lsb-release", "debian_version", "redhat-release", "alpine-release", "issue",
	"magic", "mime.types", "inputrc", "terminfo", "manpath.config", "papersize",
	"ssl/openssl.cnf", "ssl/certs", "pki/tls/openssl.cnf", "pki/tls/certs", "crypto-policies", "ca-certificates.conf",
	"fonts", "perl", "python3", "python3.11", "python3.12", "python3.13",
}

// others are what tells programs about the machine, and devices without a state.
var others = []struct {
	path   string
	rights uint64
}{
	{"/dev/null", readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	{"/dev/zero", readFile}, {"/dev/full", readFile}, {"/dev/urandom", readFile}, {"/dev/random", readFile},
	{"/proc/cpuinfo", readFile}, {"/proc/meminfo", readFile}, {"/proc/stat", readFile}, {"/proc/uptime", readFile}, {"/proc/loadavg", readFile},
	{"/proc/version", readFile}, {"/proc/filesystems", readFile}, {"/proc/sys/kernel/osrelease", readFile}, {"/proc/sys/kernel/ngroups_max", readFile},
	{"/proc/sys/kernel/cap_last_cap", readFile}, {"/proc/sys/vm/overcommit_memory", readFile}, {"/proc/sys/fs/pipe-max-size", readFile},
	{"/sys/devices/system/cpu", readFile | readDir}, {"/sys/kernel/mm/transparent_hugepage", readFile | readDir},
}

// spare are those of ofUsr that only some programs need: one that holds a project stays closed, and what is
// open in it is the project, without its secrets.
var spare = []string{"src", "go"}

// systemDirs are the directories that every contained command may read as a whole. kept are those with
// secrets in them, resolved: what is opened above one would show them, as rules only ever add.
func systemDirs(kept []string) (dirs []string, err error) {
	all := slices.Clone(programs)
	for _, top := range []string{"/usr", "/usr/local"} {
		for _, name := range ofUsr {
			all = append(all, path.Join(top, name))
		}
	}
	parents := map[string]string{}
	for _, dir := range all {
		real := realDir(dir, parents)
		if real == "" {
			continue // it is not there
		}
		if real != dir && slices.ContainsFunc(kept, func(k string) bool { return k != "/" && (k == real || strings.HasPrefix(real, k+"/")) }) {
			continue // a link into what is looked through, or stays closed
		}
		i := slices.IndexFunc(kept, func(k string) bool { return k == real || strings.HasPrefix(k, real+"/") })
		switch {
		case i < 0:
			dirs = append(dirs, dir)
		case !slices.Contains(spare, path.Base(dir)):
			return nil, Refusal(oneLine(kept[i]) + " is in " + dir + ", which every program can read")
		}
	}
	return dirs, nil
}

// realDir is a directory with its links resolved, "" where it is not there. Few are links, and they have
// few parents, which are remembered: this runs before every contained command.
func realDir(dir string, parents map[string]string) string {
	above := path.Dir(dir)
	parent, known := parents[above]
	if !known {
		if real, err := filepath.EvalSymlinks(above); err == nil {
			parent = real
		}
		parents[above] = parent
	}
	if parent == "" {
		return ""
	}
	var one [1]byte
	switch _, err := unix.Readlink(dir, one[:]); err {
	case unix.EINVAL: // no link
		return path.Join(parent, path.Base(dir))
	case unix.ENOENT:
		return ""
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return real
}

// system makes the rules that every contained command has, with the directories of systemDirs.
func (r *rules) system(dirs []string) error {
	for _, p := range dirs {
		if err := r.path(p, readFile|readDir|execute); err != nil {
			return err
		}
	}
	for _, top := range []string{"/usr", "/usr/local"} {
		if err := r.path(top, readDir); err != nil {
			return err
		}
	}
	for _, p := range settings {
		if err := r.path("/etc/"+p, readFile|readDir); err != nil {
			return err
		}
	}
	for _, o := range others {
		if err := r.path(o.path, o.rights); err != nil {
			return err
		}
	}
	return nil
}

// homes are the user's home directories: what the environment says, and what the system knows.
func homes(env string) []string {
	all := []string{"/root"}
	if path.IsAbs(env) {
		all = append(all, env)
	}
	users := small("/etc/passwd", 0, 1<<20) // without it the environment has to do
	uid := strconv.Itoa(os.Getuid())
	for line := range strings.SplitSeq(string(users), "\n") {
		if f := strings.Split(line, ":"); len(f) > 5 && f[2] == uid && path.IsAbs(f[5]) {
			all = append(all, f[5])
		}
	}
	for _, h := range all[:len(all):len(all)] {
		if real, err := filepath.EvalSymlinks(h); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// readable resolves a directory or file that may be read, and refuses one that is a home, holds homes or
// the system's settings and state, or is where programs keep their settings in a home.
func readable(name string, homes []string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", Refusal(oneLine(name) + ": " + err.Error())
	}
	within := func(dir string) bool { return dir == real || real == "/" || strings.HasPrefix(dir, real+"/") }
	for _, h := range homes {
		if h != "/" && within(h) {
			return "", Refusal(oneLine(name) + " is or holds a home directory")
		}
		rest, ok := strings.CutPrefix(real, h+"/")
		if !ok || h == "/" {
			continue
		}
		if parts := strings.Split(rest, "/"); parts[0][0] == '.' && parts[0] != ".dotfiles" && (len(parts) < 3 || len(parts) == 3 && parts[0] == ".local") {
			if st, err := os.Stat(real); err != nil || st.IsDir() {
				return "", Refusal(oneLine(name) + " is where programs keep their settings")
			}
		}
	}
	for _, dir := range []string{"/home/x", "/etc/x", "/var/lib/x", "/proc/x", "/dev/x", "/run/x", "/sys/x", "/boot/x", "/mnt/x", "/media/x", "/srv/x"} {
		if within(dir) || within(path.Dir(dir)) {
			return "", Refusal(oneLine(name) + " is or holds a directory of the system")
		}
	}
	for _, dir := range []string{"/proc", "/dev", "/sys", "/run/user"} {
		if strings.HasPrefix(real, dir+"/") {
			return "", Refusal(oneLine(name) + " is in " + dir)
		}
	}
	return real, nil
}
