#!/bin/sh
# How the programs are built: make build, make release and the Dockerfile all come here.
#
#   build.sh DIR VERSION COMMIT DATE [KEY UPDATES]
#
# puts assent, assent-hook, assent-hook-strict and assent-contain into DIR, which is absolute or relative to the root of the source.
# COMMIT and DATE may be empty. KEY is whom assent update believes, and UPDATES where it looks: without
# them it refuses. The programs are static, hold no path of this machine, and name the
# version that is given here and no other: the same source and words give the same bytes.
set -eu
[ $# = 4 ] || [ $# = 6 ] || { echo "usage: build.sh DIR VERSION COMMIT DATE [KEY UPDATES]" >&2; exit 2; }
cd "$(dirname "$0")/../../.."
echo "Building four programs into $1. Where Go has built nothing yet it downloads and compiles everything first, which takes some minutes." >&2
CGO_ENABLED=0 ${GO:-go} build -trimpath -buildvcs=false -mod=readonly \
  -ldflags="-s -w -X main.built=$2 -X main.commit=$3 -X main.date=$4${5:+ -X main.releaseKey=$5 -X main.releasesAt=$6}" \
  -o "$1/" ./cmd/assent ./cmd/assent-hook ./cmd/assent-hook-strict ./cmd/assent-contain
say() { printf '  %-22s %s\n' "$1" "$2" >&2; }
say "$1/assent" "the broker and all commands"
say "$1/assent-hook" "what an agent's hooks run"
say "$1/assent-hook-strict" "the same, where the hook checks who decided"
say "$1/assent-contain" "runs a command that can only read"
