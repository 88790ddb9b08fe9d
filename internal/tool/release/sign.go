package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"aead.dev/minisign"
)

// passwordVariable holds the password of the secret key: a flag would stand in every process list.
const passwordVariable = "ASSENT_SIGN_PASSWORD"

// keys reads the secret key, if the release is signed here, and finds out the public one.
func (o *options) keys() error {
	o.key = strings.TrimSpace(o.key)
	if o.sign != "" {
		text, err := os.ReadFile(o.sign)
		if err != nil {
			return fmt.Errorf("-sign: %w", err)
		}
		if minisign.IsEncrypted(text) {
			o.secret, err = minisign.DecryptKey(os.Getenv(passwordVariable), text)
		} else {
			err = o.secret.UnmarshalText(text)
		}
		if err != nil {
			return fmt.Errorf("-sign %s: %w; its password is read from $%s", o.sign, err, passwordVariable)
		}
		public, ok := o.secret.Public().(minisign.PublicKey)
		if !ok {
			return errors.New("-sign: this is no key of minisign")
		}
		text, err = public.MarshalText()
		if err != nil {
			return fmt.Errorf("-sign: %w", err)
		}
		own := lastLine(string(text))
		if o.key != "" && o.key != own {
			return errors.New("-key is not the public part of -sign")
		}
		o.key = own
	}
	if o.key != "" {
		var public minisign.PublicKey
		if err := public.UnmarshalText([]byte(o.key)); err != nil || strings.ContainsAny(o.key, " \n'\"") {
			return fmt.Errorf("-key %q is no public key of minisign: want the second line of its file", o.key)
		}
	}
	return nil
}

// lastLine is a key's file without its comment.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// signed is what assent update reads beside SHA256SUMS; nil if the release is not signed here. It says
// the version and no time, so that it is the same each time.
func (o *options) signed(sums []byte) []byte {
	if o.sign == "" {
		return nil
	}
	return append(minisign.SignWithComments(o.secret, sums, "assent "+o.version, "signature of assent "+o.version), '\n')
}
