package hook

// FieldError says what is wrong with one field of what somebody sent: a member of a decision or of
// settings, a header, a parameter.
type FieldError struct {
	// Field is its name; within a member, its path: settings.sessions.mode, updatedPermissions[0].
	// It is empty for an error about the whole.
	Field string
	// Problem says what is wrong, and what would be right.
	Problem string
}

// BadField returns a FieldError.
func BadField(field, problem string) *FieldError { return &FieldError{field, problem} }

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }
