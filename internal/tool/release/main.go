// Command release makes what is given to people: for each platform an archive and its bill of
// materials, packages for Debian and npm, an install script, a Homebrew formula, and the checksums of
// all, signed where there is a key. make release runs it; docs/release.md says what comes out and how to check it.
//
// It needs the go command, and modules from the Go proxy. The same source, version, commit and
// date give the same bytes, in any directory, at any time, on any machine with the same Go.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"

	"assent/internal/text/digest"
)

// options is what the command line says.
type options struct {
	source     // of which flags may say each part
	out        string
	targets    string
	url        string // where the release will lie, "" if nobody knows yet
	homepage   string
	maintainer string
	npm        string // the name of the main npm package
	updates    string // where newer releases will lie
	key        string // public, of minisign; "" for programs that do not update themselves
	sign       string // file of the secret key
	secret     minisign.PrivateKey
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "dist", "directory for the release; an older release there is replaced")
	flag.StringVar(&o.version, "version", "", "such as 0.1.0 (default: the tag of the commit, without its v; else a name made of its date and hash)")
	flag.StringVar(&o.commit, "commit", "", "hash of the commit (default: git says it)")
	flag.StringVar(&o.date, "date", "", "of the commit, RFC 3339 or seconds (default: $SOURCE_DATE_EPOCH, else git says it)")
	flag.StringVar(&o.targets, "targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "platforms")
	flag.StringVar(&o.url, "url", "", "where the release will lie, for the install script and the formula (default: beside them)")
	flag.StringVar(&o.homepage, "homepage", "", "for the package and the formula")
	flag.StringVar(&o.maintainer, "maintainer", "The maintainers of assent", "for the package")
	flag.StringVar(&o.npm, "npm", "assent", "name of the npm package, with or without a scope; those of the platforms are called NAME-OS-CPU")
	flag.StringVar(&o.updates, "updates", "", "where assent update finds newer releases; {version} stands for latest, or for the version that is wanted (default: -url)")
	flag.StringVar(&o.key, "key", "", "public key of minisign that newer releases are signed with, for assent update (default: that of -sign)")
	flag.StringVar(&o.sign, "sign", "", "file of minisign's secret key to sign SHA256SUMS with; its password stands in $"+passwordVariable)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := errors.New("takes no arguments; see -help")
	if flag.NArg() == 0 {
		err = release(ctx, ".", o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release makes the release of the tree at root.
func release(ctx context.Context, root string, o options) error {
	if err := o.resolve(ctx, root); err != nil {
		return err
	}
	if err := noted(root, o.version); err != nil {
		return err
	}
	if err := o.keys(); err != nil {
		return err
	}
	if !npmName.MatchString(o.npm) {
		return fmt.Errorf("-npm %q is no name for npm", o.npm)
	}
	o.updates = cmp.Or(o.updates, o.url)
	if strings.ContainsAny(o.url+o.homepage+o.maintainer+o.updates, "\"'`\\$#\n") || strings.Contains(o.updates, " ") {
		return errors.New("-url, -updates, -homepage and -maintainer are written into programs: use no quotes, no $, no # and no backslashes")
	}
	work, err := os.MkdirTemp("", "assent-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	extras, err := o.extras(ctx, root, work)
	if err != nil {
		return err
	}
	dist := map[string][]byte{}
	var archives []archive
	for t := range strings.SplitSeq(o.targets, ",") {
		goos, arch, ok := strings.Cut(t, "/")
		if !ok {
			return fmt.Errorf("-targets: %q is not like linux/amd64", t)
		}
		a := archive{OS: goos, Arch: arch, Name: fmt.Sprintf("assent_%s_%s_%s", o.version, goos, arch)}
		fmt.Println("building", a.Name)
		if err := a.make(ctx, root, work, o, extras, dist); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		archives = append(archives, a)
	}
	slices.SortFunc(archives, func(a, b archive) int { return cmp.Compare(a.Name, b.Name) })
	for name, template := range map[string]string{"install.sh": installScript, "assent.rb": formula} {
		if dist[name], err = render(template, o, archives); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	name, data, err := o.npmMain(archives, extras)
	if err != nil {
		return fmt.Errorf("package for npm: %w", err)
	}
	dist[name] = data
	dist["SHA256SUMS"] = sums(dist)
	if signature := o.signed(dist["SHA256SUMS"]); signature != nil {
		dist["SHA256SUMS.minisig"] = signature
	}
	return write(o.out, dist)
}

// make adds what is made for one platform to dist.
func (a *archive) make(ctx context.Context, root, work string, o options, extras []file, dist map[string][]byte) error {
	bin := filepath.Join(work, a.OS+"_"+a.Arch)
	if err := o.build(ctx, root, bin, a.OS, a.Arch); err != nil {
		return err
	}
	parts, err := partsOf(ctx, root, bin, a.OS, a.Arch)
	if err != nil {
		return err
	}
	notices, err := parts.notices()
	if err != nil {
		return err
	}
	bill, err := parts.bill(o.source)
	if err != nil {
		return err
	}
	files := append(slices.Clone(extras), file{Path: "share/doc/assent/THIRD-PARTY-LICENSES.txt", Data: notices})
	for _, name := range programs {
		data, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			return err
		}
		files = append(files, file{Path: "bin/" + name, Data: data, Run: true})
	}
	files = append(files, file{Path: "bin/hookd-emit", Link: "assent-hook"}, file{Path: "bin/hookd-query", Link: "assent"})
	tarball, err := tarGz(a.Name+"/", files, o.when())
	if err != nil {
		return err
	}
	a.SHA256 = digest.Of(tarball)
	dist[a.Name+".tar.gz"], dist[a.Name+".cdx.json"] = tarball, bill
	if a.OS == "linux" {
		name, data, err := o.deb(a.Arch, files)
		if err != nil {
			return fmt.Errorf("package for Debian: %w", err)
		}
		dist[name] = data
	}
	name, data, err := o.npmPlatform(a, files)
	if err != nil {
		return fmt.Errorf("package for npm: %w", err)
	}
	dist[name] = data
	return nil
}

// write replaces the release in dir. It wants to know that it is one: dir is emptied.
func write(dir string, dist map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "SHA256SUMS")); err != nil {
			return fmt.Errorf("%s is not empty and holds no release; name another directory with -out", dir)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range dist {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, mode); err != nil {
			return err
		}
	}
	fmt.Printf("%d files in %s\n", len(dist), dir)
	return nil
}
