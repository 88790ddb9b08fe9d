// Package passkey checks user verification: that the person who holds a device unlocked it, with a face,
// a fingerprint or a PIN, for one text. It speaks WebAuthn with the platform's own authenticator, and knows
// neither who keeps credentials nor what the texts say.
//
// A credential is bound to a site, which is the DNS name that the page is served under. What is verified
// is always one whole text: the challenge is its SHA-256.
package passkey

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"assent/internal/hook"
)

// ErrRefused says that a response does not verify. What is wrapped around it is for the log.
var ErrRefused = errors.New("this was not confirmed on this device, for exactly this, as it was sent")

// Site is where a credential holds: the name, without scheme and port, and the origins of pages under it
// that may use it. All of them are secure contexts.
type Site struct {
	ID      string
	Origins []string
}

// Credential is what a device can be verified with, as it is kept.
type Credential struct {
	ID        string    `json:"id"`        // unpadded base64url, as Verification has it
	PublicKey []byte    `json:"publicKey"` // COSE
	Site      string    `json:"site"`
	SignCount uint32    `json:"signCount,omitempty"` // 0 where the authenticator does not count
	CreatedAt time.Time `json:"createdAt"`
	// Synced says that it may be on the owner's other devices too, BackedUp that it is somewhere.
	Synced   bool `json:"synced,omitempty"`
	BackedUp bool `json:"backedUp,omitempty"`
}

// Allowed says why pages of an origin, such as https://box.example, cannot verify anybody: "" if they can.
func Allowed(origin string) (siteID, why string) {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" {
		return "", "this address is not one of a page"
	}
	name := strings.ToLower(u.Hostname())
	if _, err := netip.ParseAddr(name); err == nil {
		return "", "this page is open at a numeric address; browsers verify people only at a name, such as https://box.example"
	}
	if u.Scheme != "https" && name != "localhost" && !strings.HasSuffix(name, ".localhost") {
		return "", "this page is open by plain http; browsers verify people only by https"
	}
	if protocol.ValidateRPID(name) != nil {
		return "", "the name of this page is not one that browsers verify people under"
	}
	return name, ""
}

// maxResponse bounds a registration, in bytes: attestation is not asked for.
const maxResponse = 16 << 10

// Begin makes the options for navigator.credentials.create, as PublicKeyCredential's
// parseCreationOptionsFromJSON takes them, and the challenge in them. The credential is that of the
// device with this id; name is shown beside it by the system.
func Begin(site Site, deviceID, name string) (options []byte, challenge string, err error) {
	w, err := site.relyingParty()
	if err != nil {
		return nil, "", err
	}
	made, session, err := w.BeginRegistration(user{id: deviceID, name: name},
		webauthn.WithCredentialParameters(algorithms()),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			AuthenticatorAttachment: protocol.Platform,
			ResidentKey:             protocol.ResidentKeyRequirementDiscouraged,
			RequireResidentKey:      protocol.ResidentKeyNotRequired(),
			UserVerification:        protocol.VerificationRequired,
		}),
		webauthn.WithConveyancePreference(protocol.PreferNoAttestation))
	if err != nil {
		return nil, "", fmt.Errorf("begin a registration: %w", err)
	}
	if options, err = json.Marshal(made.Response); err != nil {
		return nil, "", fmt.Errorf("encode the options of a registration: %w", err)
	}
	return options, session.Challenge, nil
}

// Registration is what came of navigator.credentials.create.
type Registration struct {
	// Challenge is the one that it answers to, by its own word until Finish has looked.
	Challenge string
	parsed    *protocol.ParsedCredentialCreationData
}

// ReadRegistration reads the JSON of a credential that was made. ErrRefused.
func ReadRegistration(response []byte) (Registration, error) {
	if len(response) > maxResponse {
		return Registration{}, fmt.Errorf("%w: longer than %d bytes", ErrRefused, maxResponse)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Registration{}, refused(err)
	}
	return Registration{parsed.Response.CollectedClientData.Challenge, parsed}, nil
}

// Finish is the credential that was made for the challenge, which Begin gave out. ErrRefused.
func Finish(site Site, deviceID string, r Registration, challenge string) (Credential, error) {
	w, err := site.relyingParty()
	if err != nil {
		return Credential{}, err
	}
	made, err := w.CreateCredential(user{id: deviceID}, webauthn.SessionData{
		Challenge: challenge, RelyingPartyID: site.ID, UserID: []byte(deviceID),
		UserVerification: protocol.VerificationRequired, CredParams: algorithms(),
	}, r.parsed)
	if err != nil {
		return Credential{}, refused(err)
	}
	return Credential{
		ID: base64.RawURLEncoding.EncodeToString(made.ID), PublicKey: made.PublicKey, Site: site.ID, SignCount: made.Authenticator.SignCount,
		CreatedAt: time.Now().UTC(), Synced: made.Flags.BackupEligible, BackedUp: made.Flags.BackupState,
	}, nil
}

