package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is which assent is released.
type source struct {
	version string // semantic, without a v
	commit  string
	date    string // of the commit, RFC 3339 in UTC
}

// semver is what versions look like; packages and shells get nothing else to read.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

// resolve fills in what no flag said: from git, of a tree without changes.
func (s *source) resolve(ctx context.Context, root string) error {
	if s.date == "" {
		s.date = os.Getenv("SOURCE_DATE_EPOCH")
	}
	git := func(args ...string) (string, error) {
		c := exec.CommandContext(ctx, "git", args...)
		c.Dir = root
		out, err := c.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w; where there is no repository, say -version, -commit and -date", args[0], err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	if s.version == "" || s.commit == "" || s.date == "" {
		changes, err := git("status", "--porcelain")
		if err != nil {
			return err
		}
		if changes != "" {
			return fmt.Errorf("the tree differs from its commit, and a release would lie about where it is from; commit or stash first:\n%s", changes)
		}
		if s.commit == "" {
			if s.commit, err = git("rev-parse", "HEAD"); err != nil {
				return err
			}
		}
		if s.date == "" {
			if s.date, err = git("log", "-1", "--format=%ct"); err != nil {
				return err
			}
		}
	}
	if !regexp.MustCompile(`^[0-9a-f]{7,64}$`).MatchString(s.commit) {
		return fmt.Errorf("-commit %q is no hash", s.commit)
	}
	t, err := time.Parse(time.RFC3339, s.date)
	if seconds, bad := strconv.ParseInt(s.date, 10, 64); bad == nil {
		t, err = time.Unix(seconds, 0), nil
	}
	if err != nil || t.Unix() < 0 {
		return fmt.Errorf("-date %q is neither RFC 3339 nor seconds", s.date)
	}
	s.date = t.UTC().Format(time.RFC3339)
	if s.version == "" {
		// What has no tag comes before every release, the later commit after the earlier one.
		s.version = "0.0.0-dev." + t.UTC().Format("20060102150405") + ".g" + s.commit[:7]
		if tag, err := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
			s.version = strings.TrimPrefix(tag, "v")
		}
	}
	if !semver.MatchString(s.version) {
		return fmt.Errorf("the version %q is not like 1.2.3 or 1.2.3-rc.1", s.version)
	}
	return nil
}

func (s source) when() time.Time {
	t, _ := time.Parse(time.RFC3339, s.date) // resolve wrote it
	return t
}

// noted holds a release, as opposed to what comes before one, against the changelog.
func noted(root, version string) error {
	if strings.Contains(version, "-") {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version) + `(\s|$)`).Match(text) {
		return errors.New("CHANGELOG.md has no heading \"## " + version + "\": say first what is new")
	}
	return nil
}
