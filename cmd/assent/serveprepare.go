package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.uber.org/zap"

	"assent/internal/policy/effects"
	"assent/internal/server"
	"assent/internal/setup/statedir"
)

// newDaemon reads what the flags and the machine say, and opens nothing yet. What is wrong with either is said
// here, before anything is written.
func (a *app) newDaemon(f serveFlags) (*daemon, error) {
	d := &daemon{app: a, f: f}
	var err error
	if d.proxies, err = d.f.check(); err != nil {
		return nil, err
	}
	if d.cert, d.fingerprint, err = loadCertificate(d.f.tlsCert, d.f.tlsKey); err != nil {
		return nil, err
	}
	if d.log = d.f.log; d.log == nil {
		if d.log, err = newLogger(a.err, d.f); err != nil {
			return nil, err
		}
	}
	d.infof, d.warnf = d.log.Sugar().Infof, d.log.Sugar().Warnf
	if d.relay, err = newRelayed(a.stateDir, &d.f, d.log); err != nil {
		return nil, err
	}
	if d.relay != nil {
		d.f.publicURLs = append(slices.Clone(d.f.publicURLs), d.relay.up.URL())
	}
	if d.socket, err = d.f.socketPath(a.stateDir); err != nil {
		return nil, err
	}
	if d.limits, err = limitsOf(openFiles()); err != nil {
		return nil, err
	}
	if err := d.prepareDir(); err != nil {
		return nil, err
	}
	if d.host, err = statedir.HostID(a.stateDir, statedir.BootID); err != nil {
		return nil, err
	}
	d.self = server.Local(uint32(os.Getuid()), d.host)
	d.prepareViews()
	d.f.warnOfPasswords(os.Args, d.log)
	return d, nil
}

// prepareDir makes the state directory, which nobody else may write to.
func (d *daemon) prepareDir() error {
	if d.f.unnamed() {
		d.log.Warn("browsers elsewhere are refused: say with --public-url what they call this broker")
	}
	if statedir.Shared(d.stateDir) {
		return fmt.Errorf("state directory: everybody can write to %s; choose a directory of your own", d.stateDir)
	}
	if statedir.Shared(filepath.Dir(d.socket)) {
		d.log.Warn("everybody can make files beside the socket: while no broker runs, another user could answer your hooks there",
			zap.String("socket", d.socket))
	}
	if err := statedir.Make(d.stateDir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

// prepareViews makes what says what a request would do, for those who look, and which files its session changed
// before.
func (d *daemon) prepareViews() {
	d.changes = effects.NewChanges("")
	d.views.Effects = effects.New(effects.Options{Changed: d.changes.Before})
}

// warmEffects reads the tables behind what a request would do, before somebody looks at the first one.
func (d *daemon) warmEffects(ctx context.Context) error {
	effects.Warm(d.views.Effects)
	<-ctx.Done()
	return nil
}
