package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assent/hookclient"
	"assent/internal/host/contain"
	"assent/internal/text/roff"
)

func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages into a directory",
		Long: `Write a manual page for each command, and for assent-hook, assent-hook-strict, assent-contain,
hookd-emit and hookd-query, into the existing directory DIR. The pages have the same text as
--help. Packages install them.`,
		Example: "  mkdir -p ~/.local/share/man/man1 && assent man ~/.local/share/man/man1\n  man assent-allow",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one directory")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			pages := map[string]string{
				"assent-hook":         helpPage("assent-hook", "hand one hook event of an agent to assent", hookclient.Usage("assent-hook")),
				hookclient.StrictName: helpPage(hookclient.StrictName, "hand over a hook event, and print only what is signed", hookclient.StrictUsage),
				"assent-contain":      helpPage("assent-contain", "run a command that can only read", contain.Usage),
				"hookd-emit":          helpPage("hookd-emit", "tell of one tool call of an agent", hookclient.EmitUsage("hookd-emit")),
			}
			// One page for both of one name.
			pages["assent-hook"] = strings.Replace(pages["assent-hook"], ".SH SEE ALSO\n", a.overHTTPS()+".SH SEE ALSO\n", 1)
			commandPages(c.Root(), pages)
			pages[queryName] = otherName(pages["assent-ledger-query"], "assent-ledger-query", queryName)
			for name, text := range pages {
				if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(text), 0o644); err != nil {
					return fmt.Errorf("write the page of %s: %w", name, err)
				}
			}
			fmt.Fprintf(a.out, "%s in %s\n", counted(len(pages), "page"), args[0])
			return nil
		},
	}
}

// otherName is the page of a command that runs under another name, too.
func otherName(page, name, other string) string {
	page = strings.Replace(page, strings.ToUpper(roff.Escape(name)), strings.ToUpper(roff.Escape(other)), 1)
	return strings.Replace(page, roff.Escape(name), roff.Escape(other), 1)
}

// commandPages adds the page of c, and of each command below it. Cobra's own generator reads the help
// as Markdown: it garbles what is not ASCII, breaks commands at hyphens where a line ends, writes flags
// as --yes[=false] and the day of the build, has nothing for assent-hook, assent-contain and hookd-emit, which are no
// commands, and would link two modules for Markdown into the program.
func commandPages(c *cobra.Command, pages map[string]string) {
	name := pageName(c)
	if c.Hidden || pages[name] != "" {
		return
	}
	p := newPage(name, c.Short)
	p.Section("SYNOPSIS")
	if c.HasParent() {
		p.Line(`\fB` + roff.Escape(c.UseLine()) + `\fR`)
	}
	if c.HasAvailableSubCommands() {
		p.Macro("br")
		p.Line(`\fB` + roff.Escape(c.CommandPath()) + ` COMMAND\fR`)
	}
	if c.Long != "" {
		p.Section("DESCRIPTION")
		p.Text(c.Long)
	}
	if c.HasAvailableSubCommands() {
		p.Section("COMMANDS")
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				p.Item(roff.Escape(sub.Name()), sub.Short)
			}
		}
	}
	c.InitDefaultHelpFlag()
	flagSection(p, "OPTIONS", c.LocalFlags())
	flagSection(p, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		p.Section("EXAMPLES")
		p.Verbatim(c.Example)
	}
	also := []string{"assent-hook", "assent-hook-strict", "assent-contain", "hookd-emit"}
	if c.HasParent() {
		also = []string{pageName(c.Parent())}
	}
	for _, sub := range c.Commands() {
		if c.HasParent() && !sub.Hidden {
			also = append(also, pageName(sub))
		}
	}
	p.Section("SEE ALSO")
	for i, other := range also {
		comma := ","
		if i == len(also)-1 {
			comma = ""
		}
		p.Macro("BR " + roff.Escape(other) + " (1)" + comma)
	}
	if !c.HasParent() {
		p.Macro("PP")
		p.Text("Each command has a page of its own, such as assent-allow(1).")
	}
	pages[name] = p.String()
	for _, sub := range c.Commands() {
		commandPages(sub, pages)
	}
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// overHTTPS is the section about the command assent hook.
func (a *app) overHTTPS() string {
	var p roff.Page
	p.Section("ASSENT HOOK")
	about, _, _ := strings.Cut(a.hookCmd().Long, "\nIts flags")
	p.Text(about)
	return p.String()
}

// helpPage is the page of a program of which there is a text only.
func helpPage(name, short, help string) string {
	p := newPage(name, short)
	p.Section("DESCRIPTION")
	p.Verbatim(help)
	p.Section("SEE ALSO")
	p.Macro("BR assent (1)")
	return p.String()
}

// newPage begins the page of a command. Man pages have a date: the commit's, so that the same program
// has the same page.
func newPage(name, short string) *roff.Page {
	day := ""
	if t, err := time.Parse(time.RFC3339, thisBuild().Date); err == nil {
		day = t.UTC().Format(time.DateOnly)
	}
	return roff.New(name, short, day, "assent "+version(), "assent")
}

// flagSection adds a section about flags.
func flagSection(p *roff.Page, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.Section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		term := roff.Escape("--" + f.Name)
		if f.Shorthand != "" {
			term = roff.Escape("-"+f.Shorthand) + `\fR, \fB` + term
		}
		if kind != "" {
			term += ` \fI` + roff.Escape(kind)
		}
		if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
			usage += " (default " + d + ")"
		}
		p.Item(term, usage)
	})
}
