package hookclient

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
)

func event(id, typ, raw string) hook.Event {
	return hook.Event{ID: id, Type: typ, Agent: "claude", Time: time.Unix(1700000000, 5).UTC(), Attempt: 1, Raw: []byte(raw)}
}

// fixed is a connection that says what it was given.
type fixed struct {
	net.Conn
	io.Reader
}

func (f fixed) Read(b []byte) (int, error) { return f.Reader.Read(b) }

func receiveFrom(in []byte) (response, error) {
	return newConn(fixed{Reader: bytes.NewReader(in)}).receive()
}

func TestReceive(t *testing.T) {
	broke := errors.New("any error but errMalformed")
	head := "HTTP/1.1 200 OK\r\n"
	cases := []struct {
		name, in string
		status   int
		body     string
		err      error
	}{
		{"answer", head + "Content-Length: 2\r\n\r\n{}", 200, "{}", nil},
		{"name in any case", head + "content-LENGTH:2\r\n\r\n{}", 200, "{}", nil},
		{"empty", head + "Content-Length: 0\r\n\r\n", 200, "", nil},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", nil},
		{"no reason", "HTTP/1.1 204\r\n\r\n", 204, "", nil},
		{"interim first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + head + "Content-Length: 2\r\n\r\n{}", 200, "{}", nil},
		{"chunks", head + "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\nT: v\r\n\r\n", 200, "{}", nil},
		{"other status", "HTTP/1.1 503 no\r\nContent-Length: 99\r\n\r\n", 503, "", nil},

		{"nothing", "", 0, "", broke},
		{"half a head", head + "Content-Le", 0, "", broke},
		{"half a body", head + "Content-Length: 3\r\n\r\n{}", 200, "", broke},
		{"half a chunk", head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{}", 200, "", broke},
		{"no last chunk", head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 200, "", broke},

		{"no length", head + "\r\n{}", 0, "", errMalformed},
		{"body too large", head + "Content-Length: " + strconv.Itoa(maxBody+1) + "\r\n\r\n", 0, "", errMalformed},
		{"negative length", head + "Content-Length: -1\r\n\r\n", 0, "", errMalformed},
		{"two lengths", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}", 0, "", errMalformed},
		{"length and chunks", head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 0, "", errMalformed},
		{"compressed", head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 0, "", errMalformed},
		{"chunk too large", head + "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n", 0, "", errMalformed},
		{"chunk without end", head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", 0, "", errMalformed},
		{"head too large", head + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 20) + "\r\n", 0, "", errMalformed},
		{"line too long", head + "A: " + strings.Repeat("b", maxHead) + "\r\n\r\n", 0, "", errMalformed},
		{"interim for ever", strings.Repeat("HTTP/1.1 100 x\r\n\r\n", 2000), 0, "", errMalformed},
		{"upgrade", "HTTP/1.1 101 x\r\n\r\n", 0, "", errMalformed},
		{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, "", errMalformed},
		{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", 0, "", errMalformed},
		{"strange status", "HTTP/1.1 20x OK\r\n\r\n", 0, "", errMalformed},
		{"header without colon", head + "abc\r\n\r\n", 0, "", errMalformed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := receiveFrom([]byte(c.in))
			switch {
			case c.err == nil && err != nil,
				c.err == errMalformed && !errors.Is(err, errMalformed),
				c.err == broke && (err == nil || errors.Is(err, errMalformed)):
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if c.err == nil && (r.status != c.status || string(r.body) != c.body) {
				t.Errorf("got %d %q", r.status, r.body)
			}
		})
	}
}

func TestSortAnswer(t *testing.T) {
	cases := []struct {
		status int
		body   string
		want   state
		print  string
	}{
		{204, "", answered, ""},
		{200, "", answered, ""},
		{200, "{\"a\":1}\n", answered, "{\"a\":1}\n"},
		{200, "<html></html>", refused, ""},
		{200, "allowed", refused, ""},
		{200, "log\n{}", refused, ""},
		{201, "{}", refused, ""},
		{302, "", refused, ""},
		{400, "{}", refused, ""},
		{401, "", refused, ""},
		{404, "", refused, ""},
		{409, "{}", conflict, ""},
		{429, "", unavailable, ""},
		{500, "{}", refused, ""},
		{502, "", unreachable, ""},
		{503, "{}", unavailable, ""},
		{504, "", gatewayLate, ""},
		{524, "", gatewayLate, ""},
	}
	for _, c := range cases {
		if r := sortAnswer(response{status: c.status, body: []byte(c.body)}); r.state != c.want || string(r.body) != c.print {
			t.Errorf("%d %q: got %d %q", c.status, c.body, r.state, r.body)
		}
	}
	// A broker that held the request is behind the proxy that says so: another one may have it by now.
	for _, status := range []int{502, 503, 504} {
		if r := sortAnswer(response{status: status, held: true}); r.state != broken && r.state != gatewayLate {
			t.Errorf("%d after 102: got %d", status, r.state)
		}
	}
}

func TestParseURL(t *testing.T) {
	good := []struct {
		in, norm, name, addr, path string
	}{
		{"https://broker.example", "https://broker.example", "broker.example", "broker.example:443", ""},
		{"https://broker.example:8443/a/b/", "https://broker.example:8443/a/b", "broker.example", "broker.example:8443", "/a/b"},
		{"HTTPS://[2001:db8::1]:1/", "https://[2001:db8::1]:1", "2001:db8::1", "[2001:db8::1]:1", ""},
		{"http://127.0.0.1:7717", "http://127.0.0.1:7717", "127.0.0.1", "127.0.0.1:7717", ""},
		{"http://localhost:7717", "http://localhost:7717", "localhost", "localhost:7717", ""},
		{"http://[::1]:7717", "http://[::1]:7717", "::1", "[::1]:7717", ""},
	}
	for _, c := range good {
		u, err := ParseURL(c.in)
		if err != nil || u.String() != c.norm || u.Name != c.name || u.Addr != c.addr || u.Path != c.path {
			t.Errorf("%s: %+v %v", c.in, u, err)
		}
	}
	for _, in := range []string{"", "broker.example", "ftp://a", "https://", "https:///x", "http://broker.example", "http://10.0.0.1:1",
		"http://localhost.example:1", "http://127.0.0.1.example", "https://u:p@h", "https://h?x", "https://h#x", "https://h:0", "https://h:x",
		"https://h:", "https://h:65536", "https://a b", "https://h/\r\nX: y", "https://[::1", "https://[x]", "https://[::1]x", "https://::1/", "https://h/ü"} {
		if u, err := ParseURL(in); err == nil {
			t.Errorf("%q taken: %+v", in, u)
		}
	}
}

// The request must be one that no server can misread, whatever the environment holds.
func TestRequestHead(t *testing.T) {
	e := event("id", "A\r\nX: y", "{}")
	e.Origin = hook.Origin{Host: "h\n", PID: 7, AgentLabel: "ü\r\n\r\n", ProjectDir: strings.Repeat("x", hook.MaxLabel+1)}
	q := request{to: &target{host: "assent", path: "/v1/hooks", token: "tok"}, event: &e, remaining: 1500 * time.Millisecond, onTimeout: hook.Deny}
	want := "POST /v1/hooks HTTP/1.1\r\nHost: assent\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n" +
		"Authorization: Bearer tok\r\nAssent-Request-Id: id\r\nAssent-Agent: claude\r\nAssent-Event: A%0D%0AX:%20y\r\n" +
		"Assent-Event-Time: 2023-11-14T22:13:20.000000005Z\r\nAssent-Host: h%0A\r\nAssent-Pid: 7\r\nAssent-Agent-Label: %C3%BC%0D%0A%0D%0A\r\n" +
		"Assent-Attempt: 1\r\nAssent-Remaining-Ms: 1500\r\nAssent-On-Timeout: deny\r\n\r\n"
	if got := string(q.head()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := newID()
		if len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
			t.Fatalf("%q is no UUID of version 4", id)
		}
		if seen[id] {
			t.Fatalf("%q twice", id)
		}
		seen[id] = true
	}
}
