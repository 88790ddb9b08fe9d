package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/relay"
	"assent/internal/relay/certificate"
	"assent/internal/relay/tunnel"
	"assent/internal/setup/statedir"
)

// relayFlags are the flags of assent relay.
type relayFlags struct {
	listen, domain, tokens string
	tlsCert, tlsKey, acme  string
	connections, perName   int
	rate                   int
	quiet                  bool
	logFormat              string
}

func (a *app) relayCmd() *cobra.Command {
	var f relayFlags
	c := &cobra.Command{
		Use:   "relay",
		Short: "Give brokers an address that phones can reach",
		Long: `Run a relay: brokers connect out to it, and phones open https://NAME.DOMAIN, with nothing to
install. The relay forwards TLS connections by their server name and cannot read them; each broker
has its own certificate. A relay needs a server with a public address, and DNS records for the
domain and for *.DOMAIN that point to the server.

Each broker gets a token for one name: assent relay token NAME. On the broker's machine, assent
relay join takes the token. docs/relay.md says what the owner of a relay can and cannot do.`,
		Example: `  assent relay --domain relay.example.org
  assent relay --domain relay.example.org --listen :8443 --tls-cert relay.pem --tls-key relay.key
  assent relay token box
  assent relay join wss://relay.example.org --token-file box.token`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return helpOrUnknown(cmd, args)
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return a.runRelay(ctx, f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.domain, "domain", "", "the relay's own name; brokers are labels before it")
	fl.StringVar(&f.listen, "listen", ":443", "address for brokers and phones")
	fl.StringVar(&f.tokens, "tokens", "", "file with the names and the hashes of their tokens (default <state>/relay.tokens)")
	fl.StringVar(&f.tlsCert, "tls-cert", "", "certificate file for the domain, read again when it changes (default: one from --acme)")
	fl.StringVar(&f.tlsKey, "tls-key", "", "key file")
	fl.StringVar(&f.acme, "acme", certificate.LetsEncrypt, "directory of the ACME authority for the relay's own certificate; using it accepts its terms")
	fl.IntVar(&f.connections, "max-connections", 0, "phones' connections at a time, in all (default 4096, or what the limit of open files leaves)")
	fl.IntVar(&f.perName, "max-per-name", 128, "phones' connections at a time for one name")
	fl.IntVar(&f.rate, "rate", 4<<20, "bytes a second for one name, both ways together")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "log warnings and errors only")
	fl.StringVar(&f.logFormat, "log-format", "text", "text for people, json for programs: one object per line")
	c.AddCommand(a.relayTokenCmd(), a.relayJoinCmd(), a.relayLeaveCmd())
	return c
}

// check says what of the flags is unusable.
func (f *relayFlags) check() error {
	if f.domain == "" {
		return usagef("--domain: say the relay's own name, such as relay.example.org")
	}
	if err := tunnel.CheckDomain(f.domain); err != nil {
		return usagef("--domain: %w", err)
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return usagef("--tls-cert and --tls-key go together")
	}
	if f.connections < 0 || f.perName < 1 || f.rate < 64<<10 {
		return usagef("--max-connections and --max-per-name: want numbers above 0; --rate: want at least 65536")
	}
	return nil
}

// relayFiles are the descriptors that a relay keeps for itself and for its brokers.
const relayFiles = 256

// runRelay runs the relay until ctx is done.
func (a *app) runRelay(ctx context.Context, f relayFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := newLogger(a.err, serveFlags{quiet: f.quiet, logFormat: f.logFormat})
	if err != nil {
		return err
	}
	sugar := log.Sugar()
	most := int(min(1<<20, openFiles()))
	if most < 2*relayFiles {
		return fmt.Errorf("this process may open %d files at most, and a relay needs %d. Raise the limit: ulimit -n 4096 in the shell that starts it, LimitNOFILE=4096 in a systemd unit", most, 2*relayFiles)
	}
	handshakes := min(256, most/8)
	room := most - relayFiles - 2*handshakes
	if f.connections == 0 {
		f.connections = min(4096, room)
	}
	if f.connections > room {
		return usagef("--max-connections %d: the limit of open files, %d, leaves %d", f.connections, most, room)
	}
	if statedir.Shared(a.stateDir) {
		return fmt.Errorf("state directory: everybody can write to %s; choose a directory of your own", a.stateDir)
	}
	if err := statedir.Make(a.stateDir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}

	var keeper *certificate.Keeper
	var get func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	if f.tlsCert != "" {
		files := &certificateFiles{cert: f.tlsCert, key: f.tlsKey}
		if err := files.load(); err != nil {
			return usagef("--tls-cert, --tls-key: %w", err)
		}
		get = files.get
	} else {
		keeper = certificate.New(certificate.Config{Name: f.domain, Directory: f.acme, Dir: filepath.Join(a.stateDir, "relay", "certificate"), Logf: sugar.Infof})
		get = keeper.Get
	}
	server, err := relay.New(relay.Config{
		Domain: f.domain, Tokens: a.relayTokens(f.tokens), GetCertificate: get, Logf: sugar.Infof,
		Limits: relay.Limits{Handshakes: handshakes, Connections: f.connections, PerName: f.perName, Rate: f.rate},
	})
	if err != nil {
		return err
	}
	l, err := listen(f.listen)
	if err != nil {
		return err
	}
	names, err := relay.Names(a.relayTokens(f.tokens))
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "The relay %s listens on %s; names with a token: %d.\n", f.domain, l.Addr(), len(names))
	if len(names) == 0 {
		fmt.Fprintf(a.out, "To make the first one: %s relay token NAME\n", typed())
	}
	g := newGroup(ctx)
	if keeper != nil {
		g.run("certificate", keeper.Run)
	}
	g.run("relay", func(ctx context.Context) error { return server.Serve(ctx, l) })
	g.run("memory", giveBackMemory)
	return g.wait()
}

// relayTokens is the file of tokens that a flag names, or the one in the state directory.
func (a *app) relayTokens(flag string) string {
	if flag != "" {
		return flag
	}
	return filepath.Join(a.stateDir, "relay.tokens")
}

// certificateFiles is a certificate that others renew.
type certificateFiles struct {
	cert, key string

	mu     sync.Mutex
	now    *tls.Certificate // guarded by mu
	looked time.Time        // guarded by mu
	at     time.Time        // of the file; guarded by mu
}

// load reads the files.
func (c *certificateFiles) load() error {
	fi, err := os.Stat(c.cert)
	if err != nil {
		return err
	}
	cert, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.now, c.at, c.looked = &cert, fi.ModTime(), time.Now()
	return nil
}

// get is for tls.Config.GetCertificate. It looks at the files once a minute; while they do not fit together,
// the old ones stay.
func (c *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) > time.Minute {
		c.looked = time.Now()
		if fi, err := os.Stat(c.cert); err == nil && !fi.ModTime().Equal(c.at) {
			_ = c.load() // they may be half written
		}
	}
	return c.now, nil
}
