package rig

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The host resolver keeps the browser on this machine. Beside the names of loopback it knows
// Insecure, so that a page of it is no secure context, and the docs' name of a broker.
const (
	Insecure = "broker.test"
	resolver = "MAP " + Insecure + " 127.0.0.1, MAP box.example 127.0.0.1, MAP *.relay.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
)

// longest outlives t.Context, for the last look at a page.
const longest = 15 * time.Minute

// oneChromium serves a package's tests: to start one takes longer than most of them work.
var oneChromium struct {
	sync.Mutex
	ctx context.Context // guarded by the mutex; nil before the first use, done when the browser is gone
	end func()
}

// NewBrowser opens a tab with a profile of its own, in a Chromium that trusts the system's certificates and those in
// the files of trust.
func NewBrowser(t *testing.T, trust ...string) *Browser {
	t.Helper()
	if len(trust) > 0 {
		return StartBrowser(t, "{}", trust...)
	}
	path := Need(t, "chromium")
	ctx, cancel := context.WithTimeout(sharedChromium(t, path), longest)
	t.Cleanup(cancel)
	return newTab(t, ctx, chromedp.WithNewBrowserContext())
}

// StartBrowser starts a Chromium of the test's own, with settings as the browser's own pages would write them.
func StartBrowser(t *testing.T, settings string, trust ...string) *Browser {
	t.Helper()
	path := Need(t, "chromium")
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	profile := TempDir(t)
	trustRoots(t, profile, trust)
	if err := os.Mkdir(filepath.Join(profile, "Default"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = chromium(ctx, path, profile)
	t.Cleanup(cancel)
	return newTab(t, ctx)
}

// unused is what the browser would do on its own account and no test looks at: it looks for a model to
// download, for televisions to cast to, for what is to be translated, and keeps a process ready for the site that
// somebody may go to next, which costs as much as the page's own.
const unused = "SpareRendererForSitePerProcess,OptimizationHints,OptimizationGuideModelDownloading,OptimizationGuideOnDeviceModel," +
	"MediaRouter,DialMediaRouteProvider,Translate,CertificateTransparencyComponentUpdater"

// chromium says how the program at path is started.
func chromium(ctx context.Context, path, profile string) (context.Context, context.CancelFunc) {
	return chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.WindowSize(390, 844),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-features", unused), chromedp.Flag("disable-field-trial-config", true), chromedp.Flag("disable-breakpad", true),
		chromedp.Flag("disable-component-extensions-with-background-pages", true), chromedp.Flag("disable-default-apps", true),
		chromedp.Flag("disable-client-side-phishing-detection", true), chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("disable-hang-monitor", true), chromedp.Flag("metrics-recording-only", true),
		chromedp.Flag("host-resolver-rules", resolver),
		chromedp.Env("HOME="+profile),
		chromedp.WSURLReadTimeout(time.Minute),
	)
}

// sharedChromium returns the context of the shared one's first tab, which stays empty, and starts it first where there
// is none, or none any more. Main ends it.
func sharedChromium(t *testing.T, path string) context.Context {
	t.Helper()
	oneChromium.Lock()
	defer oneChromium.Unlock()
	if oneChromium.ctx != nil && oneChromium.ctx.Err() == nil {
		return oneChromium.ctx
	}
	if oneChromium.end != nil {
		oneChromium.end()
	}
	profile, err := os.MkdirTemp(scratch, "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	alloc, stop := chromium(context.Background(), path, profile)
	ctx, cancel := chromedp.NewContext(alloc)
	oneChromium.end = func() {
		bounded, enough := context.WithTimeout(ctx, 10*time.Second)
		defer enough()
		_ = chromedp.Cancel(bounded) // waits, else the browser still writes to its profile while that is removed
		cancel()
		stop()
	}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	oneChromium.ctx = ctx
	return ctx
}

// endChromium ends the shared one, if it was started.
func endChromium() {
	oneChromium.Lock()
	defer oneChromium.Unlock()
	if oneChromium.end != nil {
		oneChromium.end()
	}
}
