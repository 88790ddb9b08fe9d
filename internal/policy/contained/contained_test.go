package contained

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"assent/internal/text/strictjson"
)

const program = "/usr/local/bin/assent-contain"

func TestLine(t *testing.T) {
	c := Command{Program: program, Project: "/home/u/it's mine", Shell: "bash", Text: "cat 'a b' $(ls)\ncat \"it's\""}
	line, err := c.Line()
	if err != nil {
		t.Fatal(err)
	}
	want := `'/usr/local/bin/assent-contain' read --project '/home/u/it'\''s mine' --shell bash -- 'cat '\''a b'\'' $(ls)` + "\n" + `cat "it'\''s"'`
	if line != want {
		t.Errorf("Line = %s\nwant   %s", line, want)
	}
	if got, ok := Parse(program, line); !ok || !reflect.DeepEqual(got, c) {
		t.Errorf("Parse = %+v, %v", got, ok)
	}
}

// TestLineWithMore: what rules give besides the project.
func TestLineWithMore(t *testing.T) {
	c := Command{Program: program, Project: "/p", Read: []string{"/home/u/it's mine", "/opt/x"}, Env: []string{"GOFLAGS", "_x1"}, Shell: "zsh", Text: "ls --read /etc --env X -- a"}
	line, err := c.Line()
	if want := `'` + program + `' read --project '/p' --read '/home/u/it'\''s mine' --read '/opt/x' --env GOFLAGS --env _x1 --shell zsh -- 'ls --read /etc --env X -- a'`; err != nil || line != want {
		t.Errorf("Line = %s (%v)\nwant   %s", line, err, want)
	}
	if got, ok := Parse(program, line); !ok || !reflect.DeepEqual(got, c) {
		t.Errorf("Parse = %+v, %v", got, ok)
	}
	for _, wrong := range []string{
		strings.Replace(line, "--read '/opt/x'", "--read /opt/x", 1), strings.Replace(line, "'/opt/x'", "'opt/x'", 1), strings.Replace(line, "--env _x1", "--env '_x1'", 1),
		strings.Replace(line, "--env _x1 ", "--env _x1 --read '/x' ", 1), strings.Replace(line, "--env _x1 ", "--env _x1;ls ", 1), strings.Replace(line, " --env GOFLAGS", " --env ", 1),
	} {
		if got, ok := Parse(program, wrong); ok {
			t.Errorf("Parse(%s) = %+v", wrong, got)
		}
	}
}

func TestLineRefuses(t *testing.T) {
	good := Command{Program: program, Project: "/p", Shell: "bash", Text: "ls"}
	for name, change := range map[string]func(*Command){
		"a relative program":     func(c *Command) { c.Program = "assent-contain" },
		"a program with ..":      func(c *Command) { c.Program = "/usr/../assent-contain" },
		"no program":             func(c *Command) { c.Program = "" },
		"a relative path":        func(c *Command) { c.Read = []string{"/a", "b"} },
		"a path with ..":         func(c *Command) { c.Read = []string{"/a/../b"} },
		"a path with a slash":    func(c *Command) { c.Read = []string{"/a/"} },
		"a path with a NUL":      func(c *Command) { c.Read = []string{"/a\x00"} },
		"an empty variable":      func(c *Command) { c.Env = []string{""} },
		"a variable with a flag": func(c *Command) { c.Env = []string{"A --shell"} },
		"a variable with a $":    func(c *Command) { c.Env = []string{"A$(ls)"} },
		"a variable with a =":    func(c *Command) { c.Env = []string{"A=b"} },
		"a relative project":     func(c *Command) { c.Project = "p" },
		"a project with a NUL":   func(c *Command) { c.Project = "/p\x00" },
		"an unknown shell":       func(c *Command) { c.Shell = "fish" },
		"a shell with an option": func(c *Command) { c.Shell = "bash -i" },
		"no command":             func(c *Command) { c.Text = " \n" },
		"a NUL":                  func(c *Command) { c.Text = "ls\x00" },
		"a carriage return":      func(c *Command) { c.Text = "ls\r" },
		"broken UTF-8":           func(c *Command) { c.Text = "ls \xff" },
		"a long command":         func(c *Command) { c.Text = strings.Repeat("a", MaxCommand) },
		"many quotes":            func(c *Command) { c.Text = strings.Repeat("'", MaxCommand/3) },
	} {
		c := good
		change(&c)
		if line, err := c.Line(); err == nil {
			t.Errorf("%s: Line = %.80q", name, line)
		}
	}
}

