package reader

import "fmt"

// Marker is what a reader of events is told between them. As JSON it is a line of
// assent events --json, described by the schema EventsMarker.
type Marker struct {
	Kind string `json:"assent_marker"`
	// First and Last are the stream sequences that the marker is about.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Missed is how many events a gap stands for; with UpperBound, at most so many.
	Missed     uint64 `json:"missed,omitempty"`
	UpperBound bool   `json:"upper_bound,omitempty"`
	// Message says it all in words.
	Message string `json:"message"`
}

// The kinds of Marker.
const (
	// MarkerGap: events left the stream before the reader got to them.
	MarkerGap = "gap"
	// MarkerRepeat: the event that follows was handed to a reader of this name before, which
	// did not get as far as acknowledging it.
	MarkerRepeat = "repeat"
	// MarkerRewind: the stream lost its end or was made anew. Other events may come under the
	// sequences that were read, or the same ones again.
	MarkerRewind = "rewind"
)

func gapMarker(missed, first, last uint64, filter string) Marker {
	m := Marker{Kind: MarkerGap, Missed: missed, First: first, Last: last, UpperBound: filter != ""}
	events := fmt.Sprintf("%d events", missed)
	if missed == 1 {
		events = "1 event"
	}
	if m.UpperBound {
		m.Message = fmt.Sprintf("up to %s of type %s are missing here: %s of all types left the stream before this reader got to them", events, filter, events)
	} else {
		m.Message = fmt.Sprintf("%s missing here: they left the stream before this reader got to them", events)
	}
	return m
}

func repeatMarker(seq uint64) Marker {
	return Marker{Kind: MarkerRepeat, First: seq, Last: seq,
		Message: "the next event may have come before: a reader of this name got it and ended before it acknowledged it"}
}

func rewindMarker(ends, read uint64) Marker {
	return Marker{Kind: MarkerRewind, First: ends + 1, Last: read,
		Message: fmt.Sprintf("the stream ends at event %d, but was read up to %d before: its end was lost, or it was made anew; events may come again", ends, read)}
}
