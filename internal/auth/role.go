package auth

import "assent/internal/hook"

// Role is what a credential allows. admin includes approve, which includes view; submit
// stands apart and can neither list, read nor decide.
type Role string

// The roles.
const (
	RoleSubmit  Role = "submit"
	RoleView    Role = "view"
	RoleApprove Role = "approve"
	RoleAdmin   Role = "admin"
)

// Includes reports whether a holder of r may do what needs the role need. The zero Role
// includes nothing and is included by nothing.
func (r Role) Includes(need Role) bool {
	if r == RoleSubmit || need == RoleSubmit {
		return r == need
	}
	return need.rank() > 0 && r.rank() >= need.rank()
}

func (r Role) rank() int {
	switch r {
	case RoleView:
		return 1
	case RoleApprove:
		return 2
	case RoleAdmin:
		return 3
	}
	return 0
}

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case RoleSubmit, RoleView, RoleApprove, RoleAdmin:
		return r, nil
	}
	return "", hook.BadField("role", "want submit, view, approve or admin")
}
