package ci

import "fmt"

// unheld are agents that a run cannot hold, and why: as their programs were measured. To run one all the same would
// be a report of rules that nobody kept.
var unheld = []struct{ title, pkg, program, why string }{ // read-only
	{"Gemini CLI", "@google/gemini-cli", "gemini", "its hook can deny a call, not allow one, and a call whose hook fails or is late runs"},
	{"Qwen Code", "@qwen-code/qwen-code", "qwen", "without a terminal it refuses commands by itself and asks no hook, and with --yolo it asks nobody"},
	{"OpenCode", "opencode-ai", "opencode", "without a terminal it refuses at once whatever it would ask"},
	{"Kilo", "@kilocode/cli", "kilo", "without a terminal it refuses at once whatever it would ask"},
	{"Kimi Code", "@moonshot-ai/kimi-code", "kimi", "without a terminal it asks nobody, and a call whose hook fails or is late runs"},
	{"Goose", "@aaif/goose", "goose", "what its hooks answer stops nothing"},
	{"Droid", "droid", "droid", "its hooks stand in its user's settings alone, and a run changes nobody's settings (assent install droid has it ask)"},
	{"Cline", "cline", "cline", "a denial ends its whole run, and a call whose hook fails or is late runs"},
}

// cannotBeHeld refuses a word that calls one of them.
func cannotBeHeld(word string) error {
	for _, u := range unheld {
		if names(word, u.pkg, u.program) {
			return fmt.Errorf("%s cannot be run under rules: %s. Run claude -p, codex exec --approve-for-me or copilot -p", u.title, u.why)
		}
	}
	return nil
}
