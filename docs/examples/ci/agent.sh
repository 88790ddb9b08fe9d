#!/bin/sh
# Claude Code in a pipeline of any kind, under the rules of ci/rules.yaml. Copy to ci/agent.sh, and
# rules.yaml to ci/rules.yaml. Fill in ASSENT_RELEASE. Then call it where the project is:
#
#   ANTHROPIC_API_KEY=... sh ci/agent.sh "fix the failing tests"
#
# Where people are to be asked about what no rule decides, name a broker that runs all the time,
# and a token made there that can only submit, and expires:
#
#   assent token create --role submit --name ci --ttl 720h
#   export ASSENT_URL=https://box.example.net ASSENT_TOKEN=...
#
# It leaves assent.md, assent.xml (JUnit) and assent.json where it was called, shows the first, and
# ends with 86 if anything was denied, else as the agent did.
set -eu
umask 022

release=${ASSENT_RELEASE:-https://downloads.example/assent/0.1.0}
claude=${CLAUDE_VERSION:-2.1.329}
[ $# -eq 1 ] || { echo "usage: sh ci/agent.sh PROMPT" >&2; exit 2; }

# What was installed by an earlier run is used again.
PATH=$HOME/.local/bin:$PATH
export PATH
if ! command -v assent >/dev/null; then
	script=$(mktemp)
	trap 'rm -f "$script"' EXIT
	curl -fsSL -o "$script" "$release/install.sh"
	sh "$script" --from "$release"
fi
if ! command -v claude >/dev/null; then
	npm install --global --prefix "$HOME/.local" "@anthropic-ai/claude-code@$claude"
fi

# Whoever may change the rules may allow everything: call this script on a branch that not everybody
# may push to. A copy, so that the rules in force are not the file that the agent works beside.
mkdir -p "$HOME/.config/assent"
cat ci/rules.yaml >"$HOME/.config/assent/rules.yaml"
assent rules check "$HOME/.config/assent/rules.yaml"

rm -f assent.md assent.xml assent.json
code=0
assent ci run --timeout 10m --report assent --fail-on-deny -- claude -p -- "$1" || code=$?
[ ! -e assent.md ] || cat assent.md
exit "$code"
