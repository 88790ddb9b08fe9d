package pullrequest

import (
	"strings"
	"testing"

	"assent/internal/api"
)

func TestOpensTool(t *testing.T) {
	for name, want := range map[string]bool{
		"mcp__github__create_pull_request":               true,
		"mcp__plugin_github_github__create_pull_request": true,
		"mcp__github__create_pull_request_with_copilot":  true,
		"mcp__gitlab__create_merge_request":              true,
		"mcp__gitea__createPullRequest":                  true,
		"mcp__github__get_pull_request":                  false,
		"mcp__github__create_pull_request_review":        false,
		"mcp__create_pull_request":                       false,
		"create_pull_request":                            false,
		"mcp__create_pull_request__list":                 false,
		"mcp__github__":                                  false,
		"mcp__":                                          false,
		"":                                               false,
	} {
		if OpensTool(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

func TestFindTool(t *testing.T) {
	const is = "https://github.com/o/r/pull/42"
	for answer, want := range map[string]string{
		`{"id":"1","url":"https://github.com/o/r/pull/42"}` + "\n":                                                           is,
		`{"url":"https://api.github.com/repos/o/r/pulls/42","body":"https://github.com/o/r/pull/7","html_url":"` + is + `"}`: is,
		`{"web_url":"https://gitlab.example.com/g/r/-/merge_requests/9"}`:                                                    "https://gitlab.example.com/g/r/-/merge_requests/9",
		`{"url":"https://api.github.com/repos/o/r/pulls/42"}`:                                                                "",
		`{"url":"https://git.example.com/api/v1/repos/o/r/pulls/42"}`:                                                        "",
		`{"body":"after https://github.com/o/r/pull/7"}`:                                                                     "",
		`{"html_url":"see https://github.com/o/r/pull/7"}`:                                                                   "",
		`{"html_url":"https://github.com/o/r/pull/7/files","url":"` + is + `"}`:                                              "",
		`{"url":"` + is + `","url":"https://github.com/o/r/pull/7"}`:                                                         "",
		`{"url":"` + is + `","URL":"https://github.com/o/r/pull/7"}`:                                                         "",
		`{"url":"` + is + `"`:             "",
		`{"url":7}`:                       "",
		"Opened " + is + " (" + is + ").": is,
		"Opened " + is + ", after https://github.com/o/r/pull/7":    "",
		"failed: no commits between main and x":                     "",
		is + strings.Repeat(" ", 10) + strings.Repeat("x", maxHead): "",
		"": "",
	} {
		if pr, ok := FindTool(answer); pr.URL != want && (ok || want != "") || ok != (want != "") {
			t.Errorf("%.120q: %+v, %t", answer, pr, ok)
		}
	}
}

func FuzzFindTool(f *testing.F) {
	f.Add(`{"url":"https://github.com/o/r/pull/42"}`)
	f.Add("https://a/b/c/-/merge_requests/9 x")
	f.Fuzz(func(t *testing.T, answer string) {
		pr, ok := FindTool(answer)
		if !ok {
			return
		}
		if again, ok := Find(pr.URL); !ok || again != pr || (api.AgentPR{}) == pr || len(pr.URL) > maxURL {
			t.Errorf("%q: %+v", answer, pr)
		}
	})
}
