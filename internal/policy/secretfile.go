package policy

import "os"

// HoldsSecret says whether a file may hold keys, passwords or tokens, by the list that rules go by: in
// any spelling, and wherever links lead. file is read relative to cwd. What cannot be told may. It looks
// at links, and so may have to wait for the file system.
func HoldsSecret(file, cwd, project, home string) bool {
	e := scope{surroundings: surroundings{cwd: clean(cwd), project: clean(project), home: clean(home), readlink: os.Readlink}}
	if e.project == "" {
		e.project = e.cwd
	}
	at, ok := e.resolvePath(e.cwd, file)
	if !ok || e.isSecret(at, false) {
		return true
	}
	for _, r := range at.real {
		if r == "" {
			return true
		}
	}
	return false
}
