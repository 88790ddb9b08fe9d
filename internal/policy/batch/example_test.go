package batch_test

import (
	"context"
	"os"
	"strings"

	"assent/internal/policy"
	"assent/internal/policy/batch"
)

// One line in, one line out.
func ExampleEvaluator_Run() {
	rules := "version: 1\nallow: [\"Bash(git status)\"]\n"
	set, err := policy.Load([]policy.Source{{Name: "rules.yaml", Data: []byte(rules)}}, policy.LoadOptions{})
	if err != nil {
		panic(err)
	}
	e := batch.New(batch.Config{Set: set, Cwd: "/home/dev/app", CallIn: func(cwd string) policy.Call { return policy.Call{Cwd: cwd} }})
	in := strings.NewReader(`{"id":1,"command":"git status"}
{"id":2,"command":"git push"}
`)
	if err := e.Run(context.Background(), in, os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// {"id":1,"verdict":"allow","rule":"Bash(git status)","reason":"a rule allows it"}
	// {"id":2,"verdict":"ask","reason":"no rule allows `git push`"}
}
