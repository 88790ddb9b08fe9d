package strictjson

import (
	"math"
	"testing"
)

func TestEncode(t *testing.T) {
	got, err := Encode(map[string]string{"a": "<&>\n"})
	if want := `{"a":"<&>\n"}`; err != nil || string(got) != want {
		t.Errorf("Encode = %s, %v, want %s", got, err, want)
	}
	if got, err := Encode(math.NaN()); err == nil || got != nil {
		t.Errorf("Encode of what is no JSON = %s, %v", got, err)
	}
}
