package authtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"assent/internal/hook"
)

// Authenticator is the part of a device that verifies its owner, and the browser around it, for tests. Its
// exported fields say what it lies about; a fresh one is honest.
type Authenticator struct {
	key *ecdsa.PrivateKey
	id  []byte

	Site    string // the name it holds under
	Origin  string // of the page
	Count   uint32 // goes up with each use; Counts says whether
	Counts  bool
	Person  bool // somebody is there
	Known   bool // and was verified
	Synced  bool
	Crossed bool // the page is in another site's frame
}

// NewAuthenticator makes one for a page.
func NewAuthenticator(site, origin string) *Authenticator {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil { // crypto/rand does not fail
		panic(err)
	}
	a := &Authenticator{key: key, id: make([]byte, 16), Site: site, Origin: origin, Counts: true, Person: true, Known: true}
	_, _ = rand.Read(a.id)
	return a
}

// ID is that of its credential.
func (a *Authenticator) ID() string { return base64.RawURLEncoding.EncodeToString(a.id) }

// Create is the JSON of the credential that it makes for a challenge.
func (a *Authenticator) Create(challenge string) []byte {
	pub, err := a.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		panic(err)
	}
	cose := []byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32} // EC2, ES256, P-256, x
	cose = append(append(append(cose, pub[1:33]...), 0x22, 0x58, 32), pub[33:]...)
	data := a.data(0x40)
	data = append(data, make([]byte, 16)...) // AAGUID
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), cose...)
	object := []byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59")
	object = append(binary.BigEndian.AppendUint16(object, uint16(len(data))), data...)
	return a.response(map[string]string{"clientDataJSON": encode(a.client("webauthn.create", challenge)), "attestationObject": encode(object)})
}

// Get verifies the owner for text.
func (a *Authenticator) Get(text []byte) hook.Verification {
	h := sha256.Sum256(text)
	return a.GetFor("webauthn.get", encode(h[:]))
}

// GetFor is Get with a challenge, in a ceremony of any type.
func (a *Authenticator) GetFor(ceremony, challenge string) hook.Verification {
	if a.Counts {
		a.Count++
	}
	client, data := a.client(ceremony, challenge), a.data(0)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		panic(err)
	}
	return hook.Verification{Credential: a.ID(), AuthenticatorData: encode(data), ClientData: encode(client), Signature: encode(signature)}
}

func (a *Authenticator) data(flags byte) []byte {
	for bit, set := range map[byte]bool{1: a.Person, 4: a.Known, 8: a.Synced, 16: a.Synced} {
		if set {
			flags |= bit
		}
	}
	site := sha256.Sum256([]byte(a.Site))
	return binary.BigEndian.AppendUint32(append(site[:], flags), a.Count)
}

func (a *Authenticator) client(ceremony, challenge string) []byte {
	b, err := json.Marshal(map[string]any{"type": ceremony, "challenge": challenge, "origin": a.Origin, "crossOrigin": a.Crossed})
	if err != nil {
		panic(err)
	}
	return b
}

func (a *Authenticator) response(r map[string]string) []byte {
	b, err := json.Marshal(map[string]any{"id": a.ID(), "rawId": a.ID(), "type": "public-key", "response": r, "clientExtensionResults": map[string]any{}})
	if err != nil {
		panic(err)
	}
	return b
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
