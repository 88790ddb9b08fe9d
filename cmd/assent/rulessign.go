package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy/files"
	"assent/internal/policy/signing"
	"assent/internal/text/show"
)

// signedFor is how long a signature of rules counts if nobody says otherwise. Who stole the broker can bring rules as old as that.
const signedFor = 90 * 24 * time.Hour

func (a *app) rulesKeyCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "key FILE",
		Short: "Make a key that signs rules, or show the one in a file",
		Long: `Make a key for assent rules sign and store it in FILE, readable by you only; if FILE already holds
a key, show that key. Put the printed text behind trust-rules in /etc/assent/hook.conf on machines
with assent-hook-strict. Make the key on a machine where no agent runs: anybody who can read FILE
can sign rules. No broker is needed, and the key cannot decide requests.

Use one key for each kind of machine: rules signed with a key count wherever that key is trusted.`,
		Example: "  assent rules key ~/keys/team-rules.json\n  assent rules key ~/keys/team-rules.json --json",
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.showKey(args[0], func(k hook.JWK) (string, error) { return trustOf(k), nil })
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: publicKey, trust, path")
	return c
}

// keyIn is the key in a file, made there if there is no such file.
func keyIn(file string) (*devicekey.Key, error) {
	k, err := devicekey.LoadAny(file)
	if errors.Is(err, fs.ErrNotExist) {
		if k, err = devicekey.New(); err == nil {
			err = k.Save(file)
		}
	}
	return k, err
}

// trustOf is a key as trust and trust-rules name it.
func trustOf(k hook.JWK) string { return "device:" + signed.Thumbprint(k) }

// showKey prints the public half of the key in a file, as words has it or as JSON.
func (a *app) showKey(file string, words func(hook.JWK) (string, error)) error {
	k, err := keyIn(file)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			PublicKey hook.JWK `json:"publicKey"`
			Trust     string   `json:"trust"` // a line of hook.conf
			Path      string   `json:"path"`
		}{k.JWK(), trustOf(k.JWK()), file})
	}
	text, err := words(k.JWK())
	if err == nil {
		fmt.Fprintln(a.out, text)
	}
	return err
}

// oneFile is the arguments of a command for one file.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("name one file")
	}
	return nil
}

func (a *app) rulesSignCmd() *cobra.Command {
	key, out, valid := "", "", signedFor
	c := &cobra.Command{
		Use:   "sign FILE",
		Short: "Sign a file of rules",
		Long: `Sign FILE with a key that assent rules key made, and write the signature to FILE.sig. A broker reads
that file beside its own rules or the machine's, and assent rules publish sends it along. The record
of each answer then says who signed the rules that it comes from. assent-hook-strict passes on an
allow by rule only after evaluating signed rules itself; its hook.conf names the keys that it
trusts. FILE is checked first, with its tests, and refused if a rule depends on something that a
hook cannot find out by itself.

Sign again after every change of FILE, and before the signature expires (--valid); until then the
rules count as unsigned. Once a hook has seen rules signed by a key, it accepts no older rules by
that key, so give each file a key of its own.`,
		Example: `  assent rules sign ~/.config/assent/rules.yaml --key ~/keys/my-rules.json
  assent rules sign team.yaml --key ~/keys/team-rules.json
  assent rules sign team.yaml --key ~/keys/team-rules.json --valid 720h -o - | assent rules publish team.yaml --signed -
  assent rules publish team.yaml`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			if key == "" {
				return usagef("--key says which key signs; assent rules key FILE makes one")
			}
			if valid < 0 {
				return usagef("--valid is %s; want a duration such as 720h, or 0 for always", valid)
			}
			if _, _, err := a.loadedRules(args[0], ""); err != nil {
				return err
			}
			text, err := files.ReadNamed(args[0])
			if err != nil {
				return err
			}
			s, err := signRules(text, key, valid)
			if err != nil {
				return fmt.Errorf("%s: %w", show.Line(args[0]), err)
			}
			b, err := json.MarshalIndent(s, "", "  ")
			if err != nil {
				return err
			}
			b = append(b, '\n')
			if out == "-" {
				_, err = a.out.Write(b)
				return err
			}
			if out == "" {
				out = signing.Beside(args[0])
			}
			if err := os.WriteFile(out, b, 0o644); err != nil {
				return err
			}
			ends := "always"
			if s.Until != "" {
				ends = "until " + s.Until
			}
			fmt.Fprintf(a.out, "Signed with %s, in %s. It counts %s. Put both where the broker has its rules, or publish both: %s rules publish %s\n", trustOf(s.PublicKey), show.Line(out), ends, typed(), show.Line(args[0]))
			return nil
		},
	}
	c.Flags().StringVar(&key, "key", "", "the file of the key that signs")
	c.Flags().StringVarP(&out, "output", "o", "", "where the signature goes, - for standard output (default: FILE.sig)")
	c.Flags().DurationVar(&valid, "valid", signedFor, "how long the signature counts; 0: always")
	return c
}

// signRules signs a text of rules with the key in a file.
func signRules(text []byte, keyFile string, valid time.Duration) (*hook.RulesSignature, error) {
	if err := signing.Signable(text); err != nil {
		return nil, err
	}
	k, err := devicekey.LoadAny(keyFile)
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	return signing.Sign(text, k, time.Now(), valid)
}

// readUpTo reads all of it, up to a bound.
func readUpTo(in io.Reader, bound int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, bound+1))
	if err == nil && int64(len(b)) > bound {
		err = fmt.Errorf("it is larger than %d bytes", bound)
	}
	return b, err
}
