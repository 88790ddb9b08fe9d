package policy

import "strings"

// Some files are no code of the project's, and still decide what runs there and what an agent does: its
// instructions, the settings of editors and their tasks, hooks, what a shell reads when it starts. Who allows
// changes of a whole directory hardly means them. Claude Code, too, asks about some whatever is allowed.

// obeyedNames are names of such files, and of directories with such files, in lower case.
var obeyedNames = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`
		claude.md claude.local.md agents.md agents.override.md agent.md gemini.md qwen.md copilot-instructions.md
		.cursorrules .windsurfrules .clinerules .roorules .goosehints .rules .crush.json crush.json
		.cursor .windsurf .kiro .amp .roo .continue .augment .trae .agents .claude-plugin
		.vscode .idea .zed .fleet .devcontainer .devcontainer.json
		.husky .githooks .gitmodules .ripgreprc .envrc .mise.toml mise.toml .mise .tool-versions .pre-commit-config.yaml .pre-commit-config.yml
		lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook .lefthook.yml lefthook-local.yml .lefthook-local.yml .cargo .bazelrc user.bazelrc .watchmanconfig
		.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .xprofile
		.vimrc .gvimrc .exrc nvim .nvimrc .nvim.lua .lvimrc .dir-locals.el .dir-locals-2.el .editrc .screenrc .tmux.conf .inputrc .gdbinit .lldbinit .irbrc .pryrc`) {
		obeyedNames[name] = true
	}
}

// obeyed is the name for which a file at a path is obeyed, "" for others.
func obeyed(at resolvedPath) string {
	for _, p := range append([]string{at.spelled}, at.real...) {
		for part := range strings.SplitSeq(sameFile(p), "/") {
			if obeyedNames[part] || strings.HasSuffix(part, ".code-workspace") {
				return part
			}
		}
	}
	return ""
}

// names says whether a rule's patterns have a name in full.
func (m *fileMatch) names(name string) bool {
	for _, p := range m.paths {
		for part := range strings.SplitSeq(p.src, "/") {
			if fold(part) == name {
				return true
			}
		}
	}
	return false
}

// obeyedFault is why a rule does not allow a change.
func obeyedFault(at resolvedPath) fault {
	return fault{"file", quote(at.spelled) + " is what an agent, an editor or a shell obeys: only a rule that names " + quote(obeyed(at)) + " allows a change"}
}
