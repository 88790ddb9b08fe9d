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
CGO_ENABLED=0 exec ${GO:-go} build -trimpath -buildvcs=false -mod=readonly \
  -ldflags="-s -w -X main.built=$2 -X main.commit=$3 -X main.date=$4${5:+ -X main.releaseKey=$5 -X main.releasesAt=$6}" \
  -o "$1/" ./cmd/assent ./cmd/assent-hook ./cmd/assent-hook-strict ./cmd/assent-contain
