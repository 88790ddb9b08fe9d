//go:build !mutants

package hook

// Mutant reports whether a defect was put in on purpose. It is false in every program that is not built
// with the tag mutants, for the tests of assent torture.
func Mutant(string) bool { return false }
