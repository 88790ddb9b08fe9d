// Package tools is the table of those of Codex's tools that are not Claude Code's. Data only.
package tools

import (
	"assent/internal/agent/tool"
	"assent/internal/text/show"
)

// Patch changes many files by one patch, see package patch.
const Patch = "apply_patch"

var table = tool.NewTable([]tool.Tool{
	{
		// Path is the member in which an edit of one of the files is told to rules.
		Name: Patch, Kind: tool.Patch, Title: "command", Path: []string{"file_path"},
		Members: []tool.Member{{Name: "command", Kind: show.KindCode}},
	},
})

// Of returns what is known of a tool, by its exact name.
func Of(name string) tool.Tool { return table.Of(name) }
