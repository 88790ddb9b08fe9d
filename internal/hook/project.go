package hook

import "strings"

// OwnTrees is where in a project the work trees lie that Claude Code makes, or a host of assent's.
const OwnTrees = "/.claude/worktrees/"

// ProjectDir is the directory of the project that dir belongs to: what works in a work tree of its own, under a name that nobody
// chose, is called by the project. It is dir itself for all others.
func ProjectDir(dir string) string {
	if project, _, within := strings.Cut(dir, OwnTrees); within && project != "" {
		return project
	}
	return dir
}

// ProjectName is what people call the project that dir belongs to: the last element of its path, "" where there is none.
func ProjectName(dir string) string {
	dir = strings.TrimRight(ProjectDir(dir), "/")
	return dir[strings.LastIndexByte(dir, '/')+1:]
}
