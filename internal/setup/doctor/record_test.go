package doctor

import (
	"strings"
	"testing"
)

func TestRecordTree(t *testing.T) {
	for _, c := range []struct {
		is     checkpoint
		status Status
		words  string
	}{
		{checkpoint{}, OK, ""},
		{checkpoint{Late: "checkpoints of the record are late: the disk is full"}, Warn, "cannot be proved yet; checkpoints of the record are late: the disk is full"},
		{checkpoint{Stopped: "entry 7 of the record is not the one that the tree has\x1b"}, Danger, "has stopped: entry 7 of the record is not the one that the tree has"},
	} {
		f := recordTree(&c.is)
		if f.Status != c.status || !strings.Contains(f.Detail, c.words) || strings.Contains(f.Detail, "\x1b") || (f.Fix == "") != (c.status == OK) {
			t.Errorf("%+v: %+v", c.is, f)
		}
	}
}
