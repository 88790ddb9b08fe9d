package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// What the linker says of this build: the version, so that both programs say the same, the commit,
// and when that was committed. A time of building would make no two builds alike.
var built, commit, date string

// aboutGroup are the commands that work with nothing but the program itself.
const aboutGroup = "About assent:"

// buildInfo is what assent version tells.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // empty if nobody told the builder
	Date     string `json:"date,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the tree was not that of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit and date",
		Long: `Print the version of this program. The date is the date of the commit, so that the same source
always gives the same program. assent doctor prints the version of the running broker.`,
		Example: "  assent version\n  assent version --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if a.json {
				return a.printJSON(b)
			}
			fmt.Fprintf(a.out, "assent %s\n", b.Version)
			line := func(name, value string) {
				if value != "" {
					fmt.Fprintf(a.out, "%-9s %s\n", name, value)
				}
			}
			line("commit", b.Commit)
			line("date", b.Date)
			if b.Modified {
				line("modified", "yes, since that commit")
			}
			line("go", b.Go)
			line("platform", b.Platform)
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "as one line of JSON")
	return c
}

// thisBuild is what the linker was told, else what the go command wrote into the program.
func thisBuild() buildInfo {
	b := buildInfo{Version: built, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if b.Commit == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Date = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	if b.Version != "" {
		return b
	}
	b.Version = "devel"
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	} else if len(b.Commit) >= 12 {
		b.Version += "-" + b.Commit[:12]
	}
	return b
}

func version() string { return thisBuild().Version }
