package effects

import (
	"slices"
	"strings"
)

const changesCluster = "Changes the cluster:"

// clusterPhrase says what a command does to a cluster, and to which.
func (c *command) clusterPhrase() string {
	var ops []string
	for _, i := range c.operands[:min(len(c.operands), 2)] {
		ops = append(ops, c.u.Argv[1:][i].Text)
	}
	two := strings.Join(ops, " ")
	begins := "Changes the cluster"
	switch c.u.Base {
	case "kubectl", "oc", "k":
		if len(ops) > 0 && (ops[0] == "apply" || ops[0] == "scale") || two == "set image" || two == "set env" || two == "rollout restart" || two == "rollout undo" {
			begins = "Deploys to the cluster"
		}
	case "helm":
		if len(ops) > 0 && (ops[0] == "install" || ops[0] == "upgrade") {
			begins = "Deploys to the cluster"
		}
	}
	return begins + c.clusterName() + ":"
}

// clusterName is which cluster and namespace a command names, with a space in front.
func (c *command) clusterName() string {
	s := ""
	if to, ok := c.valueOf([]string{"--context", "--kube-context", "--cluster"}); ok {
		s = " " + quiet(to.Text, 40)
	}
	if in, ok := c.valueOf([]string{"-n", "--namespace"}); ok {
		s += " (namespace " + quiet(in.Text, 40) + ")"
	}
	return s
}

// isPackage says whether a phrase is about something with versions that everybody may fetch.
func isPackage(phrase string) bool {
	return slices.Contains([]string{"Publishes the package", "Publishes the crate", "Publishes the gem", "Publishes the image"}, phrase)
}

// published adds the command to what publishes a package, and says that it is for everybody only
// where nothing names another registry.
func (c *command) published(f *effect) {
	if !isPackage(f.phrase) {
		return
	}
	for i, w := range c.u.Argv {
		name, value, _ := strings.Cut(w.Text, "=")
		if name == "--access" && value == "" && i+1 < len(c.u.Argv) {
			value = c.u.Argv[i+1].Text
		}
		if name == "--access" && value == "restricted" || slices.Contains([]string{"--registry", "--repository", "--repository-url", "--index", "--index-url", "--publish-url", "--host", "-r"}, name) {
			f.tail = ""
		}
	}
	f.tail = strings.TrimSpace(f.tail + " (" + c.name() + ")")
}

// startsContainers says whether the words of a command start containers: compose up, run.
func startsContainers(words []object) bool {
	return slices.ContainsFunc(words[:min(len(words), 2)], func(w object) bool {
		return slices.Contains([]string{"up", "start", "run", "restart", "unpause"}, w.Text)
	})
}
