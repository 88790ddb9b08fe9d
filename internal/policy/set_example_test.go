package policy_test

import (
	"encoding/json"
	"fmt"

	"assent/internal/policy"
)

func load(text string) *policy.Set {
	set, err := policy.Load([]policy.Source{{Name: "rules.yaml", Layer: policy.User, Data: []byte(text)}}, policy.LoadOptions{})
	if err != nil {
		panic(err)
	}
	return set
}

func command(text string) policy.Call {
	input, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		panic(err)
	}
	return policy.Call{Agent: "claude", Tool: "Bash", Input: input, Cwd: "/home/dev/app", Project: "/home/dev/app", Home: "/home/dev"}
}

// Every part of a line must be covered before it is allowed; one part that a rule denies is enough.
func ExampleSet_Eval() {
	set := load(`
version: 1
allow: ["Bash(go test *)", "Bash(head *)"]
deny: ["Bash(curl *)"]
`)
	for _, text := range []string{"go test ./... | head -5", "go test ./... && make", "go test ./... && curl example.org"} {
		v := set.Eval(command(text))
		fmt.Printf("%s: %s, for %s\n", text, v.Action, v.Reason)
	}
	// Output:
	// go test ./... | head -5: allow, for a rule allows it
	// go test ./... && make: ask, for no rule allows `make`
	// go test ./... && curl example.org: deny, for a rule denies it
}

// An explanation says of each part what the rules make of it.
func ExampleSet_Explain() {
	set := load(`
version: 1
allow: ["Bash(git log *)"]
`)
	for _, u := range set.Explain(command("git log -3 > log.txt")).Units {
		fmt.Printf("%s %q: %q\n", u.Kind, u.Text, u.Action)
	}
	// Output:
	// write "> log.txt": ""
	// command "git log -3": "allow"
}

// The error of a file with mistakes lists each with its position.
func ExampleProblems() {
	_, err := policy.Load([]policy.Source{{Name: "rules.yaml", Data: []byte("version: 1\nallow: [Raed]\n")}}, policy.LoadOptions{})
	for _, p := range policy.Problems(err) {
		fmt.Println(p)
	}
	// Output:
	// rules.yaml:2:9: rule string "Raed": there is no tool "Raed"; did you mean Read?
}
