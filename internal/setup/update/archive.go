package update

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"assent/internal/setup/programs"
)

// What an archive may become, at most.
const (
	maxUnpacked = 512 << 20
	maxFiles    = 4096
)

// Staged are the files of a release, checked and unpacked into a directory.
type Staged struct {
	Version string
	Dir     string   // bin and share stand in it
	share   []string // the files of share, from Dir, such as share/man/man1/assent.1
}

// Fetch downloads a release that Find returned, checks it, and unpacks it into dir, which is empty.
func (s Source) Fetch(ctx context.Context, r Release, dir string) (Staged, error) {
	name := filepath.Join(dir, "archive")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Staged{}, err
	}
	defer os.Remove(name)
	defer f.Close()
	sum := sha256.New()
	if _, err := copyFrom(ctx, r.at+"/"+r.dir+".tar.gz", io.MultiWriter(f, sum), maxArchive, s.Progress); err != nil {
		return Staged{}, fmt.Errorf("fetch assent %s: %w", r.Version, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != r.sha256 {
		return Staged{}, fmt.Errorf("%w: the archive's checksum is %s, and %s was signed", ErrUntrusted, got, r.sha256)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Staged{}, err
	}
	staged := Staged{Version: r.Version, Dir: dir}
	if staged.share, err = unpack(f, r.dir+"/", dir); err != nil {
		return Staged{}, fmt.Errorf("unpack assent %s: %w", r.Version, err)
	}
	return staged, nil
}

// unpack puts bin and share of an archive below dir and returns the files of share. It makes plain files
// only, of names that lead nowhere else.
func unpack(from io.Reader, below, dir string) (share []string, err error) {
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	t, files, left, found := tar.NewReader(z), 0, int64(maxUnpacked), 0
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if files++; files > maxFiles {
			return nil, errors.New("it has too many files")
		}
		name, ok := strings.CutPrefix(h.Name, below)
		program, isProgram := strings.CutPrefix(name, "bin/")
		isProgram = isProgram && isOne(program)
		switch {
		case !ok, h.Typeflag != tar.TypeReg: // directories are made where they are needed; links have a list
			continue
		case !filepath.IsLocal(name), path.Clean(name) != name, strings.ContainsAny(name, "\n\\"):
			return nil, fmt.Errorf("it has a file %q", name)
		case isProgram:
			found++
		case strings.HasPrefix(name, "share/"):
			share = append(share, name)
		default:
			continue
		}
		if left -= h.Size; left < 0 {
			return nil, errors.New("it is too large")
		}
		mode := os.FileMode(0o644)
		if isProgram {
			mode = 0o755
		}
		if err := putFile(filepath.Join(dir, filepath.FromSlash(name)), io.LimitReader(t, h.Size), mode); err != nil {
			return nil, err
		}
	}
	if found != len(programs.Names) {
		return nil, fmt.Errorf("it has %d of the programs", found)
	}
	return share, nil
}

func isOne(name string) bool {
	for _, n := range programs.Names {
		if n == name {
			return true
		}
	}
	return false
}

// putFile writes a file that is not there yet, durable.
func putFile(name string, from io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
