package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/text/show"
)

func (a *app) tokenCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke access tokens",
		Long: `Create, list and revoke access tokens, with which programs and hooks on other machines use this
broker. Each token has one role. People approve with a paired browser instead: assent pair.`,
		Example: "  assent token create --role submit --name build-server\n  assent token list\n  assent token revoke ID",
		Args:    cobra.ArbitraryArgs,
		RunE:    helpOrUnknown,
	}
	c.AddCommand(a.tokenCreateCmd(), a.tokenKeyCmd(), a.tokenListCmd(), a.tokenRevokeCmd())
	return c
}

func (a *app) tokenCreateCmd() *cobra.Command {
	var in api.NewToken
	var ttl time.Duration
	var key string
	c := &cobra.Command{
		Use:   "create",
		Short: "Create a token and print it once",
		Long: `Create a token and print it on standard output, with nothing else. The broker keeps only a hash of
the token. Roles: submit (a hook on another machine), host (a machine that offers agents), view,
approve, admin.

With --key, a token of role approve is bound to a key. Somebody who has only the token can then
read, but decisions, saved rules, hand-backs and stops must be signed with the key, and the record
keeps the signature. A hook that requires signatures can trust that key. Make the key with assent
token key.`,
		Example: "  assent token create --role approve --name dashboard --ttl 720h\n  assent token create --role submit --name ci --ttl 2h\n  assent token create --role approve --name bot --key bot.key\n  assent token create --role host --name workstation",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch in.Role {
			case "submit", "host", "view", "approve", "admin":
			default:
				return usagef("--role %q: want submit, host, view, approve or admin", in.Role)
			}
			if in.Name == "" {
				return usagef("--name: say what the token is for")
			}
			if ttl < 0 {
				return usagef("--ttl: want a duration such as 720h")
			}
			if ttl > 0 {
				in.TTL = ttl.String()
			}
			if key != "" {
				if in.Role != "approve" {
					return usagef("--key: only a token of role approve is bound to a key; what the other roles may do is not signed")
				}
				var err error
				if in.PublicKey, err = publicKeyOf(key); err != nil {
					return err
				}
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			var res api.CreatedToken
			if err := b.call(cmd.Context(), "POST", "/v1/tokens", in, &res); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(newToken(&res))
			}
			fmt.Fprintln(a.out, show.Line(res.Secret))
			return nil
		},
	}
	c.Flags().StringVar(&in.Role, "role", "", "submit, host, view, approve or admin")
	c.Flags().StringVar(&in.Name, "name", "", "what the token is for")
	c.Flags().StringVar(&key, "key", "", "bind it to a key: a JWK, or a file with one")
	c.Flags().DurationVar(&ttl, "ttl", 0, "how long it is valid (0: until revoked)")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON with the token's id")
	return c
}

// newToken is what token create --json prints: with null where the API leaves a time out, for
// scripts that read every member.
func newToken(t *api.CreatedToken) any {
	return struct {
		ID        string     `json:"id"`
		Name      string     `json:"name"`
		Role      string     `json:"role"`
		CreatedAt time.Time  `json:"createdAt"`
		ExpiresAt *time.Time `json:"expiresAt"`
		LastUsed  *time.Time `json:"lastUsed"`
		Token     string     `json:"token"`
		Key       string     `json:"thumbprint,omitempty"`
	}{t.ID, t.Name, string(t.Role), t.CreatedAt, timeOrNull(t.ExpiresAt), timeOrNull(t.LastUsed), t.Secret, t.Thumbprint}
}

// timeOrNull is nil for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *app) tokenListCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their secrets",
		Long: `List the tokens: the id of each, its role and name, when it was created, when it expires, when it
was last used, and the key it is bound to, if any. The tokens themselves are not shown, because
the broker keeps only their hashes.`,
		Example: "  assent token list",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd.Context(), a, "/v1/tokens", "No token was made. To make one: assent token create",
				[]string{"ID", "ROLE", "NAME", "CREATED", "EXPIRES", "LAST USED", "KEY"}, func(t *api.Token) []string {
					return []string{show.Line(t.ID), show.Line(string(t.Role)), show.Line(t.Name), day(t.CreatedAt), day(t.ExpiresAt), day(t.LastUsed), keyOrNone(t.Thumbprint)}
				})
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// keyOrNone is how a hook's configuration names a key.
func keyOrNone(thumbprint string) string {
	if thumbprint == "" {
		return "-"
	}
	return "device:" + show.Line(thumbprint)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func (a *app) tokenRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token; its open connections close at once",
		Long: `Revoke a token. ID is the id that assent token list prints. The broker refuses the token from now
on, and its open connections close at once. A machine that joined with the token (assent join) can
submit no more requests.`,
		Example: "  assent token revoke 9d0c0d9a",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			if err := b.call(cmd.Context(), "DELETE", "/v1/tokens/"+url.PathEscape(args[0]), nil, nil); api.NotFound(err) {
				return refusedf("no token has the id %s; see: %s token list", show.Line(args[0]), typed())
			} else if err != nil {
				return err
			}
			fmt.Fprintln(a.out, "Revoked", show.Line(args[0]))
			return nil
		},
	}
}
