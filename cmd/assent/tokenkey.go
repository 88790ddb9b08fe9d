package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// tokenKeyVariable names the file with the key that the token in ASSENT_TOKEN is bound to.
const tokenKeyVariable = "ASSENT_TOKEN_KEY"

func (a *app) tokenKeyCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "key FILE",
		Short: "Make a key to bind a token to",
		Long: `Make a key in FILE, readable by you only, or show the key that is already there, and print its public
half for assent token create --key. No broker is needed. Make the key where the program runs that will
use the token, and copy only the printed half to where the token is created. If ` + tokenKeyVariable + `=FILE
is set beside ASSENT_TOKEN, assent's commands sign their decisions.`,
		Example: "  assent token key ~/bot.key\n  assent token create --role approve --name bot --key \"$(assent token key ~/bot.key)\"",
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.showKey(args[0], func(k hook.JWK) (string, error) {
				text, err := json.Marshal(k)
				if err != nil {
					return "", fmt.Errorf("encode a key: %w", err)
				}
				return string(text), nil
			})
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: publicKey, trust (a line of hook.conf), path")
	return c
}

// publicKeyOf reads what --key names: a JWK, a file with one, or a file of assent token key.
func publicKeyOf(text string) (*hook.JWK, error) {
	var k hook.JWK
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			return nil, usagef("--key: this is no JWK; print one with: %s token key FILE", typed())
		}
	} else {
		f, err := os.Open(text)
		if err != nil {
			return nil, usagef("--key: want a JWK, or a file with one: %v", err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, 4<<10))
		if err != nil {
			return nil, fmt.Errorf("--key: read %s: %w", show.Line(text), err)
		}
		if json.Unmarshal(b, &k) != nil || k.Kty == "" {
			own, err := devicekey.LoadAny(text)
			if err != nil {
				return nil, fmt.Errorf("--key: %w", err)
			}
			k = own.JWK()
		}
	}
	if _, err := signed.Key(k); err != nil {
		return nil, usagef("--key: want an EC key on P-256 as a JWK; make one with: %s token key FILE", typed())
	}
	return &k, nil
}

// tokenKey is the key of the environment; nil where it names none.
func tokenKey() (*devicekey.Key, error) {
	path := os.Getenv(tokenKeyVariable)
	if path == "" {
		return nil, nil
	}
	if os.Getenv("ASSENT_TOKEN") == "" {
		return nil, fmt.Errorf("%s goes with a token in ASSENT_TOKEN; unset it, or set both", tokenKeyVariable)
	}
	k, err := devicekey.LoadAny(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; make a key with: %s token key FILE", tokenKeyVariable, err, typed())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tokenKeyVariable, err)
	}
	return k, nil
}

// sign signs a text, where the token is bound to a key, and else returns nothing.
func (c *client) sign(text []byte) (string, error) {
	if c.signs == nil {
		return "", nil
	}
	return c.signs.Sign(text)
}

// signDecision signs d. It does not say what was shown: that was the broker's word, which a hook that requires
// signatures must not take for more. assent allow --signed says it.
func (c *client) signDecision(requestID string, d *hook.Decision, at time.Time) (err error) {
	if c.signs != nil {
		d.SignedAt = at.UTC().Format(time.RFC3339Nano)
	}
	d.Signature, err = c.sign(signed.DecisionText(requestID, *d))
	return err
}

// newHalt is what is sent to stop or to pause everything, or to end that. What is signed holds for the state that
// is in force only.
func (c *client) newHalt(ctx context.Context, act string, seconds int) (api.NewHalt, error) {
	in := api.NewHalt{Seconds: seconds}
	if c.signs == nil {
		return in, nil
	}
	h, err := c.halt(ctx)
	if err != nil {
		return in, err
	}
	in.Revision = &h.Revision
	in.Signature, err = c.sign(auth.HaltText(act, h.Revision, seconds))
	return in, err
}
