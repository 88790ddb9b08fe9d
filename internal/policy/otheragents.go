package policy

// otherAgents are the directories and files in which other coding agents than Claude Code keep their
// settings, hooks and credentials, in the home directory and in projects: with them an agent could decide
// for another, or for itself.
func otherAgents() []string {
	var all []string
	for _, dir := range []string{
		".codex", ".copilot", ".qwen", ".gemini", ".kimi-code", ".factory", ".cline", ".opencode", ".kilo", ".config/opencode", ".config/kilo", ".config/goose",
	} {
		all = append(all, "**/"+dir, "**/"+dir+"/**")
	}
	return append(all, "**/opencode.json*", "**/kilo.json*")
}

// otherAgentSigns are parts of their names, see protection.signs.
var otherAgentSigns = []string{ // read-only
	".codex", ".copilot", ".qwen", ".gemini", ".kimi", ".factory", ".cline", "opencode", "kilo", "config/goose", ".github", "codex_home", "qwen_home", "copilot_home",
}

// agentProgram says whether a program is a coding agent, which could be started without hooks or told
// to change its settings.
func agentProgram(base string) bool {
	switch base {
	case "claude", "codex", "copilot", "qwen", "opencode", "kilo", "kilocode", "gemini", "kimi", "droid", "goose", "cline", "crush", "claude-agent-acp", "codex-acp":
		return true
	}
	return false
}
