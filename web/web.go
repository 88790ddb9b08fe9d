// Package web embeds the approver's page. web/dist is built by `npm run build` from web/src
// and committed, so that building assent needs only Go.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var files embed.FS

// Assets returns the page's files: index.html, app.js, app.css, later.css, icon.svg.
func Assets() fs.FS {
	sub, err := fs.Sub(files, "dist")
	if err != nil {
		panic(err) // dist is a valid path, the only thing fs.Sub checks
	}
	return sub
}
