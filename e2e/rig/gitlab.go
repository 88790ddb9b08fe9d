package rig

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// gitlabSchemaFrom is a runner for GitLab's pipelines, whose package holds GitLab's schema of them.
const gitlabSchemaFrom = "gitlab-ci-local@4.60.1"

// GitlabSchema is GitLab's JSON schema of .gitlab-ci.yml, fetched once with npm.
var GitlabSchema = sync.OnceValues(func() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	archive := filepath.Join(cache, strings.ReplaceAll(gitlabSchemaFrom, "@", "-")+".tgz")
	f, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		out, perr := exec.Command("npm", "pack", "--silent", "--pack-destination", cache, gitlabSchemaFrom).CombinedOutput()
		if perr != nil {
			return "", fmt.Errorf("npm pack %s: %w\n%s", gitlabSchemaFrom, perr, out)
		}
		f, err = os.Open(archive)
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", archive, err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("%s: no schema: %w", archive, err)
		}
		if h.Name != "package/src/schema/schema.js" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(r, 8<<20))
		if err != nil {
			return "", fmt.Errorf("%s: %w", archive, err)
		}
		_, schema, _ := strings.Cut(string(text), "export const schema =")
		schema, _, _ = strings.Cut(schema, "\n};")
		standard, err := hujson.Standardize([]byte(schema + "\n}")) // it ends lists with commas
		return string(standard), err
	}
})
