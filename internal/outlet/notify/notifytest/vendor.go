// Package notifytest stands in for the push services of browsers' vendors, and for the browsers:
// it checks what a push service checks (RFC 8030, RFC 8292) and decrypts what a browser decrypts
// (RFC 8291), with the standard library alone.
//
// # Concurrency
//
// A Vendor may be used from any goroutine. It starts none.
package notifytest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Got is one message that a browser would have got.
type Got struct {
	Browser *Browser
	Plain   []byte
	Topic   string
	Urgency string
	TTL     int
	Subject string // of the sender
	At      time.Time
}

// Browser is one that has subscribed.
type Browser struct {
	Endpoint     string
	P256dh, Auth string // base64url

	private *ecdh.PrivateKey
	secret  []byte
	sender  string // the applicationServerKey
	gone    bool   // guarded by Vendor.mu
}

// Vendor is a push service. Make it with New.
type Vendor struct {
	mu     sync.Mutex
	origin string
	byPath map[string]*Browser // guarded by mu
	got    []Got               // guarded by mu
	tries  int                 // guarded by mu
	wrong  []string            // guarded by mu
	answer http.HandlerFunc    // guarded by mu; nil: as it should be
}

// New returns a push service under an origin, such as "https://push.example".
func New(origin string) *Vendor {
	return &Vendor{origin: origin, byPath: map[string]*Browser{}}
}

// Subscribe makes a browser subscribe to the sender with that applicationServerKey.
func (v *Vendor) Subscribe(sender string) *Browser {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil { // crypto/rand does not fail
		panic(err)
	}
	b := &Browser{private: private, secret: make([]byte, 16), sender: sender}
	_, _ = rand.Read(b.secret)
	path := "/send/" + rand.Text()
	b.Endpoint = v.origin + path
	b.P256dh = base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes())
	b.Auth = base64.RawURLEncoding.EncodeToString(b.secret)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byPath[path] = b
	return b
}

// JSON is the subscription as PushSubscription.toJSON gives it.
func (b *Browser) JSON() []byte {
	doc, err := json.Marshal(map[string]any{
		"endpoint": b.Endpoint, "expirationTime": nil, "keys": map[string]string{"p256dh": b.P256dh, "auth": b.Auth},
	})
	if err != nil { // texts only
		panic(err)
	}
	return doc
}

// Unsubscribe ends a subscription as a person does in the browser: the sender learns it from
// the next answer.
func (v *Vendor) Unsubscribe(b *Browser) {
	v.mu.Lock()
	defer v.mu.Unlock()
	b.gone = true
}

// Answer lets f answer from now on instead; nil goes back. What f answers with counts as not
// delivered.
func (v *Vendor) Answer(f http.HandlerFunc) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answer = f
}

// Got returns what arrived, oldest first.
func (v *Vendor) Got() []Got {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Got(nil), v.got...)
}

// Tries says how many messages were tried to send, delivered or not.
func (v *Vendor) Tries() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.tries
}

// Wrong returns what was wrong with messages; a test wants none.
func (v *Vendor) Wrong() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.wrong...)
}

