package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/auth/signed"
	"assent/internal/policy"
	"assent/internal/policy/files"
	"assent/internal/policy/importer"
	"assent/internal/terminal"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

func (a *app) rulesCheckCmd() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Check the rule files for errors",
		Long: `Read the rule files as the broker would, run the tests in them, and print what is wrong and
where; also, whether the signature beside a file counts. Each FILE is checked by itself. Exits 1
when something is wrong.`,
		Example: "  assent rules check\n  assent rules check new.yaml --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			names, err := rulesFiles(file, args)
			if err != nil {
				return err
			}
			report := checkReport{OK: true, Files: []checkedFile{}, Problems: []placed{}, Notices: []placed{}}
			for _, name := range names {
				if err := a.checkRulesFile(name, &report); err != nil {
					return err
				}
			}
			if a.json {
				if err := a.printJSON(report); err != nil {
					return err
				}
			}
			if !report.OK {
				return errors.New("something is wrong with the rules")
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "rules", "", "the file to check")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// checkReport is what check says as JSON.
type checkReport struct {
	OK       bool          `json:"ok"`
	Files    []checkedFile `json:"files"`
	Problems []placed      `json:"problems"`
	Notices  []placed      `json:"notices"`
}

type checkedFile struct {
	Path  string   `json:"path"`
	Layer string   `json:"layer"`
	State string   `json:"state"` // ok, broken, absent
	Rules int      `json:"rules"`
	Tests int      `json:"tests"`
	Packs []string `json:"packs,omitempty"`
	// SignedBy is the key that signed the file, if its signature counts: device: and a thumbprint.
	SignedBy string `json:"signedBy,omitempty"`
}

type placed struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

func (a *app) checkRulesFile(name string, report *checkReport) error {
	w, err := here()
	if err != nil {
		return err
	}
	cfg, err := a.rulesConfig(name)
	if err != nil {
		return err
	}
	f, err := a.readRules(name, w.root)
	if err != nil {
		return err
	}
	_, problems := f.Load(false)
	var notices []policy.Problem
	if name != "" {
		if err := files.Trust(name); err != nil {
			notices = append(notices, policy.Problem{File: name, Message: "as your own file the broker would refuse it: " + policy.WithoutPath(err).Error()})
		}
	}
	for _, file := range f.Files {
		c := checkedFile{Path: file.Name, Layer: string(file.Layer), State: "ok"}
		switch {
		case slices.ContainsFunc(problems, func(p policy.Problem) bool { return p.File == file.Name }):
			c.State = "broken"
		case !file.There:
			c.State = "absent"
		default:
			own := c.count(file, f.Options)
			notices = append(notices, own...)
		}
		if file.There {
			signature, problem := files.Signature(cfg, file.Source)
			if problem != "" {
				notices = append(notices, policy.Problem{File: file.Name + ".sig", Message: "this signature does not count, so nobody signed " + file.Name + ": " + problem})
			} else if signature != nil {
				c.SignedBy = "device:" + signed.Thumbprint(signature.PublicKey)
			}
		}
		report.Files = append(report.Files, c)
		if !a.json {
			fmt.Fprintln(a.out, strings.Join(terminal.Wrap(c.line(), columns(a.out), 8), "\n"))
			if c.SignedBy != "" {
				fmt.Fprintln(a.out, "        signed with "+c.SignedBy)
			}
			for _, pack := range c.Packs {
				fmt.Fprintln(a.out, "        with "+pack)
			}
		}
	}
	if !a.json && name == "" && !slices.ContainsFunc(f.Files, func(file files.Found) bool { return file.There }) {
		a.tell("\nThere are no rules, so every request waits for a person. To write some, see docs/rules.md; assent rules suggest proposes some from what you allowed.")
	}
	report.OK = report.OK && len(problems) == 0
	for _, p := range problems {
		report.Problems = append(report.Problems, placed(p))
	}
	for _, p := range notices {
		report.Notices = append(report.Notices, placed(p))
	}
	if a.json {
		return nil
	}
	if len(problems) > 0 {
		fmt.Fprintln(a.out)
		a.printProblems(a.out, f, problems)
	}
	if len(notices) > 0 {
		fmt.Fprintln(a.out)
	}
	for _, p := range notices {
		fmt.Fprintln(a.out, layout.Wrap(readable("note: "+p.String()), "", "    "))
	}
	return nil
}

// count looks at one file without the others, and returns its notices.
func (c *checkedFile) count(file files.Found, o policy.LoadOptions) []policy.Problem {
	o.SkipTests = true
	set, err := policy.Load([]policy.Source{file.Source}, o)
	if err != nil {
		return nil // it was loaded before
	}
	for _, r := range set.Rules() {
		if r.Layer != policy.Builtin {
			c.Rules++
		} else if !slices.Contains(c.Packs, r.File) {
			c.Packs = append(c.Packs, r.File)
		}
	}
	c.Tests = len(set.Test())
	notices := append(set.Notices(), set.Mistakes()...)
	for _, r := range set.Rules() {
		text, ok := strings.CutPrefix(r.Text, "allow: ")
		if meaning := importer.RunsAnything(text); ok && r.Layer != policy.Builtin && meaning != "" {
			notices = append(notices, policy.Problem{File: r.File, Line: r.Line, Message: text + " allows " + meaning})
		}
	}
	return notices
}

func (c *checkedFile) line() string {
	head := map[string]string{"ok": "ok      ", "broken": "BROKEN  ", "absent": "-       "}[c.State] +
		show.Line(shortPath(c.Path)) + " (" + layerName(policy.Layer(c.Layer)) + ")"
	switch c.State {
	case "ok":
		return head + ": " + counted(c.Rules, "rule") + ", " + counted(c.Tests, "test")
	case "absent":
		return head + ": not there"
	}
	return head
}
