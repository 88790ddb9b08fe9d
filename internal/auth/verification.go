package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"assent/internal/auth/passkey"
	"assent/internal/hook"
)

// User verification: a device may keep a credential of its own system, with which it proves that its
// owner was there, by face, fingerprint or PIN, for one text. The device's key signs the text as before;
// the credential says yes to the same text, and cannot be used by what only runs in the page.

const (
	enrolmentLife       = 2 * time.Minute
	maxEnrolments       = 256
	maxDeviceEnrolments = 4

	// A text is verified once. What counts its uses says so by itself; of the others the texts of a day
	// are remembered, in 32 bytes each. A decision is recorded once whatever is remembered.
	verifiedLife = 24 * time.Hour
	maxVerified  = 10_000
)

// VerificationState is what is known of a device's credential.
type VerificationState struct {
	Credential string    // its id; empty: it has none
	Site       string    // the name that it holds under
	CreatedAt  time.Time // of the credential
	Synced     bool      // its owner's other devices may have it
}

// Verification is how it stands with a device. ErrNotFound.
func (a *Auth) Verification(deviceID string) (VerificationState, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.devices[deviceID]
	if e == nil {
		return VerificationState{}, ErrNotFound
	}
	if e.Passkey == nil {
		return VerificationState{}, nil
	}
	return VerificationState{e.Passkey.ID, e.Passkey.Site, e.Passkey.CreatedAt, e.Passkey.Synced}, nil
}

// EnrolText is what a device signs to have its new credential kept: the digest of the credential's JSON
// as it is sent. A stolen bearer must not be able to name a credential of its own.
func EnrolText(deviceID string, credential []byte) []byte {
	return []byte(strings.Join([]string{"assent verification v1", deviceID, textDigest(credential)}, "\n"))
}

// UnenrolText is what a device signs, and verifies, to have its credential forgotten.
func UnenrolText(deviceID, credentialID string) []byte {
	return []byte(strings.Join([]string{"assent unverify v1", deviceID, credentialID}, "\n"))
}

// BeginVerification returns the options for the browser of a device to make a credential with, good once
// and for two minutes. ErrVerifies: it has one; ErrNotFound.
func (a *Auth) BeginVerification(deviceID string, site passkey.Site) (options []byte, err error) {
	a.mu.Lock()
	e := a.devices[deviceID]
	name, has := "", false
	if e != nil {
		name, has = e.Name, e.Passkey != nil
	}
	a.mu.Unlock()
	switch {
	case e == nil:
		return nil, ErrNotFound
	case has:
		return nil, ErrVerifies
	}
	options, challenge, err := passkey.Begin(site, deviceID, name)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.enrolments.count(now, func(d string) bool { return d == deviceID }) >= maxDeviceEnrolments {
		a.enrolments.drop(func(d string) bool { return d == deviceID })
	}
	a.enrolments.put(challenge, deviceID, now)
	return options, nil
}

// FinishVerification keeps the credential that p's browser made, whose JSON p's key must have signed.
// ErrSignature, ErrVerification, ErrVerifies; *hook.FieldError: the challenge is not good any more.
func (a *Auth) FinishVerification(ctx context.Context, p Principal, site passkey.Site, credential []byte, signature string) (Device, error) {
	id := p.Approver.ID
	if !p.isDevice() || !verify(p.key.pub, EnrolText(id, credential), signature) {
		return Device{}, ErrSignature
	}
	made, err := passkey.ReadRegistration(credential)
	if err != nil {
		return Device{}, fmt.Errorf("%w: %w", ErrVerification, err)
	}
	a.mu.Lock()
	forDevice, fresh := a.enrolments.take(made.Challenge, time.Now())
	a.mu.Unlock()
	if !fresh || forDevice != id {
		return Device{}, hook.BadField("credential", "its challenge is unknown, used or expired; take new options")
	}
	c, err := passkey.Finish(site, id, made, made.Challenge)
	if err != nil {
		return Device{}, fmt.Errorf("%w: %w", ErrVerification, err)
	}
	return a.changeDevice(ctx, id, func(d *storedDevice) error {
		if d.Passkey != nil {
			return ErrVerifies
		}
		d.Passkey, d.Verifies = &c, true
		return nil
	})
}

// EndVerification forgets a device's credential. Whose word that is, is for the caller to check.
// ErrNoVerification, ErrNotFound.
func (a *Auth) EndVerification(ctx context.Context, deviceID string) (Device, error) {
	return a.changeDevice(ctx, deviceID, func(d *storedDevice) error {
		if d.Passkey == nil {
			return ErrNoVerification
		}
		d.Passkey, d.Verifies = nil, false
		return nil
	})
}

// VouchUnenrol returns nil if p is a device that signed to have its credential forgotten, else
// ErrSignature.
func (p Principal) VouchUnenrol(credentialID, signature string) error {
	if !p.isDevice() || !verify(p.key.pub, UnenrolText(p.Approver.ID, credentialID), signature) {
		return ErrSignature
	}
	return nil
}

// Verify returns v as it may be recorded, if it verifies p's owner for text by the credential of p, which
// must be a device: the same text that p's key signed. originsOf are the origins of pages under a name.
// What was accepted once is refused from then on, unless again says that the same may come again.
//
// ErrVerification, ErrNoVerification, ErrUnauthenticated: the device is gone, ErrUnavailable: its count
// cannot be kept, and nobody is verified then.
func (a *Auth) Verify(ctx context.Context, p Principal, originsOf func(name string) []string, text []byte, v hook.Verification, again bool) (*hook.Verification, error) {
	if !p.isDevice() {
		return nil, ErrNoVerification
	}
	now := time.Now()
	digest := textDigest(text)
	_, err := a.changeDevice(ctx, p.Approver.ID, func(d *storedDevice) error {
		if d.Passkey == nil {
			return ErrNoVerification
		}
		c, err := passkey.Verify(passkey.Site{ID: d.Passkey.Site, Origins: originsOf(d.Passkey.Site)}, *d.Passkey, d.ID, text, v)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrVerification, err)
		}
		v.PublicKey = base64.RawURLEncoding.EncodeToString(c.PublicKey)
		if c.SignCount != d.Passkey.SignCount || c.BackedUp != d.Passkey.BackedUp {
			d.Passkey = &c
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, ErrUnauthenticated
	case err != nil:
		return nil, err
	case again:
		return &v, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, used := a.verified.take(digest, now); used {
		a.verified.put(digest, struct{}{}, now)
		return nil, fmt.Errorf("%w: used before", ErrVerification)
	}
	a.verified.put(digest, struct{}{}, now)
	return &v, nil
}

// VerifiedDecision reports whether the decision of a record holds a verification that fits it.
func VerifiedDecision(requestID string, d hook.Decision) bool {
	return d.Verification != nil && passkey.Fits(DecisionText(requestID, d), *d.Verification)
}

// VerifiedSent reports whether the message of this id holds a verification that fits it.
func VerifiedSent(id string, s hook.SentMessage) bool {
	return s.Verification != nil && passkey.Fits(sentText(id, s), *s.Verification)
}
