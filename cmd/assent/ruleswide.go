package main

import (
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
)

// wideProgram is what it means to allow a program with any arguments.
type wideProgram struct {
	names   []string
	then    []string // first arguments that do not narrow it much
	meaning string
	runs    bool // it runs whatever its arguments say
}

var widePrograms = []wideProgram{ // read-only
	{names: []string{"python", "pypy", "ipython"}, then: []string{"-c", "-m"}, meaning: "any Python code, and so anything that you can do", runs: true},
	{names: []string{"node", "nodejs", "deno", "bun", "tsx", "ts-node"}, then: []string{"-e", "-p", "--eval", "run", "x", "eval"}, meaning: "any JavaScript, and so anything that you can do", runs: true},
	{names: []string{"ruby", "perl", "php", "lua", "luajit", "tclsh", "Rscript", "R", "julia", "swift", "osascript", "pwsh", "powershell", "expect", "groovy", "jshell", "elixir", "gdb"}, then: []string{"-e", "-r", "-c"}, meaning: "any code in that language, and so anything that you can do", runs: true},
	{names: []string{"bash", "sh", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "busybox"}, then: []string{"-c", "-lc", "-l"}, meaning: "any script, and so anything that you can do", runs: true},
	{names: []string{"awk", "gawk", "mawk", "nawk"}, meaning: "any awk program, which can run commands and write files"},
	{names: []string{"sed"}, then: []string{"-i", "-e", "-n"}, meaning: "any sed script, which can write files and, with GNU sed, run commands"},
	{names: []string{"vi", "vim", "nvim", "emacs", "ed", "nano", "less", "more", "man"}, meaning: "a program from which any command can be run"},
	{names: []string{"sudo", "doas", "su", "env", "xargs", "nohup", "time", "timeout", "nice", "watch", "parallel", "strace", "flock", "chroot", "command", "exec", "eval", "script", "tmux", "screen"}, meaning: "it runs other commands. They need rules of their own, so this one alone allows little or nothing", runs: true},
	{names: []string{"ssh", "mosh", "docker", "podman", "kubectl", "nsenter", "vagrant", "nix", "nix-shell"}, then: []string{"run", "exec", "compose"}, meaning: "any command elsewhere or in a container, also with this machine's files in it", runs: true},
	{names: []string{"find", "fd"}, meaning: "it can delete files and run commands (-delete, -exec)"},
	{names: []string{"npx", "pnpx", "bunx", "uvx", "pipx"}, then: []string{"-y", "run"}, meaning: "any package from the network is fetched and run", runs: true},
	{names: []string{"make", "gmake", "just", "task", "rake", "gradle", "./gradlew", "mvn", "./mvnw", "ant", "bazel", "tox", "nox", "pytest", "cmake", "ninja", "meson"}, meaning: "code of the project, which the agent can write itself"},
	{names: []string{"npm", "pnpm", "yarn"}, then: []string{"run", "exec", "install", "i", "ci", "add", "dlx", "create"}, meaning: "scripts of the project and of packages, which the agent can choose or write itself"},
	{names: []string{"pip", "uv", "poetry", "pdm", "conda", "gem", "bundle", "composer", "brew", "apt", "apt-get"}, then: []string{"install", "run", "add", "exec", "sync", "pip"}, meaning: "any package is installed, and its scripts run"},
	{names: []string{"go", "cargo", "dotnet"}, then: []string{"run", "test", "build", "install", "generate", "get", "tool"}, meaning: "code of the project or of packages is run"},
	{names: []string{"git"}, then: []string{"-c", "config", "commit", "push", "clone", "checkout", "submodule", "rebase", "filter-branch"}, meaning: "it can run programs (hooks, aliases, -c), lose work and send code away"},
	{names: []string{"curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "sftp", "ftp", "rsync", "rclone", "http"}, meaning: "any file can be sent anywhere, and anything be fetched and written"},
	{names: []string{"gh", "glab", "aws", "gcloud", "az", "terraform", "helm", "psql", "mysql", "sqlite3", "redis-cli", "mongosh"}, meaning: "everything that your account may do there"},
	{names: []string{"rm", "mv", "cp", "ln", "dd", "tee", "chmod", "chown", "truncate", "shred", "install", "rsync", "tar", "unzip", "patch"}, meaning: "every file that you may write, also outside the project"},
	{names: []string{"cat", "head", "tail", "grep", "rg", "jq", "strings", "xxd", "base64"}, meaning: "every file that you may read, keys and passwords among them"},
	{names: []string{"kill", "pkill", "killall", "systemctl", "launchctl", "crontab", "at", "open", "xdg-open"}, meaning: "programs of yours that have nothing to do with the project"},
}

// wideMeaning says what a rule allows that is wider than it may look; nothing for others.
func wideMeaning(text string) string {
	name, spec, has := strings.Cut(text, "(")
	spec = strings.TrimSpace(strings.TrimSuffix(spec, ")"))
	t := tools.Of(name)
	whole := !has || strings.Trim(spec, "*/ ") == "" || spec == "~/**" || spec == "./**"
	switch {
	case strings.HasPrefix(text, "mcp__"):
		if name := strings.Split(text[len("mcp__"):], "__"); len(name) == 1 || strings.Trim(name[len(name)-1], "*") == "" {
			return "every tool of that server, also those that it brings later"
		}
		return ""
	case t.Kind == tool.Command:
		return wideCommand(spec)
	case t.Kind == tool.Fetch && (whole || strings.Trim(strings.TrimPrefix(spec, "domain:"), "*.") == ""):
		return "any page, and an address can carry what the agent knows"
	case t.AboutFiles() && t.MayWrite() && whole:
		return "files that are run later (scripts, hooks, Makefiles) are among those that it changes"
	case t.AboutFiles() && !t.MayWrite() && whole && spec != "./**":
		return "keys and passwords in files are among what it reads"
	}
	return "" // also of WebSearch, which asks one service
}

// runsAnything is wideMeaning for a rule about a program that runs whatever its arguments say.
func runsAnything(text string) string {
	spec, ok := strings.CutPrefix(text, "Bash(")
	if !ok {
		return ""
	}
	if w := wideProgramOf(strings.TrimSpace(strings.TrimSuffix(spec, ")"))); w != nil && w.runs {
		return w.meaning
	}
	return ""
}

func wideCommand(spec string) string {
	if w := wideProgramOf(spec); w != nil {
		return w.meaning
	}
	return ""
}

// wideProgramOf finds the program that a rule about commands leaves open.
func wideProgramOf(spec string) *wideProgram {
	spec, open := strings.CutSuffix(spec, "*")
	words := strings.Fields(strings.TrimSuffix(spec, ":"))
	if !open || len(words) == 0 {
		return nil
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if plain := strings.TrimRight(program, "0123456789."); plain != "" && program != "sqlite3" {
		program = plain
	}
	for i := range widePrograms {
		w := &widePrograms[i]
		if !slices.Contains(w.names, program) && !slices.Contains(w.names, words[0]) {
			continue
		}
		for _, arg := range words[1:] {
			if !slices.Contains(w.then, arg) {
				return nil
			}
		}
		return w
	}
	return nil
}
