package notifytest

import (
	"crypto/ecdh"
	"encoding/base64"
	"testing"
)

// TestDecrypt reads the example of RFC 8291, section 5.
func TestDecrypt(t *testing.T) {
	raw := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	private, err := ecdh.P256().NewPrivateKey(raw("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	body := raw("DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	plain, err := Decrypt(body, private, raw("BTBZMqHH6r4Tts7J_aSIgg"))
	if err != nil || string(plain) != "When I grow up, I want to be a watermelon" {
		t.Errorf("%q, %v", plain, err)
	}
	body[len(body)-1] ^= 1
	if _, err := Decrypt(body, private, raw("BTBZMqHH6r4Tts7J_aSIgg")); err == nil {
		t.Error("a forged message is read")
	}
}
