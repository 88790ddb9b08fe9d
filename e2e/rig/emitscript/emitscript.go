// Package emitscript has the script that hookd-emit stands in for.
package emitscript

// Text is what people's hooks did before there was hookd-emit, and what it has to be like.
const Text = `#!/usr/bin/env bash
set -euo pipefail

EVENT_TYPE="${1:?Usage: hookd-emit <event_type> <tool_name>}"
TOOL_NAME="${2:?Usage: hookd-emit <event_type> <tool_name>}"
SOCKET="${HOOKD_SOCKET:-/run/user/$(id -u)/hookd.sock}"

PAYLOAD=$(cat)
[ -z "$PAYLOAD" ] && exit 0
[ ! -S "$SOCKET" ] && exit 0

jq -nc \
  --arg et "$EVENT_TYPE" \
  --arg tn "$TOOL_NAME" \
  --arg ts "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" \
  --argjson pid "$$" \
  --argjson payload "$PAYLOAD" \
  '{event_type: $et, tool_name: $tn, payload: $payload, timestamp: $ts, pid: $pid}' \
  | socat - UNIX-CONNECT:"$SOCKET" 2>/dev/null

exit 0
`
