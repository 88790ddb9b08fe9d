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

// published adds the command to what publishes a package, and names the package and the registry where
// the command does. That it is for everybody is said only where nothing names another registry.
func (c *command) published(f *effect) {
	if !isPackage(f.phrase) {
		return
	}
	if f.object == "" {
		names := []string{"-w", "--workspace", "--filter", "-F"}
		if c.u.Base == "cargo" { // others hand over a password by -p
			names = []string{"-p", "--package"}
		}
		if of, ok := c.valueOf(names); ok && of.Static {
			f.object, f.plain = of.Text, simple([]object{of})
		}
	}
	if access, ok := c.valueOf([]string{"--access"}); ok && access.Text == "restricted" {
		f.tail = ""
	}
	if to, ok := c.valueOf([]string{"--registry", "--repository", "--repository-url", "--index", "--index-url", "--publish-url", "--host", "-r", "--key"}); ok {
		f.tail = ""
		if host := hostOf(to.Text); host != "" && strings.Contains(to.Text, "://") {
			f.tail = "to " + quiet(host, 40)
		} else if to.Static {
			f.tail = "to " + quiet(to.Text, 40)
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
