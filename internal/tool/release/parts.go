package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// licenses are the texts of what is in the programs and not in a Go module: Go itself, and what
// the page is bundled with.
//
//go:embed licenses/*.txt
var licenses embed.FS

// pageParts are the npm packages in web/dist, with their licenses. A test holds the page's imports
// against them.
var pageParts = map[string]string{
	"@preact/signals": "MIT", "@preact/signals-core": "MIT", "diff": "BSD-3-Clause", "marked": "MIT", "preact": "MIT", "uplot": "MIT",
}

// parts is what a platform's programs are made of.
type parts struct {
	platform string
	goes     string // the version of Go
	modules  []*debug.Module
	texts    map[string][]string // licenses by module path
	page     map[string]string   // npm packages, by name: the version
}

// programs are what a release is about.
var programs = []string{"assent", "assent-hook", "assent-hook-strict", "assent-contain"}

// partsOf asks the built programs what is in them, and the go command where its license is.
func partsOf(ctx context.Context, root, bin, goos, arch string) (*parts, error) {
	p := &parts{platform: goos + "/" + arch, texts: map[string][]string{}, page: map[string]string{}}
	seen := map[string]bool{}
	for _, name := range programs {
		info, err := buildinfo.ReadFile(filepath.Join(bin, name))
		if err != nil {
			return nil, err
		}
		p.goes = info.GoVersion
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if !seen[m.Path] {
				seen[m.Path] = true
				p.modules = append(p.modules, m)
			}
		}
	}
	slices.SortFunc(p.modules, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	if err := p.findLicenses(ctx, root, goos, arch); err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	text, err := os.ReadFile(filepath.Join(root, "web", "package-lock.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("web/package-lock.json: %w", err)
	}
	for name := range pageParts {
		if p.page[name] = lock.Packages["node_modules/"+name].Version; p.page[name] == "" {
			return nil, fmt.Errorf("web/package-lock.json does not lock %s", name)
		}
	}
	return p, nil
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|copyright|notice|patents)([.-].*)?$`)

// findLicenses reads the licenses beside the packages that were built in, and above them up to the
// root of their module.
func (p *parts) findLicenses(ctx context.Context, root, goos, arch string) error {
	c := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}\t{{.Dir}}", "./cmd/assent", "./cmd/assent-hook", "./cmd/assent-hook-strict", "./cmd/assent-contain")
	c.Dir, c.Env, c.Stderr = root, buildEnv(goos, arch), os.Stderr
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	read := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			continue // of Go itself
		}
		for dir := f[2]; !read[dir] && strings.HasPrefix(dir, f[1]); dir = filepath.Dir(dir) {
			read[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if !licenseFile.MatchString(e.Name()) || !e.Type().IsRegular() || strings.HasSuffix(e.Name(), ".go") {
					continue
				}
				text, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					return err
				}
				if !slices.Contains(p.texts[f[0]], string(text)) {
					p.texts[f[0]] = append(p.texts[f[0]], string(text))
				}
			}
		}
	}
	for _, m := range p.modules {
		if len(p.texts[m.Path]) == 0 {
			return fmt.Errorf("module %s has no license: it may not be given to people", m.Path)
		}
		slices.Sort(p.texts[m.Path])
	}
	return nil
}

// notices are the licenses of everything in the programs, which most of them want to go along.
func (p *parts) notices() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("assent stands under the Apache License 2.0, see LICENSE. Its programs contain the following.\n")
	add := func(name, text string) {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), name, strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")))
	}
	own := func(name, file string) error {
		text, err := licenses.ReadFile("licenses/" + file + ".txt")
		add(name, string(text))
		return err
	}
	if err := own("The Go standard library, "+p.goes, "go"); err != nil {
		return nil, err
	}
	for _, m := range p.modules {
		add(m.Path+" "+m.Version, strings.Join(p.texts[m.Path], "\n"+strings.Repeat("-", 80)+"\n"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.page)) {
		if err := own(name+" "+p.page[name]+" (in the page)", npmFile(name)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func npmFile(name string) string {
	return "npm-" + strings.NewReplacer("@", "", "/", "-").Replace(name)
}

// bill is the bill of materials, in CycloneDX.
func (p *parts) bill(s source) ([]byte, error) {
	b := cdx.NewBOM()
	root := cdx.Component{
		BOMRef: "assent", Type: cdx.ComponentTypeApplication, Name: "assent", Version: s.version,
		Description: "assent, assent-hook, assent-hook-strict and assent-contain for " + p.platform,
		Licenses:    &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Properties:  &[]cdx.Property{{Name: "commit", Value: s.commit}},
	}
	b.Metadata = &cdx.Metadata{Timestamp: s.when().Format(time.RFC3339), Component: &root}
	var all []cdx.Component
	add := func(c cdx.Component) {
		c.BOMRef, c.Type = c.PackageURL, cdx.ComponentTypeLibrary
		all = append(all, c)
	}
	version := strings.TrimPrefix(p.goes, "go")
	add(cdx.Component{Name: "std", Version: version, PackageURL: "pkg:golang/std@" + version, Licenses: &cdx.Licenses{{License: &cdx.License{ID: "BSD-3-Clause"}}}})
	for _, m := range p.modules {
		add(cdx.Component{Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path + "@" + m.Version, Properties: &[]cdx.Property{{Name: "go.sum", Value: m.Sum}}})
	}
	for _, name := range slices.Sorted(maps.Keys(p.page)) {
		add(cdx.Component{Name: name, Version: p.page[name], PackageURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.page[name],
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: pageParts[name]}}}})
	}
	refs := []string{}
	for _, c := range all {
		refs = append(refs, c.BOMRef)
	}
	b.Components, b.Dependencies = &all, &[]cdx.Dependency{{Ref: "assent", Dependencies: &refs}}
	// Instead of a random number one that says what is in it.
	b.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s %s %s %s %q", s.version, s.commit, s.date, p.platform, refs)).URN()
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(b, cdx.SpecVersion1_6)
	return out.Bytes(), err
}
