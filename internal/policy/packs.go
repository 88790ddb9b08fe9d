package policy

import "embed"

// packFiles holds the packs that come with assent: packs/NAME@V.yaml is used as builtin/NAME@V.
//
//go:embed packs/*.yaml
var packFiles embed.FS
