package phone

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"
)

// Step is something that a phone did on its way.
type Step string

// The steps that a Guide sees.
const (
	Opened     Step = "opened"     // the page with the root certificate
	Downloaded Step = "downloaded" // the root certificate
	Trusted    Step = "trusted"    // it spoke https with the certificate of the root
)

// Guide shows a phone how to trust the root certificate of a door, and hears how far it came. It serves
// what is public and the same for everybody, holds no code and can pair nobody.
type Guide struct {
	// Host and Check are addresses with ports: of the page in plain http, and of its check in https.
	Host, Check string
	Root        []byte // the certificate, DER
	Name        string // of the authority
	// Saw hears of each step. It is called by many goroutines and must not wait.
	Saw func(s Step, from netip.Addr)
}

const guideStyle = `body{font:17px/1.5 system-ui,sans-serif;margin:0 auto;padding:24px;max-width:34em;color:#1b1f24;background:#fff}
h1{font-size:24px;line-height:1.25}h2{font-size:18px;margin:28px 0 4px}ol{padding-left:24px;margin:8px 0}li{margin:6px 0}
a.do{display:block;text-align:center;padding:14px;margin:12px 0;border-radius:10px;background:#1a6b3c;color:#fff;text-decoration:none;font-weight:600}
a.do.second{background:none;color:#1a6b3c;border:1px solid #1a6b3c}code{overflow-wrap:anywhere;font-size:14px}small{color:#57606a}summary{padding:10px 0;color:#1a6b3c}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}small{color:#9aa4af}summary{color:#6fcf97}a.do{background:#2e8f57}a.do.second{color:#6fcf97;border-color:#6fcf97;background:none}}`

// guideScript asks for the check until the certificate is trusted.
const guideScript = `const check = document.getElementById("check").href;
const again = () => fetch(check + "trusted", { mode: "cors", cache: "no-store" }).then((r) => { if (r.ok) location.href = check; else throw 0; }).catch(() => setTimeout(again, 2000));
again();
`

var guidePage = template.Must(template.New("guide").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>assent on this phone</title><style>` + guideStyle + `</style></head><body>
<h1>Have this phone trust your assent</h1>
<p>A certificate of your own machine, once. It counts for <code>{{.For}}</code> and nothing else.</p>
<p><small>Before you install it, look at its details on this phone: its SHA-256 has to be the one in the terminal.</small></p>
{{define "apple"}}
<a class="do" href="/assent-root.mobileconfig">Download the profile</a>
<ol><li>Allow the download.</li><li>Settings → <b>Profile Downloaded</b> → Install.</li><li>Settings → General → About → <b>Certificate Trust Settings</b>: switch it on.</li></ol>{{end}}
{{define "android"}}
<a class="do" href="/assent-root.crt">Download the certificate</a>
<ol><li>Settings, search for <b>CA certificate</b> (under Security, Encryption and credentials).</li><li>Install anyway, and choose <code>assent-root.crt</code>.</li></ol>{{end}}
{{if .Android}}{{template "android"}}{{else}}{{template "apple"}}{{end}}
<details><summary>{{if .Android}}On an iPhone or iPad{{else}}On Android{{end}}</summary>{{if .Android}}{{template "apple"}}{{else}}{{template "android"}}{{end}}</details>
<h2>Then</h2>
<p>Come back here. This page goes on by itself as soon as the certificate is trusted.</p>
<a class="do second" id="check" href="https://{{.Check}}/">Go on</a>
<script src="/guide.js"></script></body></html>
`))

var trustedPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>assent on this phone</title><style>` + guideStyle + `</style></head><body>
<h1>✓ This phone trusts your assent</h1>
<p>Now scan the second code, which the terminal shows. It pairs this phone.</p>
</body></html>
`

// styleHash lets the pages' own style in.
var styleHash = func() string {
	sum := sha256.Sum256([]byte(guideStyle))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// Handler serves the page in plain http.
func (g *Guide) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		g.saw(Opened, r)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = guidePage.Execute(w, map[string]any{ // the phone may be gone
			"For": hostname(g.Host), "Check": g.Check, "Android": strings.Contains(r.UserAgent(), "Android"),
		})
	})
	mux.HandleFunc("GET /guide.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write([]byte(guideScript))
	})
	mux.HandleFunc("GET /assent-root.crt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-x509-ca-cert")
		w.Header().Set("Content-Disposition", `attachment; filename="assent-root.crt"`)
		if _, err := w.Write(g.Root); err == nil && r.Method == http.MethodGet {
			g.saw(Downloaded, r)
		}
	})
	profile := Profile(g.Name, g.Root)
	mux.HandleFunc("GET /assent-root.mobileconfig", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-apple-aspen-config")
		if _, err := w.Write(profile); err == nil && r.Method == http.MethodGet {
			g.saw(Downloaded, r)
		}
	})
	return guarded(g.Host, "connect-src https://"+g.Check+"; script-src 'self'", mux)
}

// CheckHandler serves the check in https. Who reaches it has accepted the certificate.
func (g *Guide) CheckHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		g.saw(Trusted, r)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(trustedPage))
	})
	mux.HandleFunc("GET /trusted", func(w http.ResponseWriter, r *http.Request) {
		g.saw(Trusted, r)
		w.Header().Set("Access-Control-Allow-Origin", "http://"+g.Host)
		w.WriteHeader(http.StatusNoContent)
	})
	return guarded(g.Check, "", mux)
}

func (g *Guide) saw(s Step, r *http.Request) {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	g.Saw(s, from.Addr().Unmap())
}

// guarded answers to one Host only, and lets nothing in but what these pages need.
func guarded(host, more string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src "+styleHash+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "+more)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if r.Host != host {
			http.Error(w, "this page does not answer to that name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func hostname(addr string) string {
	if ap, err := netip.ParseAddrPort(addr); err == nil {
		return ap.Addr().String()
	}
	return addr
}

// Profile is a configuration profile for iOS that installs the root certificate (Apple, Device Management,
// CertificateRoot). It is not signed, and iOS says so.
func Profile(name string, root []byte) []byte {
	id := "assent.root." + strings.ToLower(strings.ReplaceAll(Fingerprint(root), ":", ""))[:16]
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>PayloadType</key><string>Configuration</string>
<key>PayloadVersion</key><integer>1</integer>
<key>PayloadIdentifier</key><string>%[1]s</string>
<key>PayloadUUID</key><string>%[2]s</string>
<key>PayloadDisplayName</key><string>%[4]s</string>
<key>PayloadDescription</key><string>Lets this device open the page of assent on your machine. The certificate counts for that machine only.</string>
<key>PayloadContent</key><array><dict>
<key>PayloadType</key><string>com.apple.security.root</string>
<key>PayloadVersion</key><integer>1</integer>
<key>PayloadIdentifier</key><string>%[1]s.certificate</string>
<key>PayloadUUID</key><string>%[3]s</string>
<key>PayloadDisplayName</key><string>%[4]s</string>
<key>PayloadCertificateFileName</key><string>assent-root.crt</string>
<key>PayloadContent</key><data>%[5]s</data>
</dict></array>
</dict></plist>
`, id, uuid.NewSHA1(uuid.NameSpaceOID, append([]byte("profile"), root...)), uuid.NewSHA1(uuid.NameSpaceOID, root),
		template.HTMLEscapeString(name), base64.StdEncoding.EncodeToString(root))
}
