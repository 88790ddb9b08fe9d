package main

import (
	"context"
	"fmt"
	"strings"

	"assent/internal/agent/claude/install"
)

// keepManual is for users who chose the default mode: the client offers auto mode once more, and
// Enter would take it.
const keepManual = `When it starts, Claude Code may offer to make auto mode your default: choose "No, keep manual mode".`

// offerAuto asks what to do about auto mode. Enter takes the answer with which assent is asked: a user who
// hurries past the question must not end with hooks that hardly ever run, and not know why.
func (a *app) offerAuto(ctx context.Context, o *install.Options) error {
	a.tell(`In a terminal Claude Code starts in auto mode: it decides about most calls itself, and asks neither you nor assent. What should reach assent?
  1  only what it asks about in auto mode too: its questions, and plans
  2  also risky commands, such as rm, sudo, git push, curl and docker (adds permissions.ask rules; the rest stays in auto mode)
  3  everything that needs permission (recommended; sets permissions.defaultMode to default, which Claude Code calls manual mode)`)
	for range 3 {
		fmt.Fprint(a.out, "1, 2 or 3 [3]: ")
		text, err := a.readLine(ctx)
		if err != nil {
			fmt.Fprintln(a.out)
			return errDeclined // the end of input, or Ctrl-C
		}
		switch strings.TrimSpace(text) {
		case "1":
			return nil
		case "2":
			o.AskRules = install.DefaultAsk
			return nil
		case "", "3":
			o.DefaultMode = "default"
			return nil
		}
		fmt.Fprintln(a.out, "Please answer 1, 2 or 3.")
	}
	return errDeclined
}
