package secrets

import "testing"

func BenchmarkName(b *testing.B) {
	names := []string{"file123.go", "README.md", "index.d.ts", "package.json", "test_something_long.py", "a.o"}
	for b.Loop() {
		for _, n := range names {
			Name(n)
		}
	}
}

func BenchmarkDirectory(b *testing.B) {
	for b.Loop() {
		Directory("node_modules")
	}
}

func BenchmarkPlace(b *testing.B) {
	p := Top("/tmp/project/d1")
	for b.Loop() {
		p.Secret("file123.go", true)
	}
}