// Verify is c as it is to be kept from now on, if v says that the person at the device with this id was
// verified for text, on a page of site. ErrRefused.
func Verify(site Site, c Credential, deviceID string, text []byte, v hook.Verification) (Credential, error) {
	if site.ID != c.Site || v.Credential != c.ID {
		return Credential{}, fmt.Errorf("%w: another credential, or of another site", ErrRefused)
	}
	w, err := site.relyingParty()
	if err != nil {
		return Credential{}, err
	}
	parsed, err := parse(v)
	if err != nil {
		return Credential{}, err
	}
	kept := webauthn.Credential{ID: parsed.RawID, PublicKey: c.PublicKey}
	kept.Flags.BackupEligible, kept.Flags.BackupState = c.Synced, c.BackedUp
	kept.Authenticator.SignCount = c.SignCount
	now, err := w.ValidateLogin(user{id: deviceID, credentials: []webauthn.Credential{kept}}, webauthn.SessionData{
		Challenge: ChallengeOf(text), RelyingPartyID: site.ID, UserID: []byte(deviceID),
		AllowedCredentialIDs: [][]byte{parsed.RawID}, UserVerification: protocol.VerificationRequired,
	}, parsed)
	if err != nil {
		return Credential{}, refused(err)
	}
	if now.Authenticator.CloneWarning {
		return Credential{}, fmt.Errorf("%w: its count did not go up: sent before, or from a copy of the credential", ErrRefused)
	}
	c.SignCount, c.BackedUp = now.Authenticator.SignCount, now.Flags.BackupState
	return c, nil
}

// Fits reports whether v, of a record, verifies somebody for text by the key in it. It needs neither the
// device nor its credential, which may be long gone, and so cannot say whose key that was.
func Fits(text []byte, v hook.Verification) bool {
	parsed, err := parse(v)
	if err != nil {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(v.PublicKey)
	if err != nil {
		return false
	}
	key, err := webauthncose.ParsePublicKey(raw)
	if err != nil {
		return false
	}
	client := parsed.Response.CollectedClientData
	flags := parsed.Response.AuthenticatorData.Flags
	if client.Type != protocol.AssertCeremony || client.Challenge != ChallengeOf(text) || !flags.HasUserPresent() || !flags.HasUserVerified() {
		return false
	}
	hash := sha256.Sum256(parsed.Raw.AssertionResponse.ClientDataJSON)
	ok, err := webauthncose.VerifySignature(key, slices.Concat([]byte(parsed.Raw.AssertionResponse.AuthenticatorData), hash[:]), parsed.Response.Signature)
	return err == nil && ok
}

// parse builds the standard's object of v, which is flat and of limited size.
func parse(v hook.Verification) (*protocol.ParsedCredentialAssertionData, error) {
	doc, err := json.Marshal(map[string]any{
		"id": v.Credential, "rawId": v.Credential, "type": "public-key",
		"response": map[string]string{"authenticatorData": v.AuthenticatorData, "clientDataJSON": v.ClientData, "signature": v.Signature},
	})
	if err != nil {
		return nil, refused(err)
	}
	if len(doc) > maxResponse {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrRefused, maxResponse)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(doc)
	if err != nil {
		return nil, refused(err)
	}
	return parsed, nil
}

// ChallengeOf is the challenge of a text: its SHA-256.
func ChallengeOf(text []byte) string {
	h := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(h[:])
}

func (s Site) relyingParty() (*webauthn.WebAuthn, error) {
	w, err := webauthn.New(&webauthn.Config{RPID: s.ID, RPDisplayName: "assent", RPOrigins: s.Origins})
	if err != nil {
		return nil, fmt.Errorf("verification under %s: %w", s.ID, err)
	}
	return w, nil
}

// algorithms are those that platforms' authenticators have.
func algorithms() (list []protocol.CredentialParameter) {
	for _, a := range []webauthncose.COSEAlgorithmIdentifier{webauthncose.AlgES256, webauthncose.AlgEdDSA, webauthncose.AlgRS256} {
		list = append(list, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: a})
	}
	return list
}

func refused(err error) error {
	var detail *protocol.Error
	if errors.As(err, &detail) {
		return fmt.Errorf("%w: %s: %s", ErrRefused, detail.Details, detail.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// user is a device, as WebAuthn sees it.
type user struct {
	id, name    string
	credentials []webauthn.Credential
}

func (u user) WebAuthnID() []byte                         { return []byte(u.id) }
func (u user) WebAuthnName() string                       { return u.name }
func (u user) WebAuthnDisplayName() string                { return u.name }
func (u user) WebAuthnCredentials() []webauthn.Credential { return u.credentials }
