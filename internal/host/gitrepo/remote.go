package gitrepo

import (
	"path"
	"strings"
)

const (
	maxConfig = 1 << 20
	maxRemote = 2 << 10
)

// remote returns the URL of origin, or of the first remote where there is no origin, without
// credentials. Includes and url.<base>.insteadOf are not followed.
func (g gitDirs) remote() string {
	return StripCredentials(remoteURL(string(readUpTo(path.Join(g.common, "config"), maxConfig))))
}

// remoteURL reads a git configuration.
func remoteURL(conf string) string {
	first, remote := "", ""
	for conf != "" {
		var line string
		line, conf, _ = strings.Cut(conf, "\n")
		line = strings.TrimLeft(line, " \t")
		if strings.HasPrefix(line, "[") {
			remote, line = section(line)
		}
		if remote == "" {
			continue
		}
		key, raw, ok := strings.Cut(line, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(key), "url") {
			continue
		}
		for strings.HasSuffix(strings.TrimSuffix(raw, "\r"), `\`) && conf != "" { // goes on in the next line
			var more string
			more, conf, _ = strings.Cut(conf, "\n")
			raw = strings.TrimSuffix(strings.TrimSuffix(raw, "\r"), `\`) + more
		}
		v := value(raw)
		if remote == "origin" && v != "" {
			return v
		}
		if first == "" {
			first = v
		}
	}
	return first
}

// section reads `[remote "name"] rest`. The name is empty for every other section.
func section(line string) (remote, rest string) {
	head, quoted, ok := strings.Cut(line[1:], `"`)
	if end := strings.IndexByte(line, ']'); !ok || end >= 0 && end < 1+len(head) {
		return "", line[end+1:]
	}
	var name []byte
	for i := 0; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '\\' && i+1 < len(quoted):
			i++
			name = append(name, quoted[i])
		case c == '"':
			rest = quoted[i+1:]
			if !strings.HasPrefix(rest, "]") {
				return "", ""
			}
			if !strings.EqualFold(strings.TrimRight(head, " \t"), "remote") {
				return "", rest[1:]
			}
			return string(name), strings.TrimLeft(rest[1:], " \t")
		default:
			name = append(name, c)
		}
	}
	return "", ""
}

// value reads the right side of an assignment: quotes, escapes, comments.
func value(raw string) string {
	var v []byte
	quoted, keep := false, 0 // keep: length that trailing blanks do not count for
	raw = strings.TrimLeft(raw, " \t")
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			i++
			switch raw[i] {
			case 'n':
				v = append(v, '\n')
			case 't':
				v = append(v, '\t')
			default:
				v = append(v, raw[i])
			}
			keep = len(v)
		case c == '"':
			quoted = !quoted
			keep = len(v)
		case !quoted && (c == '#' || c == ';'):
			return string(v[:keep])
		default:
			v = append(v, c)
			if quoted || c != ' ' && c != '\t' && c != '\r' {
				keep = len(v)
			}
		}
	}
	return string(v[:keep])
}

// Name returns what a remote's address calls the repository, such as filipexyz/notif; "" where it is the address of no
// host, or holds no owner and name.
func Name(remote string) string {
	scheme, path, ok := strings.Cut(remote, "://")
	switch {
	case scheme == "file":
		return ""
	case ok:
		_, path, ok = strings.Cut(path, "/")
	default:
		_, path, ok = strings.Cut(remote, ":") // user@host:path
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	words := strings.Split(path, "/")
	if !ok || len(path) > maxName || len(words) < 2 {
		return ""
	}
	for _, w := range words {
		if strings.Trim(w, ".") == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			return ""
		}
	}
	return path
}

// maxName bounds what Name returns, in bytes.
const maxName = 200

// StripCredentials removes from a remote's URL whatever could be a secret: the user and the
// password (for ssh the password only, the user is part of the address there), the query and
// the fragment. A URL that cannot be taken apart with certainty becomes empty.
func StripCredentials(url string) string {
	if len(url) > maxRemote {
		return ""
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return stripSCP(url)
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	if i := strings.IndexAny(tail, "?#"); i >= 0 {
		tail = tail[:i]
	}
	user := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, authority = authority[:i], authority[i+1:]
		user, _, _ = strings.Cut(user, ":")
	}
	// A "port" that is none is the first part of a password with a slash in it.
	if !plainHostPort(authority) {
		return ""
	}
	if isSSH(scheme) && user != "" {
		authority = user + "@" + authority
	}
	return scheme + "://" + authority + tail
}

// stripSCP handles "user@host:path" and local paths.
func stripSCP(url string) string {
	before, after, ok := strings.Cut(url, "@")
	if !ok || strings.ContainsAny(before, "/\\") {
		return url
	}
	// A password before the "@" may itself hold one.
	if i := strings.IndexAny(after, ":/"); i >= 0 && strings.IndexByte(after[:i], '@') >= 0 {
		return ""
	}
	user, _, secret := strings.Cut(before, ":")
	if secret {
		return user + "@" + after
	}
	return url
}

func isSSH(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "ssh", "git+ssh", "ssh+git":
		return true
	}
	return false
}

func plainHostPort(s string) bool {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
	}
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return false
		}
	}
	return !strings.Contains(host, ":") || strings.HasPrefix(host, "[")
}
