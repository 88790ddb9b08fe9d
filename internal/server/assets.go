package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// asset is one file of the page, in memory since the start.
type asset struct {
	body        []byte
	gzip        func() []byte // of the first call on in memory; nil where it saves nothing
	contentType string
	etag        string
	immutable   bool
}

// hashed matches names that esbuild gave the digest of their content: app-5J2ZQ4XK.js. Only
// they may be kept for good.
var hashed = regexp.MustCompile(`-[0-9A-Z]{8}\.[a-z0-9]+$`)

// loadAssets reads the page. Paths are looked up in a map, so none can lead elsewhere.
func loadAssets(page fs.FS) (map[string]asset, error) {
	assets := map[string]asset{}
	if page == nil {
		return assets, nil
	}
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kind := contentType(name)
		if kind == "" {
			return nil // .gitkeep, source maps, …
		}
		body, err := fs.ReadFile(page, name)
		if err != nil {
			return err
		}
		a := newAsset(body, kind)
		a.immutable = hashed.MatchString(name)
		assets["/"+name] = a
		if name == "index.html" {
			assets["/"] = a
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	return assets, nil
}

func newAsset(body []byte, kind string) asset {
	sum := sha256.Sum256(body)
	return asset{
		body: body, gzip: sync.OnceValue(func() []byte { return compressed(body, kind) }),
		contentType: kind, etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
	}
}

// compressed is text as phones on slow lines want it; nil where that saves nothing. Nothing secret is ever in it.
func compressed(body []byte, kind string) []byte {
	if kind == "image/png" || kind == "image/x-icon" {
		return nil
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}

// takesGzip reads Accept-Encoding as browsers write it; a client that refuses gzip by a weight of 0
// gets the plain text.
func takesGzip(r *http.Request) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		if name, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";"); strings.EqualFold(name, "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
			return weight == "" || err == nil && q > 0
		}
	}
	return false
}

// contentType maps the endings that are served to their types; the machine's own tables must not change it.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".webmanifest":
		return "application/manifest+json"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return ""
}

func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	s.sendAsset(w, r, s.assets[r.URL.Path])
}

func (s *Server) sendAsset(w http.ResponseWriter, r *http.Request, a asset) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("ETag", a.etag)
	body := a.body
	if gz := a.gzip(); gz != nil {
		h.Add("Vary", "Accept-Encoding")
		if takesGzip(r) {
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", strings.TrimSuffix(a.etag, `"`)+`-gzip"`)
			body = gz
		}
	}
	if a.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
