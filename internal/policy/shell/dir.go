package shell

import (
	"path"
	"slices"
)

// maxDirs bounds how many directories a command may be said to run in; with more it is unknown.
const maxDirs = 6

// workDir is the directory in which commands run, as cd changes it. What its slices hold is never
// changed, so that a copy of it stays as it is.
type workDir struct {
	dir     string // where it is; a guess when it is not known
	known   bool   // it is dir or one of others
	changed bool   // there was a cd
	others  []string

	// After a cd that may have failed: where the script is if the last command did not succeed.
	maybe      bool
	failed     []string
	failedLost bool // anywhere
}

// all are the directories that it may be; nil when it may be any.
func (w *workDir) all() []string {
	if !w.known || w.dir == "" {
		return nil
	}
	return append([]string{w.dir}, w.others...)
}

// certain says that there is only one directory that it may be.
func (w *workDir) certain() bool { return w.known && len(w.others) == 0 }

func (w *workDir) equal(o *workDir) bool {
	return w.dir == o.dir && w.known == o.known && w.changed == o.changed && slices.Equal(w.others, o.others) &&
		w.maybe == o.maybe && w.failedLost == o.failedLost && slices.Equal(w.failed, o.failed)
}

// settle says that whether the last command succeeded is not known.
func (w *workDir) settle() {
	if w.maybe {
		w.mayBe(w.failed, w.failedLost)
	}
	w.succeeds()
}

// succeeds says that what follows runs only if the last command succeeded.
func (w *workDir) succeeds() { w.maybe, w.failed, w.failedLost = false, nil, false }

// fails says that where the last command did not succeed, the directory may also be what it was
// when another did not.
func (w *workDir) fails(was *workDir) {
	if !was.maybe {
		return
	}
	if !w.maybe {
		w.maybe, w.failed, w.failedLost = true, w.all(), !w.known
	}
	w.orFailed(was.failed, was.failedLost)
}

// orFailed adds to where the script is if the last command did not succeed.
func (w *workDir) orFailed(dirs []string, lost bool) {
	if !lost && !w.failedLost {
		w.failed = union(w.failed, dirs)
	}
	if lost || w.failedLost || len(w.failed) > maxDirs {
		w.failed, w.failedLost = nil, true
	}
}

// mayBe adds directories to those that it may be.
func (w *workDir) mayBe(dirs []string, lost bool) {
	all := union(w.all(), dirs)
	if lost || !w.known || w.dir == "" || len(all) > maxDirs {
		w.known, w.others = false, nil
		return
	}
	w.others = all[1:]
}

// lost says that the directory is anyone's guess.
func (w *workDir) lost() {
	w.known, w.changed, w.others = false, true, nil
	w.succeeds()
}

// move follows cd to a directory.
func (w *workDir) move(to string) {
	if len(w.dir)+len(to) > 1024 {
		w.lost()
		return
	}
	was := *w
	w.changed = true
	if path.IsAbs(to) {
		w.dir, w.known, w.others = path.Clean(to), true, nil
	} else {
		if w.dir = path.Join(w.dir, to); !path.IsAbs(w.dir) {
			w.dir = ""
		}
		w.others = nil
		for _, d := range was.others {
			if d = path.Join(d, to); d != w.dir && !slices.Contains(w.others, d) {
				w.others = append(w.others, d)
			}
		}
	}
	if was.known == w.known && was.dir == w.dir && slices.Equal(was.others, w.others) {
		return
	}
	w.maybe = true
	w.failed, w.failedLost = was.failed, was.failedLost
	w.orFailed(was.all(), was.all() == nil)
}

// union returns the elements of both, each once, those of a in front.
func union(a, b []string) []string {
	for _, d := range b {
		if !slices.Contains(a, d) {
			a = append(a[:len(a):len(a)], d)
		}
	}
	return a
}
