package importer

import "path/filepath"

// SettingsOf is the directory in which an agent of this user keeps its settings, and what of it is imported.
// claude is Claude Code's directory where that is set.
func SettingsOf(agent, home, claude string, env func(string) string) (dir, path string) {
	of := func(variable, name string) string {
		if dir := env(variable); variable != "" && dir != "" {
			return dir
		}
		return filepath.Join(home, name)
	}
	switch agent {
	case FromCodex:
		dir = of("CODEX_HOME", ".codex")
		return dir, filepath.Join(dir, "rules")
	case FromGemini:
		dir = of("", ".gemini")
		return dir, filepath.Join(dir, "policies")
	case FromQwen:
		dir = of("QWEN_HOME", ".qwen")
		return dir, filepath.Join(dir, "settings.json")
	case FromCopilot:
		dir = of("COPILOT_HOME", ".copilot")
		return dir, dir
	}
	if dir = claude; dir == "" {
		dir = of("", ".claude")
	}
	return dir, filepath.Join(dir, "settings.json")
}
