package policy

import (
	"path"
	"strings"
)

// RepoName is a remote's URL as rules name repositories: host and path, "github.com/acme/app".
// It is empty where that is not certain.
func RepoName(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	var host, where string
	if ok {
		if strings.EqualFold(scheme, "file") {
			return ""
		}
		host, where, ok = strings.Cut(rest, "/")
		host = host[strings.LastIndexByte(host, '@')+1:]
		host, _, _ = strings.Cut(host, ":")
	} else { // git@github.com:acme/app.git; a slash before the colon makes it a path
		host, where, ok = strings.Cut(remote, ":")
		host = host[strings.LastIndexByte(host, '@')+1:]
	}
	where = strings.TrimSuffix(strings.TrimSuffix(where, "/"), ".git")
	certain := ok && host != "" && where != "" && !strings.Contains(host, "/") &&
		path.Clean("/"+where) == "/"+where && !strings.ContainsAny(host+where, "%\\?#*[] \t\n")
	if !certain {
		return ""
	}
	return strings.ToLower(host) + "/" + where
}
