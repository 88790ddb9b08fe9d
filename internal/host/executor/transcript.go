package executor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// notInSlug are the characters of a path that the client replaces in the name of a project's directory.
var notInSlug = regexp.MustCompile(`[^A-Za-z0-9]`)

// transcripts are the files in which the client keeps this session; none: it does not know it. project
// limits them to sessions that were begun there; empty: wherever.
func transcripts(home, project, session string) []string {
	dir := "*"
	if project != "" {
		dir = notInSlug.ReplaceAllString(project, "-")
	}
	found, err := filepath.Glob(filepath.Join(home, ".claude", "projects", dir, session+".jsonl"))
	if err != nil {
		return nil
	}
	return found
}

// arrived says whether the prompt stands in the session's transcript; known is false where that cannot be
// seen. A session that was never begun has none.
func (s *session) arrived(id string) (arrived, known bool) {
	for _, path := range transcripts(s.h.cfg.Home, "", s.meta.Session) {
		f, err := openRegular(path, os.O_RDONLY) // what never ends, as a pipe that an agent made, would stop all
		if err != nil {
			return false, false
		}
		found, err := contains(f, []byte(id))
		f.Close()
		if err != nil {
			return false, false
		}
		if found {
			return true, true
		}
	}
	return false, true
}

// contains looks for a text in what r brings.
func contains(r io.Reader, want []byte) (bool, error) {
	buf := make([]byte, 0, 256<<10)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if bytes.Contains(buf, want) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if keep := len(want) - 1; len(buf) > keep {
			buf = buf[:copy(buf, buf[len(buf)-keep:])]
		}
	}
}
