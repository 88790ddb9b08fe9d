package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

// What is rendered for a release. The digests of the archives stand in both, so that where these
// come from is all there is to trust.
var (
	//go:embed install.sh
	installScript string
	//go:embed assent.rb
	formula string
)

// render fills a template in.
func render(text string, o options, archives []archive) ([]byte, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Version": o.version, "Commit": o.commit, "URL": strings.TrimSuffix(o.url, "/"), "Homepage": o.homepage, "Archives": archives,
		"Systems": map[string]string{"darwin": "on_macos", "linux": "on_linux"},
		"Of": func(os string) (some []archive) {
			for _, a := range archives {
				if a.OS == os {
					some = append(some, a)
				}
			}
			return some
		},
	})
	if err != nil {
		return nil, fmt.Errorf("fill in: %w", err)
	}
	return b.Bytes(), nil
}
