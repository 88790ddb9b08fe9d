package acp

import (
	"strings"

	"assent/internal/text/strictjson"
)

// choice are the options of a request that a plain answer takes, each as it stands in the request.
type choice struct{ allow, reject []byte }

// readChoice finds the first option of each kind that says yes or no to this one call. Options are told
// apart by their kind alone; one whose id says that it also switches a mode, or holds for later calls, is
// passed over. ok is false where one of the two is missing, or the list can be read in two ways.
func readChoice(options []byte) (c choice, ok bool) {
	list, err := strictjson.Array(options)
	if err != nil {
		return c, false
	}
	seen := map[string]bool{}
	for _, x := range list {
		o := readObject(x)
		id := o.text("optionId")
		if id == "" || seen[id] {
			return c, false
		}
		seen[id] = true
		if reaches(id) {
			continue
		}
		switch kind := o.text("kind"); {
		case kind == "allow_once" && c.allow == nil:
			c.allow = o["optionId"]
		case kind == "reject_once" && c.reject == nil:
			c.reject = o["optionId"]
		}
	}
	return c, c.allow != nil && c.reject != nil
}

// reaches says whether an option, by its id, reaches further than the call.
func reaches(id string) bool {
	id = strings.ToLower(id)
	for _, word := range []string{"switch", "mode", "always"} {
		if strings.Contains(id, word) {
			return true
		}
	}
	return false
}
