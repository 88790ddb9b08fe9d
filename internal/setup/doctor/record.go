package doctor

import (
	"context"
	"slices"

	"assent/internal/text/show"
)

func (x *examination) checkRecord(ctx context.Context) []Finding {
	list := document(ctx, x, "record", "/v1/audit/checkpoint", "view", recordTree)
	return slices.DeleteFunc(list, func(f Finding) bool { return f.Status == OK || x.Credential() != nil }) // the rules' finding says that
}

// checkpoint is what is looked at of the newest one.
type checkpoint struct{ Stopped, Late string }

// recordTree says whether the broker can prove its record: whether the tree over it takes what comes.
func recordTree(c *checkpoint) Finding {
	f := Finding{Name: "record", Status: OK}
	switch {
	case c.Stopped != "":
		f.Status, f.Detail = Danger, "the tree over the record has stopped: "+show.Line(c.Stopped)
		f.Fix = "assent audit export and assent audit verify --kept say what differs; docs/audit.md says what next"
	case c.Late != "":
		f.Status, f.Detail = Warn, "the tree over the record does not keep up, so that what was decided lately cannot be proved yet; "+show.Line(c.Late)
		f.Fix = "make room on the disk, or see the broker's log for tree:"
	}
	return f
}
