package hookclient

// Flags says what the flags are and what stands in for those not given.
const Flags = `  --agent NAME                 the agent that runs the hook (claude)
  --event NAME                 type of the event (the payload's hook_event_name)
  --socket PATH                the broker's socket ($XDG_RUNTIME_DIR/assent/hook.sock)
  --socket-owner USER          whose broker listens there, by name or number (the user who runs the hook)
  --url URL                    a broker elsewhere: http to loopback here, https with "assent hook"; several
                               brokers of one cluster, separated by commas or repeated: if one does not
                               answer, the next is asked. With --socket, the broker there is asked first
  --cacert FILE                certificates to trust for an https URL, instead of the system's
  --timeout DURATION           how long a permission request waits (590s)
  --on-timeout abstain|deny    its answer when the time is up (abstain: the agent's own prompt decides)
  --on-failure abstain|deny    its answer when no broker can be asked (abstain)
  --transcript on|off          whether the broker is shown the end of the agent's transcript with a
                               permission request (on with a socket, off with a URL)

What no flag sets is read from /etc/assent/hook.conf, then from $XDG_CONFIG_HOME/assent/hook.conf (lines
like "timeout = 590s"; also "token = ...", which assent join writes, "contain = ABI PATH", which assent
install writes, and "require = signed" with "trust = device:KEY" and "trust-rules = device:KEY", which
assent-hook-strict and assent hook obey), then from ASSENT_SOCKET, ASSENT_URL, ASSENT_TOKEN and so on.`

// Usage is the help text of the command called name.
func Usage(name string) string {
	return name + ` hands one hook event of a coding agent to the assent broker and prints the answer.
An agent runs it; it reads the event on standard input and always exits 0.

usage: ` + name + ` [flags]
       ` + name + ` emit TYPE [TOOL]    tells a hookd socket, and waits for no answer; see: ` + name + ` emit --help
       ` + name + ` --version

` + Flags + `

Example, in the settings of Claude Code:
  {"hooks": {"PermissionRequest": [{"hooks": [
    {"type": "command", "command": "/usr/local/bin/assent-hook", "args": ["--timeout", "590s"], "timeout": 600}]}]}}

Example, by hand:
  echo '{"hook_event_name":"Stop","session_id":"s"}' | ` + name + ` --socket /tmp/assent.sock
`
}

// StrictName is the name of the program that prints only what a trusted device signed.
const StrictName = "assent-hook-strict"

// StrictUsage is its help text.
const StrictUsage = StrictName + ` hands one hook event of Claude Code to the assent broker, and prints an
allow only if a device that hook.conf trusts signed that very request and answer, or if rules that a key of
a trust-rules line signed allow it, which it evaluates itself. Anything else that allows is left to the
agent's own prompt, and standard error says why. Denials pass.

usage: ` + StrictName + ` [flags]
       ` + StrictName + ` --version

` + Flags + `

It wants signatures also where no file says "require = signed"; without a "trust" line it allows nothing.
An https URL needs "assent hook", which checks the same.

Example, in /etc/assent/hook.conf:
  require = signed
  trust = device:UOAyR2kxQm3PzQ0o1yR8d0mVb7n3cE5gH2iJ4kL6mN8 independent
  trust-rules = device:9cXw01bTq3PzQ0o1yR8d0mVb7n3cE5gH2iJ4kL6mN8a since 2026-11-28T06:00:00Z

Example, in the settings of Claude Code; assent install --strict writes it:
  {"hooks": {"PermissionRequest": [{"hooks": [
    {"type": "command", "command": "/usr/local/bin/assent-hook-strict",
     "args": ["--socket", "/run/assent/hook.sock", "--socket-owner", "assent"], "timeout": 600}]}]}}

Example, by hand:
  echo '{"hook_event_name":"Stop","session_id":"s"}' | ` + StrictName + ` --socket /tmp/assent.sock
`

// EmitUsage is the help text of the emitter called name.
func EmitUsage(name string) string {
	return name + ` tells of one tool call of a coding agent, for RabbitMQ and the ledgers.
An agent runs it as a hook. It reads the hook's JSON on standard input, sends it in an envelope of
one line to a socket, waits for no answer, prints nothing and always exits 0.

usage: ` + name + ` TYPE [TOOL]

  TYPE    pre_tool_use, post_tool_use or post_tool_use_failure
  TOOL    the tool, if the JSON does not say it

The socket is $HOOKD_SOCKET, else hookd.sock in $XDG_RUNTIME_DIR or in /run/user/UID. Without it
nothing happens. With HOOKD_DEBUG=1 the reason is said on standard error. A broker listens there
if it runs with: assent serve --hookd-socket PATH

Example, in the settings of Claude Code:
  {"hooks": {"PostToolUse": [{"matcher": "Write|Edit|MultiEdit", "hooks": [
    {"type": "command", "command": "hookd-emit post_tool_use"}]}]}}

Example, by hand:
  echo '{"tool_name":"Write","tool_input":{"file_path":"/tmp/a"}}' | HOOKD_DEBUG=1 ` + name + ` post_tool_use
`
}
