package pullrequest

import (
	"slices"
	"strings"

	"assent/internal/api"
	"assent/internal/text/strictjson"
)

// tools are what servers call the tool that opens a pull request, without case and what is between its words.
var tools = []string{"createpullrequest", "createpr", "createmergerequest", "createmr", "createpullrequestwithcopilot"}

// OpensTool reports whether a tool of an MCP server, mcp__SERVER__TOOL, opens a pull request.
func OpensTool(name string) bool {
	if !strings.HasPrefix(name, "mcp__") {
		return false
	}
	i := strings.LastIndex(name, "__")
	if i < len("mcp__") {
		return false
	}
	return slices.Contains(tools, strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name[i:])))
}

// FindTool returns the pull request that such a tool says it opened: what its answer, a JSON object, has as the address
// for people. In words, only one that stands there alone, for a description may name others.
func FindTool(answer string) (api.AgentPR, bool) {
	answer = strings.TrimSpace(answer)
	if len(answer) > maxHead {
		return api.AgentPR{}, false // the end of an object does not say which address is its own
	}
	if strings.HasPrefix(answer, "{") {
		return named(answer)
	}
	all := address.FindAllString(answer, -1)
	if len(all) == 0 || len(slices.Compact(slices.Sorted(slices.Values(all)))) > 1 {
		return api.AgentPR{}, false
	}
	return Find(all[0])
}

// named is the pull request that an object says it is: of GitHub's and Gitea's API in html_url, of GitLab's in web_url,
// and of servers that shorten what these say in url, which is else the address for programs.
func named(object string) (api.AgentPR, bool) {
	members, err := strictjson.Object([]byte(object))
	if err != nil {
		return api.AgentPR{}, false
	}
	if _, twice := strictjson.Repeated(members); twice {
		return api.AgentPR{}, false
	}
	for _, key := range []string{"html_url", "web_url", "url"} {
		for _, m := range members {
			if m.Key != key || len(m.Value) < 2 || m.Value[0] != '"' {
				continue
			}
			text := strictjson.Text(m.Value)
			pr, ok := Find(text)
			return pr, ok && pr.URL == text && !strings.HasPrefix(text, "https://api.") && !strings.Contains(text, "/api/v")
		}
	}
	return api.AgentPR{}, false
}
