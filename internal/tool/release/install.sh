#!/bin/sh
# Installs assent {{.Version}} (commit {{.Commit}}) for one user, or with --prefix for all.
# It knows the checksum of each archive and installs nothing else. See: sh install.sh --help

set -eu
umask 022

version='{{.Version}}'
from='{{.URL}}'

usage() {
	cat <<END
Installs assent $version. Nothing is started, and no agent is changed.

usage: sh install.sh [--prefix DIR] [--from URL|DIR]
       sh install.sh --remove [--prefix DIR]

  --prefix DIR     where bin and share are (\$HOME/.local)
  --from URL|DIR   where the archives lie (${from:-beside this script})
  --remove         take away what this script installed there; before that, for each agent
                   and broker that uses it: assent uninstall, assent service uninstall
END
}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# The archive for this machine, and its SHA-256.
choose() {
	os=$(uname -s)
	arch=$(uname -m)
	case $os in
	Linux) os=linux ;;
	Darwin)
		os=darwin
		# A shell under Rosetta takes itself for an Intel machine.
		if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then arch=arm64; fi
		;;
	*) fail "there is no assent for $os; on Windows use WSL" ;;
	esac
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	esac
	case $os/$arch in
{{- range .Archives}}
	{{.OS}}/{{.Arch}})
		archive={{.Name}}
		want={{.SHA256}}
		;;
{{- end}}
	*) fail "this release has no assent for $os on $arch; build it from source" ;;
	esac
}

fetch() {
	case $from in
	http://* | https://*)
		if command -v curl >/dev/null 2>&1; then
			curl -fsSL --retry 2 -o "$2" "$1" || fail "cannot fetch $1"
		elif command -v wget >/dev/null 2>&1; then
			wget -q -O "$2" "$1" || fail "cannot fetch $1"
		else
			fail "neither curl nor wget is here; fetch the archive yourself and say --from DIR"
		fi
		;;
	*)
		[ -r "$1" ] || fail "there is no $1; say where the archives lie:
  sh install.sh --from URL                  or --from DIR
  curl -fsSL URL/install.sh | sh -s -- --from URL"
		cp "$1" "$2"
		;;
	esac
}

check() {
	if command -v sha256sum >/dev/null 2>&1; then
		got=$(sha256sum <"$1")
	elif command -v shasum >/dev/null 2>&1; then
		got=$(shasum -a 256 <"$1")
	elif command -v openssl >/dev/null 2>&1; then
		got=$(openssl dgst -sha256 -r <"$1")
	else
		fail "none of sha256sum, shasum and openssl is here, so that the archive cannot be checked"
	fi
	got=${got%% *}
	[ "$got" = "$want" ] || fail "the archive is not the one of this release, nothing was installed.
  expected $want
  got      $got
  Fetch this script again, together with the archive. If it stays so, tell the maintainers."
}

# Takes away the files of the list $1, and the directories left empty.
forget() {
	while IFS= read -r file; do
		case $file in bin/* | share/*) ;; *) continue ;; esac
		case /$file/ in */../*) continue ;; esac
		rm -f "$prefix/$file"
		dir=${file%/*}
		while rmdir "$prefix/$dir" 2>/dev/null; do
			case $dir in */*) dir=${dir%/*} ;; *) break ;; esac
		done
	done <"$1"
}

main() {
	prefix= remove=
	while [ $# -gt 0 ]; do
		case $1 in
		--prefix | --from)
			[ $# -ge 2 ] && [ -n "$2" ] || fail "$1 wants a value"
			if [ "$1" = --prefix ]; then prefix=$2; else from=$2; fi
			shift 2
			;;
		--remove) remove=1 && shift ;;
		-h | --help) usage && exit ;;
		*) usage >&2 && exit 2 ;;
		esac
	done
	if [ -z "$prefix" ]; then
		[ -n "${HOME:-}" ] || fail "HOME is not set; say --prefix DIR"
		prefix=$HOME/.local
	fi
	case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
	if [ -z "$from" ]; then
		case $0 in */*) from=${0%/*} ;; *) from=. ;; esac
	fi
	list=$prefix/share/assent/installed
	if [ -n "$remove" ]; then
		[ -f "$list" ] || fail "this script installed no assent in $prefix"
		forget "$list"
		rm -f "$list"
		rmdir "$prefix/share/assent" "$prefix/share" 2>/dev/null || true
		echo "Removed assent from $prefix. What it kept lies in ~/.local/state/assent."
		return
	fi

	choose
	work=$(mktemp -d "${TMPDIR:-/tmp}/assent-install.XXXXXX")
	new=
	trap 'undo; rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	fetch "${from%/}/$archive.tar.gz" "$work/archive.tar.gz"
	check "$work/archive.tar.gz"
	tar -xzf "$work/archive.tar.gz" -C "$work"

	# What is written down can be removed, also if the rest of this fails.
	(cd "$work/$archive" && find bin share ! -type d | LC_ALL=C sort) >"$work/list"
	mkdir -p "$prefix/bin" "${list%/*}"
	[ -f "$list" ] || : >"$list"
	grep -vxF -f "$work/list" "$list" >"$work/gone" || true
	cat "$work/list" "$work/gone" >"$work/both"
	cp "$work/both" "$list"

	# The programs go beside their places first, and into them last: an agent that runs the hook
	# meanwhile finds the old one or the new one.
	new=.assent-$$
	for file in assent assent-hook assent-hook-strict assent-contain hookd-emit hookd-query; do
		cp -P "$work/$archive/bin/$file" "$prefix/bin/$file$new" || fail "cannot write to $prefix/bin"
	done
	cp -R "$work/$archive/share" "$prefix/" || fail "cannot write to $prefix/share; the programs are as they were"
	for file in assent assent-hook assent-hook-strict assent-contain hookd-emit hookd-query; do
		mv -f "$prefix/bin/$file$new" "$prefix/bin/$file"
	done
	forget "$work/gone"
	cp "$work/list" "$list"

	echo "Installed assent $version in $prefix."
	case :$PATH: in
	*:"$prefix/bin":*) echo "Set it up, step by step: assent up" ;;
	*)
		echo "$prefix/bin is not in your PATH. Add it, in the file that your shell reads at its start:"
		echo "  export PATH=\"$prefix/bin:\$PATH\""
		echo "Then set assent up, step by step: assent up"
		;;
	esac
	echo "If an older broker runs, restart it; what waits comes back to the new one."
}

# What was not moved into its place is taken away.
undo() {
	[ -n "$new" ] || return 0
	for file in assent assent-hook assent-hook-strict assent-contain hookd-emit hookd-query; do rm -f "$prefix/bin/$file$new"; done
}

# The last line: of a script that arrives in part, nothing runs.
main "$@"
