package hookclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"assent/internal/hook"
)

const (
	maxHead = 16 << 10 // of a response, all interim ones together
	maxBody = 8 << 20
)

// errMalformed is a response that is no HTTP as we want it, as opposed to one that broke off.
var errMalformed = errors.New("the broker's answer is not readable")

// conn is a connection to the broker that may carry several exchanges.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func newConn(c net.Conn) *conn { return &conn{c, bufio.NewReader(c)} }

// request is what is sent besides the event itself.
type request struct {
	to        *target
	event     *hook.Event
	remaining time.Duration // 0: not sent
	onTimeout hook.Fallback
	secret    string     // sent with remaining
	tail      Transcript // of the agent's transcript
	keep      bool       // another exchange may follow on this connection
	refusal   string     // why the answer is not printed: that is all that is sent
}

func (q *request) head() []byte {
	b := make([]byte, 0, 1<<10)
	path := q.to.path
	if q.refusal != "" {
		path += hook.RefusedRoute
	}
	if len(q.tail.Text) > 0 {
		path += hook.ContextRoute
	}
	b = append(b, "POST "+path+" HTTP/1.1\r\nHost: "+q.to.host+"\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(q.event.Raw)+len(q.tail.Text)), 10)
	b = append(b, "\r\n"...)
	if !q.keep {
		b = append(b, "Connection: close\r\n"...)
	}
	if q.to.token != "" {
		b = append(b, "Authorization: Bearer "+q.to.token+"\r\n"...)
	}
	b = appendHeader(b, hook.HeaderVersion, q.to.version)
	b = appendEvent(b, *q.event)
	if q.remaining > 0 {
		b = appendHeader(b, hook.HeaderRemaining, strconv.FormatInt(q.remaining.Milliseconds(), 10))
		b = appendHeader(b, hook.HeaderOnTimeout, string(q.onTimeout))
		b = appendHeader(b, hook.HeaderReattachSecret, q.secret)
		if q.to.remote {
			b = appendHeader(b, hook.HeaderInterim, "1")
		}
	}
	b = appendHeader(b, hook.HeaderRefused, q.refusal)
	if n := len(q.tail.Text); n > 0 {
		b = appendHeader(b, hook.HeaderContextLength, strconv.Itoa(n))
	} else {
		b = appendHeader(b, hook.HeaderContextWhy, q.tail.Why)
	}
	return append(b, "\r\n"...)
}

// send writes the whole request.
func (c *conn) send(q *request) error {
	bufs := net.Buffers{q.head(), q.event.Raw, q.tail.Text}
	_, err := bufs.WriteTo(c.Conn)
	return err
}

// response is a broker's answer. The body is read for status 200 only.
type response struct {
	status int
	body   []byte
	again  bool // the connection can carry another exchange
	retry  bool // see hook.HeaderRetry: until the deadline
	soon   bool // likewise, for as long as it is said
	held   bool // the broker said before that it holds the request, see hook.HeaderInterim
	about  about
}

// about is what the broker says beside an answer, percent-encoded as it came. The program does not
// need it; see Submit.
type about struct{ outcome, byKind, byName, byFile string }

// receive reads the answer. An error other than errMalformed means that the connection broke
// before it was complete.
func (c *conn) receive() (response, error) {
	budget, held := maxHead, false
	for {
		r, length, chunked, err := c.responseHead(&budget)
		r.held = held
		switch {
		case err != nil:
			return response{}, err
		case r.status == 101:
			return response{}, errMalformed
		case r.status < 200: // interim
			held = held || r.status == 102
			continue
		case r.status == 204:
			return r, nil
		case r.status != 200:
			r.again = false // its body stays unread
			return r, nil
		case chunked:
			r.body, err = c.chunks(&budget)
		case length < 0 || length > maxBody:
			// A body that ends with the connection could have broken off anywhere.
			err = errMalformed
		default:
			r.body = make([]byte, length)
			_, err = io.ReadFull(c.r, r.body)
		}
		return r, err
	}
}

// line reads one line, without its end, of at most what is left of the budget.
func (c *conn) line(budget *int) ([]byte, error) {
	b, err := c.r.ReadSlice('\n')
	*budget -= len(b)
	if errors.Is(err, bufio.ErrBufferFull) || *budget < 0 {
		return nil, errMalformed
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b[:len(b)-1], []byte("\r")), nil
}

func (c *conn) responseHead(budget *int) (r response, length int64, chunked bool, err error) {
	fail := func(err error) (response, int64, bool, error) { return response{}, 0, false, err }
	b, err := c.line(budget)
	if err != nil {
		return fail(err)
	}
	// "HTTP/1.1 200 OK"
	if len(b) < 12 || string(b[:7]) != "HTTP/1." || b[8] != ' ' || len(b) > 12 && b[12] != ' ' {
		return fail(errMalformed)
	}
	status, err := strconv.ParseUint(string(b[9:12]), 10, 16)
	if err != nil || status < 100 {
		return fail(errMalformed)
	}
	r = response{status: int(status), again: b[7] == '1'}
	length = -1
	for {
		if b, err = c.line(budget); err != nil {
			return fail(err)
		}
		if len(b) == 0 {
			if chunked && length >= 0 {
				return fail(errMalformed) // two truths about where the body ends
			}
			return r, length, chunked, nil
		}
		name, value, ok := bytes.Cut(b, []byte(":"))
		if !ok {
			return fail(errMalformed)
		}
		v := string(bytes.TrimSpace(value))
		switch strings.ToLower(string(name)) {
		case "content-length":
			n, err := strconv.ParseUint(v, 10, 62)
			if err != nil || length >= 0 && length != int64(n) {
				return fail(errMalformed)
			}
			length = int64(n)
		case "transfer-encoding":
			if chunked || !strings.EqualFold(v, "chunked") {
				return fail(errMalformed)
			}
			chunked = true
		case "content-encoding":
			if !strings.EqualFold(v, "identity") {
				return fail(errMalformed)
			}
		case "assent-outcome":
			r.about.outcome = v
		case "assent-by-kind":
			r.about.byKind = v
		case "assent-by-name":
			r.about.byName = v
		case "assent-by-file":
			r.about.byFile = v
		case "assent-retry":
			r.retry, r.soon = v == hook.RetryUntilDeadline, v == hook.RetrySoon
		case "connection":
			if strings.EqualFold(v, "close") {
				r.again = false
			}
		}
	}
}

// chunks reads a body in chunks, which a proxy before the broker may make of it.
func (c *conn) chunks(budget *int) ([]byte, error) {
	var body []byte
	for {
		b, err := c.line(budget)
		if err != nil {
			return nil, err
		}
		size, _, _ := bytes.Cut(b, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if err != nil || len(body)+int(n) > maxBody {
			return nil, errMalformed
		}
		if n == 0 {
			break
		}
		from := len(body)
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(c.r, body[from:]); err != nil {
			return nil, err
		}
		if b, err := c.line(budget); err != nil || len(b) > 0 {
			return nil, orMalformed(err)
		}
	}
	for { // trailers
		b, err := c.line(budget)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			return body, nil
		}
	}
}

func orMalformed(err error) error {
	if err == nil {
		return errMalformed
	}
	return err
}
