package policy

import (
	"regexp"
	"sync"
)

// lazyPattern is a regular expression that is compiled when it is first asked: assent-hook-strict runs several times per tool
// call, and mostly needs none.
type lazyPattern struct {
	text     string
	compiled func() *regexp.Regexp
}

func lazily(text string) *lazyPattern {
	return &lazyPattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (p *lazyPattern) MatchString(s string) bool  { return p.compiled().MatchString(s) }
func (p *lazyPattern) FindString(s string) string { return p.compiled().FindString(s) }
func (p *lazyPattern) ReplaceAllString(s, by string) string {
	return p.compiled().ReplaceAllString(s, by)
}
func (p *lazyPattern) FindAllString(s string, n int) []string {
	return p.compiled().FindAllString(s, n)
}
func (p *lazyPattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}