// What only looks like a line of ours is not taken for one.
func TestParseRefuses(t *testing.T) {
	line, err := Command{Program: program, Project: "/p", Shell: "bash", Text: "ls"}.Line()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		line + " ", " " + line, line + "; rm x", line + " 'b'", strings.Replace(line, "read", "write", 1), strings.Replace(line, "'", `"`, 2),
		strings.Replace(line, " -- ", " --read / -- ", 1), strings.Replace(line, "bash", "fish", 1), strings.Replace(line, "'/p'", "/p", 1),
		strings.Replace(line, "'/p'", "'/'p''", 1), strings.Replace(line, program, "/tmp/assent-contain", 1), line[:len(line)-1], "", "ls",
	} {
		if c, ok := Parse(program, text); ok {
			t.Errorf("Parse(%q) = %+v", text, c)
		}
	}
}

func TestRewrite(t *testing.T) {
	c := Command{Program: program, Project: "/p", Shell: "zsh", Text: "ls <a> & b"}
	in := `{ "description" : "d <x>" , "command":"ls \u003ca> & b", "timeout" : 5000}`
	out, err := Rewrite([]byte(in), c)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"description":"d <x>","command":"'/usr/local/bin/assent-contain' read --project '/p' --shell zsh -- 'ls <a> & b'","timeout":5000}`
	if string(out) != want {
		t.Errorf("Rewrite = %s\nwant      %s", out, want)
	}
	original, line, ok := Unwrap(out)
	if text, _ := TextOf(original); !ok || text != c.Text || !strings.HasPrefix(line, "'"+program) {
		t.Errorf("Unwrap = %s, %s, %v", original, line, ok)
	}
	for _, bad := range []string{
		`{}`, `[]`, `{"command":1}`, `{"command":"rm x"}`, `{"command":"ls <a> & b","command":"x"}`, `{"command":"ls <a> & b","Command":"x"}`, `{"command":"ls <a> & b"`,
	} {
		if out, err := Rewrite([]byte(bad), c); err == nil {
			t.Errorf("Rewrite(%s) = %s", bad, out)
		}
	}
	if _, _, ok := Unwrap([]byte(in)); ok {
		t.Error("Unwrap takes what was never wrapped")
	}
}

// FuzzRoundTrip: our reader and bash both find the command in the line as it was, one word, and the input
// keeps its other members.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"ls", "'", "''", `'\''`, `\`, "a\nb", "$(x) `y` ${z} !! \"q\"", "é\u2028", "-- x", "' --shell zsh -- 'x", "\t", "#", "~", "*", "'\n'"} {
		f.Add(s, "/p")
		f.Add("x", "/"+s)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("no bash")
	}
	f.Fuzz(func(t *testing.T, text, project string) {
		c := Command{Program: program, Project: project, Shell: "bash", Text: text}
		line, err := c.Line()
		if err != nil {
			return
		}
		if got, ok := Parse(program, line); !ok || !reflect.DeepEqual(got, c) {
			t.Fatalf("Parse(%q) = %+v, %v", line, got, ok)
		}
		// The function stands in for the program: it says what it was called with.
		script := "printf '%s\\0'" + strings.TrimPrefix(line, "'"+program+"'")
		out, err := exec.Command(bash, "--norc", "--noprofile", "-c", script).Output()
		if want := "read\x00--project\x00" + project + "\x00--shell\x00bash\x00--\x00" + text + "\x00"; err != nil || string(out) != want {
			t.Fatalf("bash reads %q (%v), want %q", out, err, want)
		}
		// As the client runs it: by eval of a quoted text.
		out, err = exec.Command(bash, "--norc", "--noprofile", "-c", "eval "+quote(script)+" < /dev/null").Output()
		if err != nil || !bytes.HasSuffix(out, []byte("\x00"+text+"\x00")) {
			t.Fatalf("by eval bash reads %q (%v)", out, err)
		}
		in, err := json.Marshal(map[string]string{"command": text, "description": project})
		if err != nil {
			t.Fatal(err)
		}
		wrapped, err := Rewrite(in, c)
		if err != nil {
			t.Fatalf("Rewrite(%s): %v", in, err)
		}
		original, got, ok := Unwrap(wrapped)
		if back, textOK := TextOf(original); !ok || got != line || !textOK || back != text {
			t.Fatalf("Unwrap(%s) = %s, %v", wrapped, original, ok)
		}
		members, err := strictjson.Object(wrapped)
		if err != nil || len(members) != 2 || strictjson.Text(members[1].Value) != project {
			t.Fatalf("the input became %s", wrapped)
		}
	})
}
