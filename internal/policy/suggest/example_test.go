package suggest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy/files"
	"assent/internal/policy/suggest"
)

// A request that waits becomes the rules that would have allowed it, the narrowest first.
func ExampleProposer_Propose() {
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		panic(err)
	}
	p := suggest.NewProposer(files.Open(files.Config{Host: "here", Home: "/home/dev"}), nil)
	found, err := p.Propose(context.Background(), &hook.Request{
		ID: "r1", Agent: "claude", ToolName: "Bash", ToolInput: hook.JSON(`{"command":"go test ./... -run TestX"}`),
		CWD: dir, Origin: hook.Origin{Host: "here", ProjectDir: dir},
	})
	if err != nil {
		panic(err)
	}
	for _, x := range found.Proposals {
		fmt.Println(strings.ReplaceAll(x.Sentence, dir, "APP"))
	}
	// Output:
	// Run `go test ./... -run TestX`, exactly these words, in APP
	// Run `go test` on any files of the project with no flags but -run=, in APP and below
}
