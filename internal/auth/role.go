package auth

import "assent/internal/hook"

// Role is what a credential allows. admin includes operate, which includes approve, which includes view;
// submit and host stand apart and can neither list, read nor decide. operate sends text to agents: together
// with approve that is a shell on their machines. host offers agents and takes what is sent to them.
type Role string

// The roles.
const (
	RoleSubmit  Role = "submit"
	RoleHost    Role = "host"
	RoleView    Role = "view"
	RoleApprove Role = "approve"
	RoleOperate Role = "operate"
	RoleAdmin   Role = "admin"
)

// Includes reports whether a holder of r may do what needs the role need. The zero Role
// includes nothing and is included by nothing.
func (r Role) Includes(need Role) bool {
	if r == RoleSubmit || need == RoleSubmit || r == RoleHost || need == RoleHost {
		return r == need && r != ""
	}
	return need.rank() > 0 && r.rank() >= need.rank()
}

func (r Role) rank() int {
	switch r {
	case RoleView:
		return 1
	case RoleApprove:
		return 2
	case RoleOperate:
		return 3
	case RoleAdmin:
		return 4
	}
	return 0
}

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case RoleSubmit, RoleHost, RoleView, RoleApprove, RoleOperate, RoleAdmin:
		return r, nil
	}
	return "", hook.BadField("role", "want submit, host, view, approve, operate or admin")
}
