package rules

import (
	"regexp"
	"strings"

	"assent/internal/shell"
)

// sideDoors are flags of well-known programs that write a file, run another program, or work in
// another place than the command seems to. An allow that leaves the flags of a program open, as
// Bash(git log *) does, does not mean them: the rule must name the flag itself. The list is no
// promise that every other flag is harmless; a closed list of flags is.
//
// An entry that ends in = also stands for the flag alone and for its value attached; one letter
// also within a cluster.
func sideDoors(program string) []string {
	switch program {
	case "git":
		return []string{"--output=", "--ext-diff", "--upload-pack=", "--receive-pack=", "--exec=", "--exec-path=", "--extcmd=", "--open-files-in-pager=",
			"--config=", "--config-env=", "--git-dir=", "--work-tree=", "--template=", "--separate-git-dir=", "--command=", "--smtp-server="}
	case "sort":
		return []string{"-o=", "--output=", "--compress-program="}
	case "rg":
		return []string{"--pre=", "--hostname-bin="}
	case "ag", "ack", "bat", "batcat", "delta":
		return []string{"--pager="}
	case "fd", "fdfind":
		return []string{"-x=", "-X=", "--exec=", "--exec-batch="}
	case "tar", "bsdtar":
		return []string{"--to-command=", "--checkpoint-action=", "--use-compress-program=", "-I=", "--info-script=", "--new-volume-script=", "-F=", "--rsh-command=", "--rmt-command="}
	case "sed", "gsed", "yq":
		return []string{"-i=", "--in-place="}
	case "tree":
		return []string{"-o="}
	case "less", "more":
		return []string{"-o=", "-O=", "--log-file=", "--LOG-FILE="}
	case "man":
		return []string{"-P=", "--pager=", "-H=", "--html="}
	case "date":
		return []string{"-s=", "--set="}
	case "go":
		return []string{"-exec=", "-toolexec=", "-vettool=", "-overlay=", "-modfile=", "-o=", "-C=", "-pkgdir=", "-outputdir=", "-compiler=", "-gccgoflags=",
			"-coverprofile=", "-cpuprofile=", "-memprofile=", "-blockprofile=", "-mutexprofile=", "-trace="}
	case "gofmt":
		return []string{"-w"}
	case "npm", "pnpm", "yarn":
		return []string{"--prefix=", "--script-shell=", "--node-options=", "--userconfig=", "--globalconfig=", "--cwd=", "--dir=", "-C="}
	case "make", "gmake":
		return []string{"-f=", "--file=", "--makefile=", "-C=", "--directory=", "--eval=", "-I=", "--include-dir="}
	case "cargo":
		return []string{"--config=", "--manifest-path=", "-C="}
	case "pytest", "py.test":
		return []string{"-p=", "-c=", "--rootdir=", "--confcutdir=", "-o=", "--override-ini=", "--pdbcls=", "--basetemp=", "--junitxml=", "--junit-xml=", "--log-file="}
	case "node", "nodejs":
		return []string{"-r=", "--require=", "--import=", "--loader=", "--experimental-loader="}
	case "rsync":
		return []string{"-e=", "--rsh=", "--rsync-path="}
	case "zip":
		return []string{"-TT=", "--unzip-command="}
	case "find":
		return nil // its actions are parts of their own
	}
	return nil
}

// sideDoor returns the first flag of the command that its rule does not mean.
func (m *commandMatch) sideDoor(u *shell.Unit) string {
	if m.flags != nil && m.flags.only != nil {
		return ""
	}
	if door := m.sideWord(u); door != "" {
		return door
	}
	doors := sideDoors(u.Base)
	if doors == nil {
		return ""
	}
	for _, w := range u.Argv[1:] {
		t := w.Prefix
		if w.Static && t == "--" {
			break
		}
		if len(t) < 2 || t[0] != '-' {
			continue
		}
		for _, door := range doors {
			if isDoor(t, door, !writesOneDash(u.Base)) && !m.namesFlag(t) {
				return t
			}
		}
	}
	return ""
}

// The commonest spellings of what runs a command or writes a file in these languages.
var (
	sedRuns = regexp.MustCompile(`[/|#,:@!][gpIiMm0-9]*[ew]([ ;}\n]|$)|(^|[;{}\n ])([0-9]+|[$]|/[^/]*/)?!?[ \t]*[ewW]([ ;}\n]|$)`)
	awkRuns = regexp.MustCompile(`system[ \t]*\(|\|&?[ \t]*"|>[ \t]*"|@[a-z]`)
)

// sideWord finds what opens a side door by where it stands, or is no flag at all.
func (m *commandMatch) sideWord(u *shell.Unit) string {
	words := u.Argv[1:]
	sub := ""
	for i, w := range words {
		t, door := w.Prefix, false
		switch u.Base {
		case "git":
			switch {
			case strings.HasPrefix(t, "ext::"): // an address that is a command
				door = true
			case sub == "" && strings.HasPrefix(t, "-"):
				door = strings.HasPrefix(t, "-c") || strings.HasPrefix(t, "--namespace") || strings.HasPrefix(t, "--attr-source") || strings.HasPrefix(t, "--super-prefix") || strings.HasPrefix(t, "--shallow-file")
			case sub == "":
				sub = t
				door = t == "filter-branch" || t == "daemon" || t == "instaweb"
			case strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--"):
				letters := map[string]string{"clone": "cu", "rebase": "x", "difftool": "x", "grep": "O"}[sub]
				door = letters != "" && strings.ContainsAny(t, letters)
			case i > 0 && words[i-1].Text == sub:
				door = sub == "submodule" && t == "foreach" || sub == "bisect" && t == "run" || sub == "hook" && t == "run"
			}
		case "make", "gmake":
			name, value, is := strings.Cut(t, "=")
			switch strings.TrimRight(name, ":+?!") {
			case "SHELL", ".SHELLFLAGS", "MAKE", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES":
				door = is
			default:
				door = is && strings.ContainsAny(value, "$`")
			}
		case "sed", "gsed":
			door = sedRuns.MatchString(w.Text)
		case "awk", "gawk", "mawk", "nawk":
			door = awkRuns.MatchString(w.Text)
		case "go":
			door = strings.Contains(w.Text, "extld") // the linker's linker, within -ldflags
		case "tar", "gtar", "bsdtar":
			host, _, is := strings.Cut(t, ":")
			door = is && !strings.Contains(host, "/") // an archive of another machine
		}
		if door && !m.namesFlag(t) {
			return w.Text
		}
	}
	return ""
}

// isDoor says whether a word is the flag, in full, shortened, with its value, or in a cluster.
func isDoor(word, door string, clusters bool) bool {
	flag, value := strings.CutSuffix(door, "=")
	name, _, _ := strings.Cut(word, "=")
	switch {
	case name == flag:
		return true
	case strings.HasPrefix(flag, "--"):
		return len(name) > 3 && strings.HasPrefix(flag, name)
	case len(flag) > 2 || strings.HasPrefix(word, "--"):
		return strings.HasPrefix(word, "--") && name[1:] == flag // Go takes --exec for -exec
	default:
		return clusters && value && !digits(word[1:]) && strings.IndexByte(word[1:], flag[1]) >= 0
	}
}

// namesFlag says whether the rule itself says the flag.
func (m *commandMatch) namesFlag(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	for _, alternatives := range m.args {
		for _, g := range alternatives {
			if said, _, _ := strings.Cut(strings.TrimSuffix(g.src, "*"), "="); said == name || g.exact && g.src == word {
				return true
			}
		}
	}
	return false
}
