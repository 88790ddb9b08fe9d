package feed

import "slices"

// Table returns the rows: one for each hook event that is known, and last, without a name, the
// one of all others.
func Table() []Row { return slices.Clone(table) }