// ServeHTTP takes one message.
func (v *Vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.tries++
	answer, b := v.answer, v.byPath[r.URL.Path]
	gone := b != nil && b.gone
	v.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	if b == nil {
		http.Error(w, "no such subscription", http.StatusNotFound)
		return
	}
	if gone {
		http.Error(w, "unsubscribed", http.StatusGone)
		return
	}
	g, err := v.take(b, r)
	if errors.Is(err, errAborted) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.wrong = append(v.wrong, err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v.got = append(v.got, g)
	w.WriteHeader(http.StatusCreated)
}

// RoundTrip makes a Vendor a network of its own, for tests in a synctest bubble.
func (v *Vendor) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	done := make(chan struct{})
	go func() { defer close(done); v.ServeHTTP(rec, r) }()
	select {
	case <-done:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: rec.status, Header: rec.header, Body: io.NopCloser(&rec.body), Request: r}, nil
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// errAborted: the sender ended in the middle of a message, as one does that is killed. Nothing can
// be said of such a message.
var errAborted = errors.New("the sender ended before the message did")

var topicForm = regexp.MustCompile(`^[A-Za-z0-9_-]{0,32}$`)

// take checks and decrypts a message.
func (v *Vendor) take(b *Browser, r *http.Request) (Got, error) {
	g := Got{Browser: b, Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency"), At: time.Now()}
	body, err := io.ReadAll(io.LimitReader(r.Body, 4097))
	if err != nil {
		return g, errAborted
	}
	if g.TTL, err = strconv.Atoi(r.Header.Get("TTL")); err != nil || g.TTL < 0 {
		return g, fmt.Errorf("TTL %q", r.Header.Get("TTL"))
	}
	switch {
	case r.Method != http.MethodPost:
		return g, errors.New("method " + r.Method)
	case r.Header.Get("Content-Encoding") != "aes128gcm":
		return g, fmt.Errorf("header Content-Encoding: %q", r.Header.Get("Content-Encoding"))
	case len(body) > 4096:
		return g, errors.New("a body above 4096 bytes")
	case !topicForm.MatchString(g.Topic):
		return g, fmt.Errorf("header Topic: %q", g.Topic)
	case g.Urgency != "" && g.Urgency != "high" && g.Urgency != "normal" && g.Urgency != "low" && g.Urgency != "very-low":
		return g, fmt.Errorf("header Urgency: %q", g.Urgency)
	}
	if g.Subject, err = checkSender(r.Header.Get("Authorization"), v.origin, b.sender); err != nil {
		return g, err
	}
	g.Plain, err = Decrypt(body, b.private, b.secret)
	return g, err
}

// checkSender verifies a VAPID Authorization (RFC 8292) and returns its subject.
func checkSender(header, origin, want string) (subject string, err error) {
	scheme, rest, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "vapid") {
		return "", fmt.Errorf("header Authorization: scheme %q", scheme)
	}
	params := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		params[name] = value
	}
	if params["k"] != want {
		return "", errors.New("the key is not the one that the browser subscribed to")
	}
	point, err := base64.RawURLEncoding.DecodeString(params["k"])
	if err != nil || len(point) != 65 || point[0] != 4 {
		return "", errors.New("the key is no point on P-256")
	}
	parts := strings.Split(params["t"], ".")
	if len(parts) != 3 {
		return "", errors.New("the token is no JWT")
	}
	var head struct{ Typ, Alg string }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return "", errors.New("the token's signature has no 64 bytes")
	}
	for i, into := range []any{&head, &claims} {
		doc, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(doc, into)
		}
		if err != nil {
			return "", fmt.Errorf("the token: %w", err)
		}
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	left := time.Until(time.Unix(claims.Exp, 0))
	switch {
	case !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])):
		return "", errors.New("the token's signature is wrong")
	case head.Alg != "ES256":
		return "", fmt.Errorf("the token's alg is %q", head.Alg)
	case claims.Aud != origin:
		return "", fmt.Errorf("the token is for %q, not %q", claims.Aud, origin)
	case left <= 0 || left > 24*time.Hour:
		return "", fmt.Errorf("the token is valid for %v", left)
	case !strings.HasPrefix(claims.Sub, "https://") && !strings.HasPrefix(claims.Sub, "mailto:"):
		return "", fmt.Errorf("the token's subject is %q", claims.Sub)
	}
	return claims.Sub, nil
}

// Decrypt reads a message of one record (RFC 8188, RFC 8291) with the browser's private key and
// secret.
func Decrypt(body []byte, private *ecdh.PrivateKey, secret []byte) ([]byte, error) {
	if len(body) < 21 || len(body) < 21+int(body[20]) {
		return nil, errors.New("the body is shorter than its header")
	}
	salt, size, idLen := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	id, sealed := body[21:21+idLen], body[21+idLen:]
	if uint32(len(sealed)) > size {
		return nil, errors.New("more than one record")
	}
	sender, err := ecdh.P256().NewPublicKey(id)
	if err != nil {
		return nil, fmt.Errorf("the sender's key: %w", err)
	}
	shared, err := private.ECDH(sender)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(private.PublicKey().Bytes()) + string(id)
	ikm, err := hkdf.Key(sha256.New, shared, secret, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	plain = bytes.TrimRight(plain, "\x00")
	if len(plain) == 0 || plain[len(plain)-1] != 2 {
		return nil, errors.New("the padding has no end")
	}
	return plain[:len(plain)-1], nil
}
