package digest

import "testing"

// Others compute the same: a device before it signs, and whoever compares a record with a file.
func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"":    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	} {
		if got := Of([]byte(text)); got != want {
			t.Errorf("Of(%q) = %s, want %s", text, got, want)
		}
	}
}
