package reader

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/schemas"
)

func TestMarkersAreAsDescribed(t *testing.T) {
	for _, tt := range []struct {
		marker Marker
		says   string
	}{
		{gapMarker(1, 3, 3, ""), "1 event missing"},
		{gapMarker(50, 101, 150, ""), "50 events missing"},
		{gapMarker(50, 101, 150, "Stop"), "up to 50 events of type Stop are missing"},
		{repeatMarker(7), "may have come before"},
		{rewindMarker(0, 7), "ends at event 0"},
		{rewindMarker(5, 7), "ends at event 5"},
	} {
		b, err := json.Marshal(tt.marker)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("EventsMarker", b); err != nil {
			t.Errorf("%v in %s", err, b)
		}
		if !strings.Contains(tt.marker.Message, tt.says) {
			t.Errorf("%q does not say %q", tt.marker.Message, tt.says)
		}
	}
}
