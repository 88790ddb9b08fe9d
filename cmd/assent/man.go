package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assent/hookclient"
)

func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages into a directory",
		Long: `Write a page for each command, and for assent-hook, hookd-emit and hookd-query, into a directory that
exists. The packages install them. They say what --help says.`,
		Example: "  mkdir -p ~/.local/share/man/man1 && assent man ~/.local/share/man/man1\n  man assent-allow",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one directory")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			pages := map[string]string{
				"assent-hook": helpPage("assent-hook", "hand one hook event of an agent to assent", hookclient.Usage("assent-hook")),
				"hookd-emit":  helpPage("hookd-emit", "tell of one tool call of an agent", hookclient.EmitUsage("hookd-emit")),
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
	page = strings.Replace(page, strings.ToUpper(escapeRoff(name)), strings.ToUpper(escapeRoff(other)), 1)
	return strings.Replace(page, escapeRoff(name), escapeRoff(other), 1)
}

// commandPages adds the page of c, and of each command below it. Cobra's own generator reads the help
// as Markdown: it garbles what is not ASCII, breaks commands at hyphens where a line ends, writes flags
// as --yes[=false] and the day of the build, has nothing for assent-hook and hookd-emit, which are no
// commands, and would link two modules for Markdown into the program.
func commandPages(c *cobra.Command, pages map[string]string) {
	name := pageName(c)
	if c.Hidden || pages[name] != "" {
		return
	}
	p := newPage(name, c.Short)
	p.section("SYNOPSIS")
	if c.HasParent() {
		p.line(`\fB` + escapeRoff(c.UseLine()) + `\fR`)
	}
	if c.HasAvailableSubCommands() {
		p.macro("br")
		p.line(`\fB` + escapeRoff(c.CommandPath()) + ` COMMAND\fR`)
	}
	if c.Long != "" {
		p.section("DESCRIPTION")
		p.text(c.Long)
	}
	if c.HasAvailableSubCommands() {
		p.section("COMMANDS")
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				p.item(escapeRoff(sub.Name()), sub.Short)
			}
		}
	}
	c.InitDefaultHelpFlag()
	p.flags("OPTIONS", c.LocalFlags())
	p.flags("OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		p.section("EXAMPLES")
		p.verbatim(c.Example)
	}
	also := []string{"assent-hook", "hookd-emit"}
	if c.HasParent() {
		also = []string{pageName(c.Parent())}
	}
	for _, sub := range c.Commands() {
		if c.HasParent() && !sub.Hidden {
			also = append(also, pageName(sub))
		}
	}
	p.section("SEE ALSO")
	for i, other := range also {
		comma := ","
		if i == len(also)-1 {
			comma = ""
		}
		p.macro("BR " + escapeRoff(other) + " (1)" + comma)
	}
	if !c.HasParent() {
		p.macro("PP")
		p.text("Each command has a page of its own, such as assent-allow(1).")
	}
	pages[name] = p.String()
	for _, sub := range c.Commands() {
		commandPages(sub, pages)
	}
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// overHTTPS is the section about the command assent hook.
func (a *app) overHTTPS() string {
	var p page
	p.section("ASSENT HOOK")
	about, _, _ := strings.Cut(a.hookCmd().Long, "\nIts flags")
	p.text(about)
	return p.String()
}

// helpPage is the page of a program of which there is a text only.
func helpPage(name, short, help string) string {
	p := newPage(name, short)
	p.section("DESCRIPTION")
	p.verbatim(help)
	p.section("SEE ALSO")
	p.macro("BR assent (1)")
	return p.String()
}

// page is a man page in the making, in the language of man(7).
type page struct{ strings.Builder }

func newPage(name, short string) *page {
	p := &page{}
	day := "" // man pages have a date, and the same program has the same page
	if t, err := time.Parse(time.RFC3339, thisBuild().Date); err == nil {
		day = t.UTC().Format(time.DateOnly)
	}
	p.macro(fmt.Sprintf(`TH "%s" "1" "%s" "assent %s" "assent"`, escapeRoff(strings.ToUpper(name)), day, escapeRoff(version())))
	// Half of what stands here is to be typed: no word is broken at the end of a line.
	p.macro("nh")
	p.macro("ad l")
	p.section("NAME")
	p.line(escapeRoff(name) + ` \- ` + escapeRoff(short))
	return p
}

func (p *page) macro(m string)   { p.WriteString("." + m + "\n") }
func (p *page) section(s string) { p.macro("SH " + s) }

// line writes a line of text that is escaped already.
func (p *page) line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text // else it would be a macro
	}
	p.WriteString(text + "\n")
}

// verbatim keeps the lines as they are.
func (p *page) verbatim(text string) {
	p.macro("nf")
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		p.line(escapeRoff(l))
	}
	p.macro("fi")
}

// text flows, except for what is indented.
func (p *page) text(text string) {
	var indented []string
	flush := func() {
		if len(indented) > 0 {
			p.macro("PP")
			p.verbatim(strings.Join(indented, "\n"))
			p.macro("PP")
			indented = nil
		}
	}
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t"):
			indented = append(indented, l)
		case l == "":
			flush()
			p.macro("PP")
		default:
			flush()
			p.line(escapeRoff(l))
		}
	}
	flush()
}

// item has a term, escaped already, and what there is to say about it.
func (p *page) item(term, text string) {
	p.macro("TP")
	p.line(`\fB` + term + `\fR`)
	p.line(escapeRoff(text))
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		term := escapeRoff("--" + f.Name)
		if f.Shorthand != "" {
			term = escapeRoff("-"+f.Shorthand) + `\fR, \fB` + term
		}
		if kind != "" {
			term += ` \fI` + escapeRoff(kind)
		}
		if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
			usage += " (default " + d + ")"
		}
		p.item(term, usage)
	})
}

// escapeRoff makes one line of roff say text, with hyphens that can be copied into a shell, and
// in ASCII, which every reader of such pages understands.
func escapeRoff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\n':
			b.WriteByte(' ')
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
