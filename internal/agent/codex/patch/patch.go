// Package patch reads the patches of Codex's tool apply_patch: one call, many files.
//
// The grammar was read off what Codex 0.169.0 takes. What it may take beside that is not guessed:
// File.Sure and Patch.Whole say what is certain, and a rule allows nothing else.
package patch

import "strings"

// Op is what is done to a file.
type Op string

// The operations.
const (
	Add    Op = "add"
	Update Op = "update"
	Delete Op = "delete"
	Move   Op = "move" // the file before gets this path
)

// File is one path of a patch.
type File struct {
	Op   Op
	Path string
	// Sure is false where the line may be content: it is indented.
	Sure bool
}

// Patch is what a text says.
type Patch struct {
	Files []File
	// Whole says that the text begins and ends as a patch does and that every line in it is one of the
	// patch's, so that Files are all the files that it touches.
	Whole bool
}

// MaxFiles bounds the files of one patch; of one with more, Whole is false.
const MaxFiles = 200

const (
	begin = "*** Begin Patch"
	end   = "*** End Patch"
	eof   = "*** End of File"
)

var headers = []struct { // read-only
	text string
	op   Op
}{{"*** Add File: ", Add}, {"*** Update File: ", Update}, {"*** Delete File: ", Delete}, {"*** Move to: ", Move}}

// Read reads a patch. It takes any text.
func Read(text string) Patch {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	p := Patch{Whole: len(lines) > 2 && lines[0] == begin && lines[len(lines)-1] == end}
	var in Op // of the file whose lines follow; empty before the first
	for i, l := range lines {
		if i == 0 && l == begin || i == len(lines)-1 && l == end {
			continue
		}
		if f, ok := header(l); ok {
			if len(p.Files) == MaxFiles {
				p.Whole = false
				return p
			}
			p.Files = append(p.Files, f)
			switch {
			case !f.Sure:
				// In an update it is a line of the file as well as may be; elsewhere it has no business.
				p.Whole = p.Whole && in == Update
			case f.Op == Move:
				p.Whole = p.Whole && in == Update
			default:
				in = f.Op
			}
			continue
		}
		if !content(in, l) {
			p.Whole = false
		}
	}
	p.Whole = p.Whole && len(p.Files) > 0
	return p
}

// header reads a line that names a file. Codex takes the white space off around it.
func header(line string) (File, bool) {
	trimmed := strings.TrimSpace(line)
	for _, h := range headers {
		if path, ok := strings.CutPrefix(trimmed, h.text); ok {
			return File{Op: h.op, Path: strings.TrimSpace(path), Sure: line[0] == '*'}, true
		}
	}
	return File{}, false
}

// content says whether a line may stand below the header of a file.
func content(in Op, line string) bool {
	switch in {
	case Add:
		return strings.HasPrefix(line, "+")
	case Update:
		return line == "" || line == eof || strings.HasPrefix(line, "@@") || strings.IndexByte("+- \r", line[0]) >= 0
	}
	return false
}
