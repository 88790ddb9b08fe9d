package shell

// The codes of doubts. They are stable: rules, records and scripts may name them.
const (
	DoubtCharacter  = "character"     // control, bidirectional, zero-width or otherwise invisible, or not UTF-8
	DoubtLong       = "too-long"      // more than 10,000 characters
	DoubtNesting    = "nesting"       // nested more than 64 deep
	DoubtComment    = "comment"       // a line with a comment ends in a backslash
	DoubtBackslash  = "backslash"     // a backslash in front of a line's end that shells read differently, or at the end
	DoubtSyntax     = "syntax"        // not a complete bash script
	DoubtZsh        = "zsh"           // zsh reads it differently
	DoubtProgram    = "program"       // the program is not a plain word
	DoubtExpansion  = "expansion"     // an expansion that runs code, sets variables, or is rare
	DoubtArithmetic = "arithmetic"    // arithmetic on anything but numbers: a variable there can run code
	DoubtFunction   = "function"      // defines a function
	DoubtBuiltin    = "builtin"       // eval, source, alias, trap, set and others that change what follows
	DoubtAssign     = "assignment"    // sets a variable that is not known to be harmless
	DoubtRedirect   = "redirect"      // a redirection that shells read differently, to the network, or to a computed name
	DoubtHeredoc    = "heredoc"       // a here-document that is more than text
	DoubtGlob       = "pattern"       // an extended pattern
	DoubtWrapper    = "wrapper"       // options of a program that starts another which are not known
	DoubtElevated   = "see-through"   // sudo, ssh, watch …: starts another program elsewhere or as someone else
	DoubtInline     = "inline-script" // bash -c with a text that is computed or too deep
	DoubtStdin      = "stdin-code"    // an interpreter reads what to run from its input
	DoubtGitMoved   = "git-after-cd"  // git after cd: another repository's configuration can name programs to run
	DoubtUnit       = "too-many"      // more units than are kept
)
