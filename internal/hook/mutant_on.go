//go:build mutants

package hook

import "os"

// Mutant reports whether this defect was put in on purpose: ASSENT_MUTANT names it.
func Mutant(name string) bool { return os.Getenv("ASSENT_MUTANT") == name }
