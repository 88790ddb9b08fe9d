// Package backup verifies the record in a state directory in which no broker works, such as an unpacked backup.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assent/internal/audit"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
	"assent/internal/text/show"
)

// Verify verifies the record of a state directory as an export of its broker would be. It works on a copy, so the backup stays as
// it is.
func Verify(ctx context.Context, dir string, opts audit.VerifyOptions) (rep audit.Report, err error) {
	tmp, err := os.MkdirTemp("", "assent-verify-*")
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	var locked *stream.LockedError
	err = stream.CopyRecord(dir, tmp)
	switch {
	case errors.As(err, &locked):
		return rep, fmt.Errorf("a broker works in %s: there, verify what assent audit export writes", dir)
	case err != nil:
		return rep, err
	}
	key, err := os.ReadFile(filepath.Join(dir, tree.KeyFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return rep, fmt.Errorf("%s has no %s: its record was kept without a tree, so nothing can be proved", dir, tree.KeyFile)
	case err != nil:
		return rep, err
	}
	if err := os.WriteFile(filepath.Join(tmp, tree.KeyFile), key, 0o600); err != nil {
		return rep, err
	}
	return verifyCopy(ctx, tmp, opts)
}

// verifyCopy is Verify of a directory that may be written to.
func verifyCopy(ctx context.Context, dir string, opts audit.VerifyOptions) (rep audit.Report, err error) {
	streams, err := stream.Open(ctx, stream.Config{Dir: dir})
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, streams.Close()) }()
	if damage := streams.Damage(); damage != nil {
		return rep, fmt.Errorf("the record is damaged: %s", show.Readable(damage.Error()))
	}
	key, err := tree.LoadKey(dir)
	if err != nil {
		return rep, err
	}
	l, err := tree.Open(ctx, tree.Config{Store: streams, Key: key, Decode: stream.DecodeEntry})
	if err != nil {
		return rep, err
	}
	if err := l.Stopped(); err != nil {
		return rep, errors.New(show.Line(err.Error()))
	}
	follow, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- l.Run(follow) }()
	defer func() {
		stop()
		err = errors.Join(err, <-followed)
	}()
	opts.Read = time.Now()
	from, to := io.Pipe()
	exported := make(chan struct{})
	go func() {
		defer close(exported)
		_ = to.CloseWithError(l.Export(ctx, time.Time{}, tree.NewLineWriter(to)))
	}()
	rep, err = audit.VerifyLines(from, opts)
	_ = from.Close() // so that the export ends, before what it reads is closed
	<-exported
	return rep, err
}
