package audit

import (
	"errors"
	"fmt"
	"time"

	"assent/internal/store/tree"
)

// checkpoint takes a checkpoint, of an export that of all leaves in front of it.
func (v *verifier) checkpoint(text string) {
	c, err := tree.OpenCheckpoint(text, v.Keys...)
	if errors.Is(err, tree.ErrCheckpoint) {
		v.find(Finding{What: err.Error(), Do: doAgain})
		return
	}
	if err != nil || len(v.Keys) == 0 {
		v.find(Finding{What: tree.ErrSignature.Error(), Do: doKey})
	}
	if c.Origin != v.rep.Origin {
		v.find(Finding{What: fmt.Sprintf("the checkpoint is of another tree, %s", c.Origin), Do: doCompare})
	}
	v.rep.Checkpoints++
	v.rep.Size, v.rep.Root, v.rep.Time = c.Size, c.Root, c.Time
	if ahead := time.Until(c.Time); ahead > v.Skew { // else all that is missing could be said to be too old
		v.find(Finding{What: fmt.Sprintf("the checkpoint is of a time that has not come, %s, by the clock here", c.Time.Format(time.RFC3339)), Do: doClock})
	}
	before := v.last
	v.last = &c
	if v.proofs {
		v.comparePast()
		return
	}
	if c.Size != v.edge.Size || c.Root != v.edge.Root() {
		v.find(Finding{What: fmt.Sprintf("the leaves up to here are not those that were signed: the checkpoint is of %d leaves and another root", c.Size), Do: doCompare})
	}
	if v.next != 0 && c.Record != v.next-1 {
		v.find(Finding{What: fmt.Sprintf("the checkpoint goes up to entry %d of the record, and the leaves to %d", c.Record, v.next-1), Do: doCompare})
	}
	switch {
	case before == nil && v.rep.From == 0 && c.Last != "":
		v.find(Finding{What: "the checkpoints before the first are missing", Do: doCompare})
	case before != nil && c.Last != before.Sum():
		v.find(Finding{What: "the checkpoint does not name the one before: one was left out, put in or replaced", Do: doCompare})
	}
	if before != nil && c.Time.Before(before.Time) {
		v.find(Finding{What: "the checkpoint is older than the one before", Do: doCompare})
	}
	if ahead := v.time.Sub(c.Time); ahead > v.Skew { // what is sealed has been recorded
		v.find(Finding{What: fmt.Sprintf("the last entry in front of the checkpoint is of a later time than that, by %s: of %s", ahead.Round(time.Second), stamp(v.time.UTC())), Do: doClock})
	}
	v.covered = v.edge.Size
	v.settleAged()
}

// compareKept compares the tree with the kept checkpoint of its size.
func (v *verifier) compareKept() {
	for len(v.Kept) > 0 && v.Kept[0].Size < v.edge.Size {
		if v.rep.From > v.Kept[0].Size {
			v.find(Finding{What: fmt.Sprintf("the kept checkpoint of %d leaves is in front of this export, which begins at leaf %d: they cannot be compared", v.Kept[0].Size, v.rep.From), Do: "export all: assent audit export without --since"})
		}
		v.Kept = v.Kept[1:]
	}
	for len(v.Kept) > 0 && v.Kept[0].Size == v.edge.Size {
		if v.Kept[0].Root != v.edge.Root() {
			v.find(Finding{What: fmt.Sprintf("the record is another one than that of the checkpoint kept of %s: of its first %d leaves one was changed, left out or put in", v.Kept[0].Time.Format(time.RFC3339), v.Kept[0].Size), Do: doCompare})
		}
		v.Kept = v.Kept[1:]
	}
}

// comparePast says which kept checkpoints are beyond the newest.
func (v *verifier) comparePast() {
	for _, c := range v.Kept {
		if c.Size > v.rep.Size {
			v.find(Finding{What: fmt.Sprintf("this record is older than what the kept checkpoint of %s has seen: %d leaves, and here are %d", c.Time.Format(time.RFC3339), c.Size, v.rep.Size), Do: doRollback})
		} else if c.Size == v.rep.Size && v.last != nil && c.Root != v.last.Root {
			v.find(Finding{What: "the record is another one than that of the kept checkpoint of the same size", Do: doCompare})
		}
	}
}
