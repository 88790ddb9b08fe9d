package server

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// A text of the page goes out compressed to who takes it so, the same to all, and an image as it is.
func TestAssetsAreCompressedWhenFirstAskedFor(t *testing.T) {
	text, image := []byte(strings.Repeat("let a = 1;\n", 1000)), []byte("\x89PNG")
	assets, err := loadAssets(fstest.MapFS{"app.js": {Data: text}, "icon.png": {Data: image}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{assets: assets}
	get := func(path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		s.asset(w, r)
		return w
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			w := get("/app.js", "gzip")
			if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" || w.Body.Len() >= len(text) {
				t.Errorf("%v, %d bytes", w.Header(), w.Body.Len())
				return
			}
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := io.ReadAll(z); err != nil || !bytes.Equal(b, text) {
				t.Errorf("%v, %d bytes unpacked, want %d", err, len(b), len(text))
			}
		})
	}
	wg.Wait()
	plain, packed := get("/app.js", ""), get("/app.js", "gzip")
	if !bytes.Equal(plain.Body.Bytes(), text) || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("ETag") == packed.Header().Get("ETag") {
		t.Errorf("plain: %v, %d bytes; packed: %v", plain.Header(), plain.Body.Len(), packed.Header())
	}
	if w := get("/icon.png", "gzip"); !bytes.Equal(w.Body.Bytes(), image) || len(w.Header().Values("Vary"))+len(w.Header().Values("Content-Encoding")) != 0 {
		t.Errorf("image: %v, %q", w.Header(), w.Body)
	}
}
