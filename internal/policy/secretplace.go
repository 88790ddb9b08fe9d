package policy

import (
	"slices"
	"strings"
)

// secretPlace is what the list of secrets says about all that lies directly in one directory. The words of
// a command mostly name files of one or two.
type secretPlace struct {
	dir    string // folded; "" is the root
	led    led    // of the surroundings when it was made
	known  bool
	listed bool  // everything below is a secret
	own    bool  // everything below is the project's
	homeAt int   // where in a path from here the part below a home begins; 0: it lies in none
	paths  []int // patterns for paths that some path from here may match, whatever its name
}

// places are those of one project that were looked at last. What is known of one does not depend on what is on the
// disk but by what is compared, so that it holds for later calls, too.
type places struct {
	home, project string
	all           [8]secretPlace
	next          int          // is overwritten
	settings      settingsFact // of the last directory
}

// known is what was kept of places, if it is for this home and project.
func (e *surroundings) known() *places {
	if e.places == nil {
		e.places = &places{}
	}
	if e.places.home != e.home || e.places.project != e.project {
		*e.places = places{home: e.home, project: e.project}
	}
	return e.places
}

// place returns what is known of a folded directory, which is valid until eight others were asked for.
func (e *surroundings) place(dir string) *secretPlace {
	known, led := e.known(), e.led()
	for i := range known.all {
		if p := &known.all[i]; p.known && p.dir == dir && p.led == led {
			return p
		}
	}
	p := &known.all[known.next]
	known.next = (known.next + 1) % len(known.all)
	*p = secretPlace{dir: dir, led: led, known: true, paths: p.paths[:0]}
	l := secrets()
	var few [16]string // most paths have fewer parts
	parts := few[:0]
	for left := strings.TrimPrefix(dir, "/"); dir != ""; {
		part, rest, more := strings.Cut(left, "/")
		if parts, left = append(parts, part), rest; !more {
			break
		}
	}
	p.listed = slices.ContainsFunc(parts, l.directory)
	p.homeAt = e.homeBelow(dir, parts)
	p.own = dir != "" && e.ownProject(dir)
	p.paths = l.pathsBy.appendFor(p.paths, dir+"/", func(i int) string { return l.paths[i].glob.need })
	return p
}

// homeBelow returns where in a path from a folded directory the part below a home begins, 0 where it lies
// in none.
func (e *surroundings) homeBelow(dir string, parts []string) int {
	for _, h := range []string{e.home, e.realHome} {
		switch h = fold(h); {
		case h == "":
		case h == "/":
			return 1
		case dir == h, len(dir) > len(h) && dir[len(h)] == '/' && strings.HasPrefix(dir, h):
			return len(h) + 1
		}
	}
	at := 1
	for i, p := range parts {
		switch at += len(p) + 1; {
		case homesName(p, i) && i+2 <= len(parts):
			return at + len(parts[i+1]) + 1
		case p == "root" && i == 0:
			return at
		}
	}
	return 0
}

// anyPath says whether one of the patterns that a path from here may match does.
func (p *secretPlace) anyPath(at string, match func(int) bool) bool {
	return slices.ContainsFunc(p.paths, match) || secrets().pathsBy.anyGram(at[max(len(p.dir)-1, 0):], match)
}
