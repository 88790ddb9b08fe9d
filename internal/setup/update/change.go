package update

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Change is what became of an installation, or would.
type Change struct {
	Found    string // the version that lies there, or that was kept
	Newer    bool   // it comes after the one that was there
	Replaced bool   // the programs are of it now
	// Unshared says why pages and docs stay as they were; nil: they do not.
	Unshared error
}

// Update replaces the programs, which are of version current, by those of the release at s: of the version to, or, where that
// is empty, of whichever lies there if it is none older. With check it only says what lies there.
func (in Installation) Update(ctx context.Context, s Source, current, to string, check bool) (Change, error) {
	release, err := s.Find(ctx, to)
	switch {
	case errors.Is(err, ErrNoKey):
		return Change{}, fmt.Errorf("%w; install it again from where you got it, or build it from a newer source", err)
	case err != nil:
		return Change{}, fmt.Errorf("find the newest release: %w", err)
	case check, release.Version == current:
		return Change{Found: release.Version, Newer: Newer(release.Version, current)}, nil
	case to == "" && Newer(current, release.Version):
		return Change{}, fmt.Errorf("%w: there lies %s, and this is %s; to go there all the same: assent update --to %[2]s", ErrOlder, release.Version, current)
	}
	return in.take(ctx, current, func(dir string) (Staged, error) { return s.Fetch(ctx, release, dir) })
}

// GoBack replaces the programs, which are of version current, by those from before the last update.
func (in Installation) GoBack(ctx context.Context, current string) (Change, error) {
	return in.take(ctx, current, in.Back)
}

// take replaces the programs by what stage puts into a directory.
func (in Installation) take(ctx context.Context, current string, stage func(dir string) (Staged, error)) (c Change, err error) {
	dir, err := in.Stage()
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	staged, err := stage(dir)
	if err != nil {
		return c, err
	}
	if err := staged.Try(ctx); err != nil {
		return c, err
	}
	if err := in.Replace(staged, current); err != nil {
		return c, err
	}
	return Change{Found: staged.Version, Newer: Newer(staged.Version, current), Replaced: true, Unshared: in.Share(staged)}, nil
}
