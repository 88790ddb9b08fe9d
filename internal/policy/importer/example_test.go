package importer_test

import (
	"os"

	"assent/internal/policy/importer"
)

// A file of rules says of each permission what became of it.
func ExampleParse() {
	settings := `{"permissions": {"allow": ["Bash(npm test)", "Bash(python:*)", "Raed"], "deny": ["Read(./.env)"]}}`
	m, err := importer.Parse(importer.Config{Settings: "settings.json"}, []byte(settings))
	if err != nil {
		panic(err)
	}
	text, err := m.File()
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(text)
	// Output:
	// # The permissions of settings.json,
	// # as: assent rules import
	// version: 1
	//
	// deny:
	//   - "Read(./.env)"
	//
	// allow:
	//   - "Bash(npm test)"
	//   # WIDE: any Python code, and so anything that you can do.
	//   - "Bash(python:*)"
	//
	// # Left out:
	// #   allow Raed: there is no tool "Raed"; did you mean Read?
}
