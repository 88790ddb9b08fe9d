package installer

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/agent/claude/install"
)

// tree is everything below a directory: the texts of files, where links lead, and directories.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String() + "\n"
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += to
		case e.Type().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(b)
		}
		all[strings.TrimPrefix(path, dir)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inHome makes files in a home, with links where a text begins with "-> ".
func inHome(t *testing.T, home string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(home, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if to, link := strings.CutPrefix(text, "-> "); err == nil && link {
			err = os.Symlink(to, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever stands around what an install writes is there, byte for byte, while it is installed and after the
// uninstall, which leaves nothing of its own: other hooks, plugins and settings, with comments, tabs and CRLF,
// and links, which are followed and stay.
func TestSurroundings(t *testing.T) {
	files := map[string]string{ // each agent's own, below the home
		"codex": ".codex/hooks.json", "qwen": ".qwen/settings.json", "droid": ".factory/settings.json",
		"copilot": ".copilot/hooks/assent.json", "opencode": ".config/opencode/plugin/assent.js", "kilo": ".config/kilo/plugin/assent.js",
	}
	for agent, file := range files {
		whole := agent == "copilot" || agent == "opencode" || agent == "kilo"
		dir, base := filepath.Dir(file), filepath.Base(file)
		top := strings.SplitN(strings.TrimPrefix(file, ".config/"), "/", 2)[0] // the agent's directory
		up := ""                                                               // from where that stands to the home
		if strings.HasPrefix(file, ".config/") {
			top, up = ".config/"+top, "../"
		}
		below := strings.TrimPrefix(file, top+"/")
		scenes := map[string]map[string]string{
			"nothing":                {},
			"the agent's directory":  {top + "/keep": "x"},
			"a linked directory":     {top: "-> " + up + "dotfiles/agent", "dotfiles/agent/keep": "x"},
			"a link to a link":       {top: "-> " + up + "dotfiles/one", "dotfiles/one": "-> two", "dotfiles/two/keep": "x"},
			"another link beside it": {dir + "/other": "-> ../elsewhere", dir + "/broken": "-> nowhere"},
		}
		if !whole {
			scenes["a linked file"] = map[string]string{file: "-> ../dotfiles/" + base, "dotfiles/" + base: "{\n\t\"hooks\": {}\n}\n"}
			scenes["a linked file in a linked directory"] = map[string]string{top: "-> dotfiles/agent", "dotfiles/agent/" + below: "-> ../" + base, "dotfiles/" + base: "{}"}
		}
		if whole {
			for name, text := range configurations(t) { // the neighbours of a file that is assent's alone
				scenes["beside "+name] = map[string]string{dir + "/other" + filepath.Ext(file): string(text), top + "/" + filepath.Base(top) + ".json": string(text), top + "/config.json": "// mine\r\n" + string(text)}
			}
		}
		for name, before := range scenes {
			t.Run(agent+"/"+name, func(t *testing.T) {
				home := t.TempDir()
				inHome(t, home, before)
				was := tree(t, home)
				o, err := Options(agent, env(map[string]string{"HOME": home}), t.TempDir(), []string{"/opt/assent-hook"}, Choices{})
				if err != nil {
					t.Fatal(err)
				}
				scene{t, o, o.Format.Path}.apply(install.Install(o))
				now := tree(t, home)
				real, err := filepath.EvalSymlinks(filepath.Join(home, file))
				if err != nil {
					t.Fatal(err)
				}
				written := strings.TrimPrefix(real, home)
				if !strings.Contains(now[written], "assent-hook") {
					t.Errorf("no hooks in %s", written)
				}
				for path, text := range was {
					if path != written && now[path] != text {
						t.Errorf("install changed %s:\n%s", path, now[path])
					}
				}
				scene{t, o, o.Format.Path}.apply(install.Uninstall(o))
				if left := tree(t, home); !maps.Equal(left, was) {
					t.Errorf("uninstall left\n%q\nwant\n%q", left, was)
				}
			})
		}
	}
}
