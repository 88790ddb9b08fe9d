package policy

import "assent/internal/policy/shell"

// inEach calls look once for each directory in which the unit may run, with the unit as if it
// certainly ran there, until look returns false. A unit whose directory is certain, or anyone's
// guess, is looked at as it is.
func inEach(u *shell.Unit, look func() bool) {
	if len(u.Dirs) == 0 {
		look()
		return
	}
	dir, dirs, known := u.Dir, u.Dirs, u.DirKnown
	defer func() { u.Dir, u.Dirs, u.DirKnown = dir, dirs, known }()
	u.Dirs, u.DirKnown = nil, true
	for _, u.Dir = range dirs {
		if !look() {
			return
		}
	}
}
