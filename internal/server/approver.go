package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/hook"
)

// ApproverConfig says what an Approver serves, and for which broker. All but Log is required.
type ApproverConfig struct {
	// Assets is the page, of this program and not of the broker.
	Assets fs.FS
	// Broker is where the API is: http or https, a host, and no path. Client speaks to the same one and
	// Transport checks its certificate alike.
	Broker    *url.URL
	Client    *api.Client
	Transport http.RoundTripper
	// Host is where this one listens, such as 127.0.0.1:7727: what a browser calls it.
	Host string
	// Views says what is worked out of a request beside its fields.
	Views Views
	// Log hears of a broker that does not answer, or lies; nil: nobody does.
	Log *zap.Logger
}

// approver stands between a page of ours and a broker that may be anybody's.
type approver struct {
	*Server // its assets, its checks of who calls, and its way of writing to WebSockets

	cfg     ApproverConfig
	shown   shownInputs
	tickets tickets
}

// NewApprover is the page for approvers on a machine of theirs, before a broker elsewhere. Neither the code
// that shows a request and signs the answer comes from the broker, nor what is shown and signed of the
// input: that is read here, from the agent's own request. The rest of the API is handed on; of the broker's answers data
// alone passes: nothing that a browser would run in this page's origin.
//
// So a broker cannot have a key of this page sign an allow of an input that the page did not show.
func NewApprover(cfg ApproverConfig) (http.Handler, error) {
	assets, err := loadAssets(cfg.Assets)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	a := &approver{Server: &Server{assets: assets, log: cfg.Log, pingEvery: 10 * time.Second, deadAfter: 30 * time.Second, writeWait: 10 * time.Second}, cfg: cfg}
	a.named.Store(&names{hosts: map[string]bool{cfg.Host: true}, origins: map[string]bool{"http://" + cfg.Host: true}, url: "http://" + cfg.Host})
	r := chi.NewRouter()
	r.Use(a.recover, headers, a.host)
	r.NotFound(notFound)
	r.MethodNotAllowed(methodNotAllowed)
	page := r.With(limit(0), a.pageOrigin)
	for path := range a.assets {
		page.Get(path, a.asset)
		page.Head(path, a.asset)
	}
	proxy := a.proxy()
	call := r.With(a.origin)
	call.Get("/v1/ws", a.socket)
	call.Post("/v1/ws/ticket", a.ticket)
	call.Get("/v1/requests", a.list)
	const one = "/v1/requests/{id:[0-9a-f-]{36}}" // an id that is written otherwise could be read as another path
	call.Get(one, a.one)
	call.With(limit(maxDecision)).Post(one+"/decision", a.decision(proxy))
	call.Handle(one+"/*", proxy)
	call.Handle("/v1/requests/*", http.HandlerFunc(notFound))
	for _, path := range []string{"/v1/pair/start", "/v1/pair/redeem"} {
		call.With(limit(maxPairing)).Post(path, pairedHere(proxy))
	}
	call.Handle("/v1/*", proxy)
	call.Handle("/healthz", proxy)
	return r, nil
}

// proxy hands a call on as one of the broker's own page.
func (a *approver) proxy() *httputil.ReverseProxy {
	from := a.cfg.Broker.Scheme + "://" + a.cfg.Broker.Host
	return &httputil.ReverseProxy{
		Transport: a.cfg.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(a.cfg.Broker)
			r.Out.Host = a.cfg.Broker.Host
			if r.In.Header.Get("Origin") != "" {
				r.Out.Header.Set("Origin", from)
			}
			for _, name := range []string{"Cookie", "Referer", "Connection", "Upgrade"} {
				r.Out.Header.Del(name)
			}
		},
		ModifyResponse: onlyData,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				a.unanswered(w, err)
			}
		},
	}
}

func (a *approver) unanswered(w http.ResponseWriter, err error) {
	a.log.Warn("the broker does not answer", zap.String("broker", a.cfg.Broker.String()), zap.String("error", line(err.Error())))
	writeProblem(w, problem{Status: http.StatusBadGateway, Detail: "the broker at " + a.cfg.Broker.String() + " does not answer as one"})
}

var errNotData = errors.New("it answers with something else than data")

// passed are the headers of the broker's answers that go on.
var passed = []string{"Content-Type", "Content-Length", "Content-Encoding", "Retry-After", "Www-Authenticate"}

// onlyData lets through what no browser runs, and of its headers what the page needs: those that the
// page itself is sent with are ours.
func onlyData(r *http.Response) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.StatusCode < 200 || r.StatusCode >= 300 && r.StatusCode < 400:
		return fmt.Errorf("%w: %s", errNotData, r.Status)
	case r.StatusCode == http.StatusNoContent, r.ContentLength == 0:
	case err != nil, kind != "application/json" && kind != api.ProblemType && kind != "text/plain":
		return fmt.Errorf("%w: %s", errNotData, line(r.Header.Get("Content-Type")))
	}
	kept := http.Header{}
	for _, name := range passed {
		if v := r.Header.Values(name); len(v) > 0 {
			kept[name] = v
		}
	}
	r.Header = kept
	return nil
}

// one is GET /v1/requests/{id}, with the request as it is read here.
func (a *approver) one(w http.ResponseWriter, r *http.Request) {
	whole, err := a.whole(r.Context(), a.cfg.Client.With(bearer(r)), param(r, "id"))
	if err != nil {
		a.failed(w, err)
		return
	}
	a.writeJSON(w, r, http.StatusOK, a.read(whole, whole, true))
}

// list is GET /v1/requests, each as it is read here.
func (a *approver) list(w http.ResponseWriter, r *http.Request) {
	as := a.cfg.Client.With(bearer(r))
	path := "/v1/requests"
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	var list []*api.Request
	if err := as.Call(r.Context(), http.MethodGet, path, nil, &list); err != nil {
		a.failed(w, err)
		return
	}
	a.writeJSON(w, r, http.StatusOK, a.readAll(r.Context(), as, list))
}

// failed tells what the broker had against a call, or that it does not answer as one.
func (a *approver) failed(w http.ResponseWriter, err error) {
	var p *problem
	if errors.As(err, &p) && p.Status >= 400 && p.Status < 600 {
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		writeProblem(w, *p)
		return
	}
	a.unanswered(w, err)
}

// decision is POST /v1/requests/{id}/decision. An allow goes on only where the page was given the request as it is
// read here, and that is what it signed: what has no certain reading is denied, or left to the agent's own prompt.
func (a *approver) decision(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var d struct {
			Behavior    hook.Behavior `json:"behavior"`
			InputSHA256 string        `json:"inputSha256"`
		}
		if err == nil {
			err = json.Unmarshal(body, &d)
		}
		if err != nil {
			writeProblem(w, badField("", errNotObject.Error()))
			return
		}
		if d.Behavior != hook.BehaviorDeny {
			if why := a.shown.refuse(param(r, "id"), d.InputSHA256); why != "" {
				a.log.Warn("an allow was not handed on", zap.String("request", param(r, "id")), zap.String("why", line(why)))
				writeProblem(w, problem{Status: http.StatusForbidden, Detail: "the allow stays here, and the broker has not got it: " + why + "; deny it, or leave it to the agent's own prompt"})
				return
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	}
}
