package executor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// notInSlug are the characters of a path that the client replaces in the name of a project's directory.
var notInSlug = regexp.MustCompile(`[^A-Za-z0-9]`)

// Bounds of what is looked at where the client keeps its sessions: whatever works there can write to it, too.
const (
	maxProjects   = 20_000    // directories
	maxTranscript = 512 << 20 // bytes of a session's file
)

// transcripts are the files in which the client keeps this session; none: it does not know it. project
// limits them to sessions that were begun there; empty: wherever.
func transcripts(home, project, session string) (found []string, err error) {
	root := filepath.Join(home, ".claude", "projects")
	dirs := []string{notInSlug.ReplaceAllString(project, "-")}
	if project == "" {
		if dirs, err = names(root, maxProjects); err != nil {
			return nil, fmt.Errorf("the client's sessions cannot be seen: %w", err)
		}
	}
	for _, dir := range dirs {
		path := filepath.Join(root, dir, session+".jsonl")
		if _, err := os.Lstat(path); err == nil {
			found = append(found, path)
		}
	}
	return found, nil
}

var errMany = errors.New("more stands in the directory than is looked at; remove what nobody needs")

// names are those in a directory, none where there is none. More than most are errMany.
func names(dir string, most int) ([]string, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0) // what else stands there is not waited for
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.Readdirnames(most + 1)
	switch {
	case len(all) > most:
		return nil, fmt.Errorf("%s: %w", dir, errMany)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return all, nil
}

// arrived says whether the prompt stands in the session's transcript; known is false where that cannot be
// seen. A session that was never begun has none.
func (s *session) arrived(id string) (arrived, known bool) {
	s.h.unlocked(func() { arrived, known = inTranscript(s.h.cfg.Home, s.meta.Session, id) })
	return arrived, known
}

func inTranscript(home, session, id string) (arrived, known bool) {
	paths, err := transcripts(home, "", session)
	if err != nil {
		return false, false
	}
	left := int64(maxTranscript) // of all, so that many of them are not read for longer
	for _, path := range paths {
		f, err := openRegular(path, os.O_RDONLY) // what never ends, as a pipe that an agent made, would stop all
		if err != nil {
			return false, false
		}
		r := &io.LimitedReader{R: f, N: left + 1}
		found := false
		if fi, statErr := f.Stat(); statErr != nil || fi.Size() > left {
			err = errDamaged
		} else {
			found, err = contains(r, []byte(id))
		}
		f.Close()
		if left = r.N - 1; err != nil || left < 0 && !found {
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
