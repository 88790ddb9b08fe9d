package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/hook"
)

// Token describes a token without its secret, which was shown once (schema Token).
type Token struct {
	// ID names the token in lists; it is no secret.
	ID        string    `json:"id"`
	Role      Role      `json:"role"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero: never
	// LastUsed is exact to a minute.
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// Thumbprint names the key that the token is bound to, see Thumbprint; empty: the token alone decides.
	Thumbprint string `json:"thumbprint,omitempty"`
}

// storedToken is a Token as it is kept.
type storedToken struct {
	Token
	PublicKey *hook.JWK `json:"publicKey,omitempty"` // never changed
}

// roleBound is the role of a bound token as it is kept. A broker from before tokens had keys does not know it,
// and so refuses the token, whose key it would not ask for and would lose as it writes lastUsed.
const roleBound Role = "approve with key"

// shown is the token as the API has it.
func (t *storedToken) shown() Token {
	s := t.Token
	if t.PublicKey != nil {
		s.Role, s.Thumbprint = RoleApprove, Thumbprint(*t.PublicKey)
	}
	return s
}

// bound returns the key that the token is bound to, nil if to none. A token that does not fit itself is an error.
func (t *storedToken) bound() (*signingKey, error) {
	switch {
	case t.PublicKey == nil && t.Role != roleBound:
		return nil, nil
	case t.PublicKey == nil || t.Role != roleBound:
		return nil, hook.BadField("publicKey", "a token is bound to a key or it is not")
	}
	pub, err := parseKey(*t.PublicKey)
	if err != nil {
		return nil, err
	}
	return &signingKey{jwk: *t.PublicKey, pub: pub}, nil
}

// tokenEntry is a token in memory; guarded by Auth.mu.
type tokenEntry struct {
	storedToken
	signs *signingKey // nil: it is bound to none
	entry
}

// entry is what tokens and devices have in common.
type entry struct {
	key    string
	rev    uint64
	usedAt time.Time // when a write of lastUsed was last asked for
	gone   context.Context
	revoke context.CancelFunc
	uses   *inUse
}

func newEntry(key string, rev uint64) entry {
	e := entry{key: key, rev: rev, uses: newInUse()}
	e.gone, e.revoke = context.WithCancel(context.Background())
	return e
}

func (e *tokenEntry) principal() Principal {
	return Principal{
		Role:      e.shown().Role,
		Approver:  hook.Approver{Kind: hook.KindToken, ID: e.ID, Name: e.Name},
		key:       e.signs,
		ExpiresAt: e.ExpiresAt,
		gone:      e.gone,
		uses:      e.uses,
	}
}

// CreateToken makes a token and returns its secret, assent_<role>_<43 base64url characters>,
// which is kept nowhere. ttl 0 means it never expires. It is valid when CreateToken returns;
// on other replicas a moment later.
func (a *Auth) CreateToken(ctx context.Context, role Role, name string, ttl time.Duration) (string, Token, error) {
	return a.createToken(ctx, storedToken{Token: Token{Role: role, Name: name}}, ttl)
}

// CreateBoundToken makes a token of role approve that is bound to a key: what it decides has to be signed with
// that, as a device signs, and whoever has the token alone can only read. A token of role admin cannot be bound:
// it could make itself another one that is not.
func (a *Auth) CreateBoundToken(ctx context.Context, role Role, name string, ttl time.Duration, key hook.JWK) (string, Token, error) {
	if role != RoleApprove {
		return "", Token{}, hook.BadField("publicKey", "only a token of role approve is bound to a key: what the other roles may do is not signed")
	}
	if _, err := parseKey(key); err != nil {
		return "", Token{}, err
	}
	if err := a.mayComeIn(ctx, key); err != nil {
		return "", Token{}, err
	}
	return a.createToken(ctx, storedToken{Token: Token{Role: role, Name: name}, PublicKey: &key}, ttl)
}

func (a *Auth) createToken(ctx context.Context, t storedToken, ttl time.Duration) (string, Token, error) {
	role, name := t.Role, t.Name
	if _, err := ParseRole(string(role)); err != nil {
		return "", Token{}, err
	}
	if role == RoleOperate {
		return "", Token{}, hook.BadField("role", "operate is for paired devices, which sign what they send; a token gets submit, host, view, approve or admin")
	}
	if err := checkName(name); err != nil {
		return "", Token{}, err
	}
	if ttl < 0 {
		return "", Token{}, hook.BadField("ttl", "want a duration that is not negative, such as 720h")
	}
	text := "assent_" + string(role) + "_" + secret(32)
	h := sha256.Sum256([]byte(text))
	t.ID, t.CreatedAt = hex.EncodeToString(h[:8]), time.Now().UTC()
	if t.PublicKey != nil {
		t.Role = roleBound
	}
	if ttl > 0 {
		t.ExpiresAt = t.CreatedAt.Add(ttl)
	}
	value, err := json.Marshal(t)
	if err != nil {
		return "", Token{}, fmt.Errorf("encode token: %w", err)
	}
	key := tokenPrefix + hex.EncodeToString(h[:])
	rev, err := a.cfg.KV.Create(ctx, key, value)
	if err != nil {
		return "", Token{}, fmt.Errorf("%w: store token: %w", ErrUnavailable, err)
	}
	a.kv.Offer(key, value, rev)
	return text, t.shown(), nil
}

// Tokens lists the tokens, oldest first, expired ones included.
func (a *Auth) Tokens() []Token {
	a.mu.Lock()
	list := make([]Token, 0, len(a.tokens))
	for _, e := range a.tokens {
		list = append(list, e.shown())
	}
	a.mu.Unlock()
	slices.SortFunc(list, func(x, y Token) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	return list
}

// RevokeToken ends a token for good: nothing it opened stays open. ErrNotFound.
func (a *Auth) RevokeToken(ctx context.Context, id string) error {
	a.mu.Lock()
	key := ""
	for _, e := range a.tokens {
		if e.ID == id {
			key = e.key
		}
	}
	a.mu.Unlock()
	return a.revoke(ctx, key)
}

func (a *Auth) revoke(ctx context.Context, key string) error {
	if key == "" {
		return ErrNotFound
	}
	rev, err := a.cfg.KV.Delete(ctx, key)
	if err != nil {
		return fmt.Errorf("%w: revoke: %w", ErrUnavailable, err)
	}
	a.kv.Offer(key, nil, rev)
	return nil
}
