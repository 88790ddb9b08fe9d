package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
	"assent/schemas"
)

// errNotObject is the problem with a body that is no JSON object.
var errNotObject = errors.New("want one JSON object")

// decodeObject reads body, one JSON object, into the places that fields names: *string, *bool,
// *int64 or *hook.JSON (which keeps any value). Names match exactly; an unknown, repeated or
// mistyped one is an error that names it. encoding/json alone would take "Behavior" for
// "behavior" and the last of several.
func decodeObject(body []byte, fields map[string]any) []*hook.FieldError {
	if !utf8.Valid(body) {
		return []*hook.FieldError{hook.BadField("", "the body is not UTF-8")}
	}
	members, err := strictjson.Object(body)
	if err != nil {
		return []*hook.FieldError{hook.BadField("", errNotObject.Error())}
	}
	var errs []*hook.FieldError
	seen := map[string]bool{}
	for _, m := range members {
		target, ok := fields[m.Key]
		switch {
		case !ok:
			errs = append(errs, hook.BadField(m.Key, "unknown"))
		case seen[m.Key]:
			errs = append(errs, hook.BadField(m.Key, "given twice"))
		default:
			if why := assign(target, m.Value); why != "" {
				errs = append(errs, hook.BadField(m.Key, why))
			}
		}
		seen[m.Key] = true
	}
	const enough = 20
	return errs[:min(len(errs), enough)]
}

// assign stores value, or returns what type was wanted instead. null is no value of any type.
func assign(target any, value []byte) (want string) {
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

// readObject is decodeObject of a request's body, which must be as the schema describes it; check,
// which may be nil, is asked then and has the better words. It answers every error by itself. That
// includes a credential that was revoked while the body arrived: otherwise a caller who delays the
// body could still act with it.
func (s *Server) readObject(w http.ResponseWriter, r *http.Request, schema string, fields map[string]any, check func() []*hook.FieldError) bool {
	return s.readMembers(w, r, http.StatusBadRequest, schema, fields, check)
}

// readMembers is readObject with the status that answers members which are wrong.
func (s *Server) readMembers(w http.ResponseWriter, r *http.Request, bad int, schema string, fields map[string]any, check func() []*hook.FieldError) bool {
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
	errs := decodeObject(body, fields)
	if len(errs) == 0 && check != nil {
		errs = check()
	}
	// What is no object, or not UTF-8, has no members to look at.
	if len(errs) == 0 || errs[0].Field != "" {
		more, err := conform(schema, body)
		if err != nil {
			s.fail(w, r, err)
			return false
		}
		for _, d := range more {
			if !slices.ContainsFunc(errs, func(e *hook.FieldError) bool { return covers(pointerTo(e.Field), d.Pointer) }) {
				errs = append(errs, hook.BadField(fieldAt(d.Pointer), d.Problem))
			}
		}
	}
	if len(errs) > 0 {
		p := bodyProblem(errs)
		if errs[0].Field != "" {
			p.Status = bad
		}
		writeProblem(w, p)
		return false
	}
	return true
}

// opaque are members that only the handler judges, with what stands for them before the schema:
// they may be large, and the agent's own words in them are right whatever the schema says.
var opaque = map[string]any{"updatedInput": map[string]any{}, "updatedPermissions": []any{}}

// conform says how body, which decodeObject read before, differs from the schema. That a signature
// is missing is no error of form: it is refused as a wrong one is, and counted with those.
func conform(schema string, body []byte) ([]schemas.Difference, error) {
	doc := map[string]any{}
	members, err := strictjson.Object(body)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	for _, m := range members {
		if stand, ok := opaque[m.Key]; ok {
			doc[m.Key] = stand
			continue
		}
		d := json.NewDecoder(bytes.NewReader(m.Value))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
		doc[m.Key] = v
	}
	found, err := schemas.Differences(schema, doc)
	if err != nil {
		return nil, fmt.Errorf("check body: %w", err)
	}
	if _, signed := doc["signature"]; !signed && schema == "PushChange" {
		found = slices.DeleteFunc(found, func(d schemas.Difference) bool { return d.Pointer == "/signature" })
	}
	return found, nil
}

// covers reports whether a problem with the member at one pointer includes the other.
func covers(at, other string) bool {
	return other == at || strings.HasPrefix(other, at+"/") || strings.HasPrefix(at, other+"/")
}

// pointerTo is the JSON pointer to a member as field problems name it: updatedPermissions[0],
// settings.sessions.mode. Names with a dot or a bracket in them were no member's, so they were
// unknown at the top.
func pointerTo(field string) string {
	name := strings.NewReplacer("~", "~0", "/", "~1").Replace(field)
	if memberPath.MatchString(field) {
		name = strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(field)
	}
	return "/" + name
}

var memberPath = regexp.MustCompile(`^[A-Za-z0-9]+(\.[A-Za-z0-9]+|\[[0-9]+\])*$`)

// fieldAt is the other way round: updatedPermissions[0] for /updatedPermissions/0.
func fieldAt(pointer string) string {
	var b strings.Builder
	for i, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch _, err := strconv.Atoi(step); {
		case i > 0 && err == nil:
			b.WriteString("[" + step + "]")
		case i > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}

// bodyProblem is badMembers, but an error about the whole body has no field.
func bodyProblem(errs []*hook.FieldError) problem {
	if errs[0].Field == "" {
		return problem{Status: http.StatusBadRequest, Detail: errs[0].Problem}
	}
	return badMembers(errs...)
}
