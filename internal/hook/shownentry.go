package hook

import "strings"

const shownEntryPrefix = "shown-"

// ShownEntry is what stands in place of a request's id where the record has an entry about who had that request on the screen.
// Such entries have a subject of their own, so that none ever takes the place that a decision is written to. The id of a request
// is a UUID, so no request is called that.
func ShownEntry(requestID string) string { return shownEntryPrefix + requestID }

// RequestOfShown is the id of the request in a ShownEntry; false of every other id.
func RequestOfShown(id string) (requestID string, ok bool) {
	requestID, ok = strings.CutPrefix(id, shownEntryPrefix)
	return requestID, ok && requestID != ""
}
