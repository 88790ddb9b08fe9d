package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// launcherScript is what the main npm package runs.
//
//go:embed npm/launcher.js
var launcherScript string

// npmName is a name that npm takes, with or without a scope.
var npmName = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)

// npmCPU is what Node calls a processor.
var npmCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}

// npmManifest is a package.json.
type npmManifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Homepage             string            `json:"homepage,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // a program inside of a zip does not run
	Engines              map[string]string `json:"engines,omitempty"`
	Files                []string          `json:"files"`
}

// npmPlatform is the package with the programs for one platform, which npm installs nowhere else.
func (o options) npmPlatform(a *archive, files []file) (name string, data []byte, err error) {
	cpu := npmCPU[a.Arch]
	if cpu == "" {
		return "", nil, fmt.Errorf("npm has no name for %s", a.Arch)
	}
	a.NPM = fmt.Sprintf("%s-%s-%s", o.npm, a.OS, cpu)
	m := o.npmManifest(a.NPM, fmt.Sprintf("The programs of assent for %s on %s", a.OS, cpu))
	m.OS, m.CPU, m.PreferUnplugged, m.Files = []string{a.OS}, []string{cpu}, true, []string{"bin"}
	contents := []file{{Path: "README.md", Data: []byte("# " + a.NPM + "\n\nThe programs of assent for " + a.OS + " on " + cpu + ". Install " + o.npm + ", which brings this where it is wanted.\n")}}
	for _, f := range files {
		switch {
		case strings.HasPrefix(f.Path, "bin/") && f.Link == "": // npm takes no links
			contents = append(contents, f)
		case f.Path == "share/doc/assent/LICENSE", f.Path == "share/doc/assent/THIRD-PARTY-LICENSES.txt":
			f.Path = strings.TrimPrefix(f.Path, "share/doc/assent/")
			contents = append(contents, f)
		}
	}
	data, err = o.npmPack(m, contents)
	return fmt.Sprintf("assent_%s_npm_%s_%s.tgz", o.version, a.OS, cpu), data, err
}

// npmMain is the package that people name: a launcher, and a wish for the one of each platform.
func (o options) npmMain(archives []archive, files []file) (name string, data []byte, err error) {
	m := o.npmManifest(o.npm, "Blocking permission broker for coding agents")
	m.Bin, m.OptionalDependencies, m.Engines = map[string]string{"assent": "bin/assent.js"}, map[string]string{}, map[string]string{"node": ">=18"}
	m.Files = []string{"bin"}
	packages := map[string]string{}
	for _, a := range archives {
		m.OptionalDependencies[a.NPM] = o.version
		packages[a.OS+" "+npmCPU[a.Arch]] = a.NPM
	}
	table, err := json.Marshal(packages) // sorted
	if err != nil {
		return "", nil, err
	}
	contents := []file{{Path: "bin/assent.js", Data: []byte(strings.Replace(launcherScript, "PACKAGES", string(table), 1)), Run: true}}
	for _, f := range files {
		switch f.Path {
		case "share/doc/assent/LICENSE", "share/doc/assent/README.md":
			f.Path = strings.TrimPrefix(f.Path, "share/doc/assent/")
			contents = append(contents, f)
		}
	}
	data, err = o.npmPack(m, contents)
	return fmt.Sprintf("assent_%s_npm.tgz", o.version), data, err
}

func (o options) npmManifest(name, description string) npmManifest {
	return npmManifest{Name: name, Version: o.version, Description: description, License: "Apache-2.0", Homepage: o.homepage}
}

// npmPack is a package as npm pack makes it, but the same each time.
func (o options) npmPack(m npmManifest, files []file) ([]byte, error) {
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return tarGz("package/", append(files, file{Path: "package.json", Data: append(manifest, '\n')}), o.when())
}
