package suggest

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// never says why no rule is proposed for a program; empty if one may be.
func never(u *shell.Unit) string {
	name := u.Program
	if name == "" || strings.Contains(name, "/") {
		return "the program is not one of the system's, and what it does may change"
	}
	bare := strings.TrimSuffix(strings.TrimRight(name, "0123456789."), "-")
	switch name {
	case "i386", "x86_64", "linux32", "linux64", "uname26", "run0":
		bare = "setarch" // whose names these are, and sudo's likes
	}
	sub := ""
	if len(u.Argv) > 1 {
		sub = u.Argv[1].Text
	}
	switch bare {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "nu", "xonsh", "elvish", "pwsh", "powershell", "cmd", "cmd.exe",
		"yash", "oil", "osh", "ysh", "rc", "es", "posh", "busybox", "toybox", "git-shell", "rksh", "rzsh":
		return "`" + name + "` is a shell: it runs whatever it is given"
	case "python", "pypy", "ipython", "bpython", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "esno", "ruby", "irb", "jruby", "perl", "php", "lua", "luajit", "tclsh", "wish", "expect",
		"osascript", "Rscript", "R", "julia", "ghci", "ghc", "runghc", "runhaskell", "scala", "scala-cli", "jshell", "java", "groovy", "kotlin", "kotlinc", "swift", "erl", "escript", "iex", "elixir", "clojure", "clj", "bb", "lein",
		"guile", "racket", "sbcl", "clisp", "ecl", "emacs", "emacsclient", "vim", "vi", "nvim", "view", "ex", "ed", "nano", "pico", "joe", "micro", "hx", "code", "m", "dc", "bc", "gdb", "lldb", "octave", "matlab", "gnuplot", "maxima", "sage",
		"raku", "rakudo", "awk", "gawk", "mawk", "nawk", "sed", "gsed", "ocaml", "dotnet", "mono", "wine", "qemu", "wasmtime", "wasmer", "wasmedge", "nim", "crystal", "v", "zig", "tcc", "nix-instantiate", "gs", "latex", "pdflatex", "tex", "xelatex", "lualatex",
		"psql", "mysql", "mariadb", "sqlite", "sqlcmd", "sqlplus", "mongo", "mongosh", "redis-cli", "clickhouse", "clickhouse-client", "duckdb", "cqlsh", "influx", "usql", "pgcli", "mycli", "litecli",
		"pythonw", "py", "jupyter", "ts-node-dev", "vite-node", "gdbserver", "fzf",
		"ansible", "ansible-console", "ansible-playbook", "msfconsole", "xdotool", "ydotool", "dbus-send", "gdbus", "busctl", "qdbus":
		return "`" + name + "` is an interpreter: it runs whatever it is given"
	case "sudo", "doas", "su", "runuser", "sg", "newgrp", "pkexec", "gosu", "chroot", "nsenter", "unshare", "systemd-run", "machinectl", "firejail", "bwrap", "fakeroot", "proot",
		"env", "timeout", "gtimeout", "time", "nice", "ionice", "chrt", "nohup", "stdbuf", "setsid", "unbuffer", "command", "builtin", "exec", "eval", "source", ".", "xargs", "find", "fd", "fdfind", "parallel", "watch", "entr", "flock", "strace", "ltrace", "perf", "valgrind",
		"script", "tmux", "screen", "at", "batch", "crontab", "start-stop-daemon", "setarch", "taskset", "numactl", "prlimit", "choom", "catchsegv", "ld.so", "rlwrap", "sshpass", "caffeinate", "arch", "open", "xdg-open", "run-parts",
		"nsjail", "dzdo", "sudoedit", "xvfb-run", "dbus-run-session", "systemd-inhibit", "cpulimit", "faketime", "hyperfine", "ssh-agent", "gpg-agent",
		"doppler", "op", "aws-vault", "chamber", "envchain", "cross-env", "dotenv", "dotenvx", "concurrently", "pm2", "foreman", "honcho", "overmind", "nodemon", "watchexec", "cargo-watch",
		"mpirun", "mpiexec", "srun", "sbatch", "qsub", "torchrun", "accelerate", "tee", "dd", "install", "ln":
		return "`" + name + "` runs or changes other things than itself: a rule for it would be one for those"
	case "patch", "tar", "bsdtar", "gtar", "unzip", "cpio", "pax", "7z", "7za", "7zr", "unrar", "ar", "jar", "dpkg", "rpm", "apt", "apt-get", "yum", "dnf", "apk", "pacman", "snap", "flatpak":
		return "`" + name + "` does what a file says that may be another one next time"
	case "npx", "bunx", "uvx", "pipx", "pnpx", "dlx", "direnv", "mise", "asdf", "rtx", "nix", "nix-shell", "nix-env", "guix", "conda", "mamba", "micromamba", "rye", "hatch", "poetry", "pipenv", "uv", "bundle", "rbenv", "pyenv", "nvm", "fnm", "volta", "sdk", "corepack",
		"docker", "docker-compose", "podman-compose", "lima", "limactl", "colima", "orb", "distrobox", "toolbox", "podman", "nerdctl", "buildah", "ctr", "crictl", "lxc", "incus", "vagrant", "multipass", "wsl", "ssh", "mosh", "rsh", "telnet", "nc", "ncat", "netcat", "socat", "ftp", "sftp", "lftp", "smbclient", "rclone":
		return "`" + name + "` runs other programs, or works on another machine: a rule for it would be one for those"
	}
	runs := map[string][]string{
		"npm":     {"exec", "x", "explore", "config", "set", "edit", "init", "create", "link"},
		"pnpm":    {"exec", "dlx", "create", "config", "env", "link"},
		"yarn":    {"exec", "dlx", "create", "config", "node", "link"},
		"go":      {"run", "tool", "generate", "env", "install", "get"},
		"cargo":   {"run", "watch", "install", "script", "login", "config"},
		"gh":      {"alias", "extension", "api", "config", "auth", "codespace", "secret", "ssh-key", "gpg-key"},
		"kubectl": {"exec", "run", "debug", "attach", "cp", "plugin", "proxy", "port-forward", "config", "edit"},
		"oc":      {"exec", "run", "debug", "rsh", "rsync", "plugin", "config", "edit"},
		"git":     {"config", "apply", "am", "submodule", "filter-branch", "bisect", "rebase", "daemon", "shell", "difftool", "mergetool", "send-email", "instaweb", "hook", "credential", "p4", "svn", "cvsimport", "remote-ext", "maintenance"},
		"brew":    {"sh", "irb", "ruby", "bundle", "command", "test", "services"},
		"pip":     {"config"}, "mvn": {"exec:java", "exec:exec"}, "composer": {"exec", "config", "global"}, "dotnet": {"exec", "run", "tool"},
	}[bare]
	if name == "git" && slices.ContainsFunc(u.Argv[1:], func(w shell.Word) bool {
		return w.Text == "-c" || strings.HasPrefix(w.Text, "--exec-path=") || strings.HasPrefix(w.Text, "--config-env") ||
			strings.HasPrefix(w.Text, "--upload-pack") || strings.HasPrefix(w.Text, "--receive-pack") || strings.HasPrefix(w.Text, "--exec=")
	}) {
		return "this flag of `git` can name a program that it runs"
	}
	// Also where flags stand before it.
	for _, word := range u.Argv[min(1, len(u.Argv)):] {
		if slices.Contains(runs, word.Text) && (word.Text == sub || strings.HasPrefix(sub, "-")) {
			return "`" + name + " " + word.Text + "` runs other programs, or changes what later commands do"
		}
	}
	return ""
}

