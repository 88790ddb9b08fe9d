package policy

import (
	"sync"

	"go.yaml.in/yaml/v3"

	"assent/internal/text/strictyaml"
)

// ruleTexts are the texts of the rules of one file, by their place in its list. To write YAML takes longer than to
// read and compile it, and most sets are never shown to anybody, so they are made when somebody asks first.
type ruleTexts func() []string

// textsOf returns those of a file that could be read. data must not be changed afterwards.
func textsOf(data []byte) ruleTexts {
	return sync.OnceValue(func() []string {
		doc := strictyaml.Document(data, len(data), func(*yaml.Node, string, ...any) {})
		if doc == nil {
			return nil
		}
		var texts []string
		for i := 0; i+1 < len(doc.Content); i += 2 {
			if doc.Content[i].Value != "rules" {
				continue
			}
			for _, n := range doc.Content[i+1].Content {
				text, err := yaml.Marshal(withoutHeadings(n))
				if err != nil {
					text = nil
				}
				texts = append(texts, string(text))
			}
		}
		return texts
	})
}

// withoutHeadings is a copy without the comments on lines of their own: what stands before a rule
// in a file is often about several.
func withoutHeadings(n *yaml.Node) *yaml.Node {
	bare := *n
	bare.HeadComment, bare.FootComment = "", ""
	bare.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		bare.Content[i] = withoutHeadings(c)
	}
	return &bare
}

// text is the rule as it is written in its file.
func (r *rule) text() string {
	if r.texts == nil { // a rule string
		return string(r.action) + ": " + r.spec
	}
	if all := r.texts(); r.nth < len(all) {
		return all[r.nth]
	}
	return ""
}
