package gitrepo

// CommonDir is the directory with what the work trees of a repository share, of the work tree
// whose top directory root is: root/.git, but in a linked work tree that of the main one. It is
// empty if root is not the top of a work tree.
func CommonDir(root string) string {
	g, ok := openGit(root)
	if !ok {
		return ""
	}
	return g.common
}

// OwnDir is the directory with what a work tree has for itself, such as its index, of the one whose top directory root is:
// root/.git, or what that names. It is empty if root is not the top of a work tree.
func OwnDir(root string) string {
	g, ok := openGit(root)
	if !ok {
		return ""
	}
	return g.own
}
