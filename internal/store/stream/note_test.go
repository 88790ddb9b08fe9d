package stream

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/schemas"
)

func TestNotesAreAsDescribed(t *testing.T) {
	for _, tt := range []struct {
		note Note
		says string
	}{
		{gapNote(1, 3, 3, ""), "1 event missing"},
		{gapNote(50, 101, 150, ""), "50 events missing"},
		{gapNote(50, 101, 150, "Stop"), "up to 50 events of type Stop are missing"},
		{repeatNote(7), "may have come before"},
		{rewindNote(0, 7), "ends at event 0"},
		{rewindNote(5, 7), "ends at event 5"},
	} {
		b, err := json.Marshal(tt.note)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate("EventsMarker", b); err != nil {
			t.Errorf("%v in %s", err, b)
		}
		if !strings.Contains(tt.note.Message, tt.says) {
			t.Errorf("%q does not say %q", tt.note.Message, tt.says)
		}
	}
}
