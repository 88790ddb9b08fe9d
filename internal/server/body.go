package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"assent/internal/auth"
	"assent/internal/hook"
)

// errNotObject is the problem with a body that is no JSON object.
var errNotObject = errors.New("want one JSON object")

// decodeObject reads body, one JSON object, into the places that fields names: *string, *bool,
// *int64 or *hook.JSON (which keeps any value). Names match exactly; an unknown, repeated or
// mistyped one is an error that names it. encoding/json alone would take "Behavior" for
// "behavior" and the last of several.
func decodeObject(body []byte, fields map[string]any) []fieldProblem {
	if !utf8.Valid(body) {
		return []fieldProblem{{"", "the body is not UTF-8"}}
	}
	var errs []fieldProblem
	seen := map[string]bool{}
	err := members(body, func(key string, value json.RawMessage) {
		target, ok := fields[key]
		switch {
		case !ok:
			errs = append(errs, fieldProblem{key, "unknown"})
		case seen[key]:
			errs = append(errs, fieldProblem{key, "given twice"})
		default:
			if why := assign(target, value); why != "" {
				errs = append(errs, fieldProblem{key, why})
			}
		}
		seen[key] = true
	})
	if err != nil {
		return []fieldProblem{{"", err.Error()}}
	}
	const enough = 20
	return errs[:min(len(errs), enough)]
}

// members calls fn for each member of the object that body is.
func members(body []byte, fn func(key string, value json.RawMessage)) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errNotObject
	}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return errNotObject
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return errNotObject
		}
		fn(name, value)
	}
	if _, err := dec.Token(); err != nil {
		return errNotObject
	}
	if _, err := dec.Token(); err != io.EOF {
		return errNotObject
	}
	return nil
}

// assign stores value and says what else it wants. null is no value of any type.
func assign(target any, value json.RawMessage) (want string) {
	if string(value) == "null" {
		return "must not be null"
	}
	switch t := target.(type) {
	case *string:
		if json.Unmarshal(value, t) != nil {
			return "want a text"
		}
	case *bool:
		if json.Unmarshal(value, t) != nil {
			return "want true or false"
		}
	case *int64:
		if json.Unmarshal(value, t) != nil {
			return "want a whole number"
		}
	case *hook.JSON:
		*t = hook.JSON(value)
	}
	return ""
}

// readObject is decodeObject of a request's body. It answers what is wrong by itself: also that
// the caller's credential was revoked while the body took its time, for else somebody who holds
// a body back could still act with it.
func (s *Server) readObject(w http.ResponseWriter, r *http.Request, fields map[string]any) bool {
	body, err := s.readBody(w, r)
	if err != nil {
		var tooBig *http.MaxBytesError
		switch {
		case errors.As(err, &tooBig):
			s.fail(w, r, err)
		case errors.Is(err, errCrowd):
			writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: errCrowd.Error()})
		default:
			writeProblem(w, problem{Status: http.StatusBadRequest, Detail: "the body ended early or took too long"})
		}
		return false
	}
	if principal(r).Revoked() {
		s.fail(w, r, auth.ErrUnauthenticated)
		return false
	}
	if errs := decodeObject(body, fields); len(errs) > 0 {
		writeProblem(w, bodyProblem(errs))
		return false
	}
	return true
}

// bodyProblem is badFields, but an error about the whole body has no field.
func bodyProblem(errs []fieldProblem) problem {
	if errs[0].Field == "" {
		return problem{Status: http.StatusBadRequest, Detail: errs[0].Problem}
	}
	return badFields(errs...)
}
