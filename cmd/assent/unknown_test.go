package main

import (
	"bytes"
	"strings"
	"testing"
)

// What other programs call a command is no command here, and the error says which one to call.
func TestUnknownCommandSaysWhichToCall(t *testing.T) {
	for name := range elsewhere {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{name}, strings.NewReader(""), &out, &errs); code != exitUsage || !ownCommands.MatchString(elsewhere[name]) || !strings.Contains(errs.String(), `unknown command "`+name+`"`) || strings.Contains(errs.String(), "--help") {
			t.Errorf("%s: exit code %d, %s", name, code, errs.String())
		}
	}
}
