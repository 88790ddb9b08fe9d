// Package pullrequest finds out which pull request an agent's command has opened, and whether gh knows it.
//
// What a command prints is the agent's word and no more: it is told as such, until gh has said the same.
package pullrequest

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"assent/internal/api"
	"assent/internal/host/optin"
	"assent/internal/host/said"
)

// Bounds of what is looked at.
const (
	maxURL = 500 // bytes
	// maxCommand bounds what is looked at of a command, in bytes.
	maxCommand = 64 << 10
	maxSaid    = 64 << 10  // bytes of what gh prints
	maxHead    = 256 << 10 // bytes of an output, at its end
	askTime    = 10 * time.Second
)

// opens is a command that opens a pull request: gh pr create, glab mr create, with flags in between.
var opens = regexp.MustCompile(strings.ReplaceAll(`(?:^|[\s;&|(/])(?:gh FLAGSpr|glab FLAGSmr) FLAGS(?:create|new)(?:[\s;&|)]|$)`, "FLAGS", `(?:-\S+(?: [^-\s]\S*)? )*?`))

// Opens reports whether a command of a shell may open a pull request.
func Opens(command string) bool {
	command = command[:min(len(command), maxCommand)]
	return opens.MatchString(blanks.ReplaceAllString(command, " "))
}

var blanks = regexp.MustCompile(`[ \t]+`)

// address is that of a pull request at GitHub, Gitea or GitLab, also where they are somebody's own.
var address = regexp.MustCompile(`https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._-]+){2,16}?/(?:pull|pulls|merge_requests)/([1-9][0-9]{0,8})\b`)

// Find returns the last pull request that stands in what a command printed.
func Find(output string) (pr api.AgentPR, ok bool) {
	if len(output) > maxHead {
		output = output[len(output)-maxHead:]
	}
	all := address.FindAllStringSubmatch(output, -1)
	if len(all) == 0 || len(all[len(all)-1][0]) > maxURL {
		return api.AgentPR{}, false
	}
	last := all[len(all)-1]
	number, err := strconv.Atoi(last[1])
	return api.AgentPR{URL: last[0], Number: number}, err == nil
}

// Known asks the gh of a search path (PATH of env) whether it knows the pull request that Find found. It is false
// also where there is no gh, where somebody else could have put it there, and where it is in project, to which the
// agent may write.
func Known(ctx context.Context, env []string, home, project string, pr api.AgentPR) bool {
	program := optin.Tool(env, "gh", project)
	if program == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "pr", "view", pr.URL, "--json", "url,number")
	cmd.Env = append(env[:len(env):len(env)], "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1")
	cmd.Dir = home // and so in no repository that an agent writes to
	cmd.WaitDelay = time.Second
	out := said.Output{Most: maxSaid, TooMuch: errors.New("gh prints more than is wanted")}
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return false
	}
	var is struct {
		URL    string `json:"url"`
		Number int    `json:"number"`
	}
	return json.Unmarshal(out.Bytes(), &is) == nil && is.URL == pr.URL && is.Number == pr.Number
}