// projectCode says in one sentence that a program runs what stands in the project; empty if it is
// not known to.
func projectCode(u *shell.Unit) string {
	const words = "It does what files of the project say, which the agent can change."
	sub := ""
	if len(u.Argv) > 1 {
		sub = u.Argv[1].Text
	}
	switch u.Program {
	case "make", "gmake", "bmake", "just", "task", "rake", "invoke", "nox", "tox", "pytest", "py.test", "unittest", "gradle", "gradlew", "mvn", "ant", "sbt", "mill", "bazel", "buck", "buck2", "ninja", "meson", "cmake", "ctest", "scons", "pre-commit", "husky", "lefthook",
		"jest", "vitest", "mocha", "ava", "tap", "playwright", "cypress", "eslint", "prettier", "tsc", "webpack", "vite", "rollup", "esbuild", "parcel", "next", "nuxt", "gulp", "grunt", "nx", "turbo", "lerna", "rspec", "rubocop", "rails", "mix", "rebar3", "stack", "cabal", "phpunit", "composer",
		"pip", "pip3", "kubectl", "oc", "terraform", "tofu", "pulumi", "helm", "serverless", "cdk", "sam", "mypy", "pylint", "black", "ruff", "flake8", "isort", "coverage", "sphinx-build", "mkdocs", "hugo", "jekyll", "flutter", "dart", "xcodebuild", "swiftlint", "pod", "fastlane", "npm", "pnpm", "yarn":
		return words
	case "go":
		if sub == "test" || sub == "build" || sub == "vet" || sub == "mod" {
			return words
		}
	case "cargo":
		return words
	case "git":
		switch sub {
		case "commit", "push", "merge", "pull", "checkout", "switch", "am", "cherry-pick", "revert", "stash", "clone", "worktree":
			return "It runs the hooks of the repository."
		}
	}
	return ""
}

// filter knows programs that do nothing to what comes in but write parts of it out.
func filter(name string) bool {
	switch name {
	case "head", "tail", "sort", "uniq", "wc", "cut", "tr", "grep", "egrep", "fgrep", "column", "nl", "tac", "rev", "cat", "fold", "fmt", "md5sum", "sha1sum", "sha256sum", "base64", "jq":
		return true
	}
	return false
}
