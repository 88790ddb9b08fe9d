package importer

import "testing"

func TestSettingsOf(t *testing.T) {
	for _, c := range []struct {
		agent, claude string
		env           map[string]string
		dir, path     string
	}{
		{FromClaude, "", nil, "/home/dev/.claude", "/home/dev/.claude/settings.json"},
		{FromClaude, "/other", nil, "/other", "/other/settings.json"},
		{FromCodex, "/other", nil, "/home/dev/.codex", "/home/dev/.codex/rules"},
		{FromCodex, "", map[string]string{"CODEX_HOME": "/c"}, "/c", "/c/rules"},
		{FromGemini, "", nil, "/home/dev/.gemini", "/home/dev/.gemini/policies"},
		{FromQwen, "", map[string]string{"QWEN_HOME": "/q"}, "/q", "/q/settings.json"},
		{FromCopilot, "", nil, "/home/dev/.copilot", "/home/dev/.copilot"},
		{FromCopilot, "", map[string]string{"COPILOT_HOME": "/p"}, "/p", "/p"},
	} {
		dir, path := SettingsOf(c.agent, "/home/dev", c.claude, func(name string) string { return c.env[name] })
		if dir != c.dir || path != c.path {
			t.Errorf("%s: %s, %s, want %s, %s", c.agent, dir, path, c.dir, c.path)
		}
	}
}
