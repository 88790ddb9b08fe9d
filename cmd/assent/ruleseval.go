package main

import (
	"github.com/spf13/cobra"

	"assent/internal/policy/batch"
)

func (a *app) rulesEvalCmd() *cobra.Command {
	var file string
	var own, noContain bool
	c := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate many commands for a program, as lines of JSON",
		Long: `Read calls from standard input, one JSON object on each line, and write what the rules make of
each, one line for one line and in the same order, at once. No broker is needed, and nothing is run.

  in   {"id"?, "command"} or {"id"?, "tool", "input"}, with "cwd"? (default the current directory)
       and as in the tests of a file "agent"?, "mode"?, "repo"?, "branch"?, "label"?, "time"?, and
       "project"? (default the repository around cwd), "shell"? ("bash" where that is certain)
  out  {"id"?, "verdict": "allow", "ask" or "deny", "contain"?, "rule"?, "reason"}

"contain":"read" beside "allow" says that the allow rests on containment: the command may run only by
assent-contain, which lets it read and nothing else. Who cannot do that says --no-contain, and gets
the verdict ask instead.

A line that cannot be understood gets the verdict ask. Members that are not named above have no
meaning. With --row-rules a call may bring "rules", the content of a file of rules, which then
count for it instead; use that only where you trust whoever writes the lines.`,
		Example: `  echo '{"id":1,"command":"git push -f"}' | assent rules eval --rules rules.yaml
  jq -c '{command}' calls.jsonl | assent rules eval`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := here()
			if err != nil {
				return err
			}
			set, f, err := a.loadedRules(file, w.root)
			if err != nil {
				return err
			}
			e := batch.New(batch.Config{Set: set, Cwd: w.cwd, CallIn: callIn, OwnRules: own, Options: f.Options, NoContain: noContain})
			return untilDone(cmd.Context(), func() error { return e.Run(cmd.Context(), a.in, a.out) })
		},
	}
	c.Flags().StringVar(&file, "rules", "", "this file of rules, and no other")
	c.Flags().BoolVar(&own, "row-rules", false, "let a call bring rules of its own")
	c.Flags().BoolVar(&noContain, "no-contain", false, "judge as if no command could run contained")
	return c
}
