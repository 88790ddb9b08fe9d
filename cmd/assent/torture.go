package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/torture"
)

// mutantEnv names the defect of brokers in a program that was built with defects, see hook.Mutant.
const mutantEnv = "ASSENT_MUTANT"

func (a *app) tortureCmd() *cobra.Command {
	var o torture.Options
	var nemesis string
	c := &cobra.Command{
		Use:   "torture",
		Short: "Break a test cluster on purpose, and check assent's promises",
		Long: `Test assent's promises under failures. The command starts brokers and NATS servers of its own on
loopback, and lets hooks ask and approvers decide. Meanwhile it kills, stops and disconnects processes,
on a schedule that follows from the seed. In the end it compares what hooks and approvers were told
with the record. Your own broker is not touched.

If a promise was broken, the command prints the seed and exits 1; the same seed repeats the same
schedule.

--nemesis names the failures, separated by commas:

  ` + strings.Join(torture.Nemeses, ", "),
		Example: `  assent torture --brokers 3 --nats 3 --for 2m --seed 1
  assent torture --brokers 1 --nats 0 --for 1m --nemesis kill-broker
  assent torture --brokers 3 --nats 3 --for 30m --json`,
		Args: noArgs,
	}
	fl := c.Flags()
	fl.IntVar(&o.Brokers, "brokers", 3, "how many brokers: 1 or 3")
	fl.IntVar(&o.NATS, "nats", 3, "how many nats-servers: 1 or 3; 0: one broker with its own engine")
	fl.DurationVar(&o.For, "for", time.Minute, "how long hooks ask; then every waiting request is answered and checked")
	fl.Uint64Var(&o.Seed, "seed", 0, "seed of the schedule and of what clients do (0: a new one)")
	fl.StringVar(&nemesis, "nemesis", "", "failures to cause, separated by commas (default: all that are possible)")
	fl.IntVar(&o.Hooks, "hooks", 8, "how many hooks ask at a time")
	fl.IntVar(&o.Approvers, "approvers", 6, "how many approvers decide")
	fl.StringVar(&o.Dir, "dir", "", "keep the logs in this directory")
	fl.BoolVar(&a.json, "json", false, "print the result as JSON")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if conf := os.Getenv(torture.NodeEnv); conf != "" {
			return torture.Node(conf)
		}
		return a.torture(cmd, o, nemesis)
	}
	return c
}

// longFlags gives the flags of assent torture with one dash a second one: -brokers is --brokers there, as Go's
// programs have it. Others stay as they are.
func longFlags(args []string) []string {
	if len(args) == 0 || args[0] != "torture" {
		return args
	}
	long := make([]string, len(args))
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && len(arg) > 2 {
			arg = "-" + arg
		}
		long[i] = arg
	}
	return long
}

func (a *app) torture(cmd *cobra.Command, o torture.Options, nemesis string) (err error) {
	if nemesis != "" {
		o.Nemesis = strings.Split(nemesis, ",")
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return usagef("%w", err)
	}
	if mutant := os.Getenv(mutantEnv); mutant != "" {
		o.Env = []string{mutantEnv + "=" + mutant}
	}
	o.Progress = func(line string) { fmt.Fprintln(a.err, "assent torture:", line) }
	res, err := torture.Run(cmd.Context(), o)
	if err != nil {
		return fmt.Errorf("torture with seed %d: %w", o.Seed, err)
	}
	if a.json {
		if err := a.printJSON(res); err != nil {
			return err
		}
	} else {
		a.printTorture(&res)
	}
	if len(res.Violations) > 0 {
		return &exitError{exitFailed, fmt.Errorf("%d violations with seed %d; logs in %s", len(res.Violations), res.Seed, res.Dir)}
	}
	return nil
}

func (a *app) printTorture(res *torture.Result) {
	fmt.Fprintf(a.out, "seed %d, %d broker(s), %d nats-server(s), %.0f s; done: %v\n", res.Seed, res.Brokers, res.NATS, res.Seconds, res.Strikes)
	fmt.Fprintf(a.out, "requests   %d: %d answered, %d out of time, %d hung up, %d handed back (%d by one broker's socket)\n", res.Requests, res.Answered, res.Expired, res.Hangups, res.Unanswered, res.OneBroker)
	fmt.Fprintf(a.out, "decisions  %d: %d won, %d lost, %d unknown; %d requests not checked for want of time\n", res.Decisions, res.Won, res.Lost, res.Unknown, res.Unchecked)
	fmt.Fprintf(a.out, "events     %d\n", res.Events)
	for _, v := range res.Violations {
		fmt.Fprintln(a.out, readable(v))
	}
	if len(res.Violations) == 0 {
		fmt.Fprintln(a.out, "no violation")
	}
}
