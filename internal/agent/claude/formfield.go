package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"assent/internal/text/strictjson"
)

// formField is one value that the form asks for.
type formField struct {
	name string
	kind string // string, number, integer, boolean, array
	// options are what can be chosen, of a string or of an array's elements; nil: free text.
	options []string
	format  string
	// least and most bound a number, the characters of a text, or how many options are chosen.
	least, most *float64
}

func formFields(raw []byte) ([]formField, error) {
	ms, err := strictjson.Object(raw)
	if err != nil {
		return nil, err
	}
	if len(ms) > maxFormFields {
		return nil, fmt.Errorf("it asks for %d things", len(ms))
	}
	fields, offered := []formField{}, 0
	for _, m := range ms {
		x, err := formFieldOf(m.Value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", m.Key, err)
		}
		if offered += len(x.options); offered > maxFormOptions {
			return nil, fmt.Errorf("it offers more than %d options", maxFormOptions)
		}
		x.name = m.Key
		fields = append(fields, x)
	}
	return fields, nil
}

// formFieldOf reads one property. What a keyword bounds depends on the type, so one that does not
// belong to the type is an error as much as an unknown one.
func formFieldOf(raw []byte) (x formField, err error) {
	p, err := members(raw)
	if err != nil {
		return x, err
	}
	x.kind = text(p["type"])
	var titles []string
	for key, v := range p {
		switch key {
		case "type", "default": // which is looked at below
		case "title", "description":
			err = expect(isText(v), key)
		case "format":
			x.format = text(v)
			err = expect(x.kind == "string" && slices.Contains([]string{"email", "uri", "date", "date-time"}, x.format), key)
		case "minLength", "maxLength":
			err = x.bound(key == "minLength", v, x.kind == "string", true)
		case "minimum", "maximum":
			err = x.bound(key == "minimum", v, x.kind == "number" || x.kind == "integer", false)
		case "minItems", "maxItems":
			err = x.bound(key == "minItems", v, x.kind == "array", true)
		case "enum", "oneOf":
			if err = expect(x.kind == "string" && x.options == nil, key); err == nil {
				x.options, err = options(key, v)
			}
		case "enumNames":
			if titles, err = textList(v); err == nil {
				err = expect(x.kind == "string" && p["enum"] != nil, key)
			}
		case "items":
			if err = expect(x.kind == "array", key); err == nil {
				x.options, err = itemOptions(v)
			}
		default:
			err = fmt.Errorf("%q is not known", key)
		}
		if err != nil {
			return x, err
		}
	}
	switch {
	case !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, x.kind):
		return x, errors.New("its type is not known")
	case x.kind == "array" && x.options == nil:
		return x, errors.New("it is a list of anything")
	case titles != nil && len(titles) != len(x.options):
		return x, errors.New("enumNames are not those of enum")
	case x.options != nil && x.kind == "string" && (x.format != "" || x.least != nil || x.most != nil):
		return x, errors.New("a choice has bounds of a text")
	}
	if d := p["default"]; d != nil {
		// A default that breaks the form's own rules is nothing that a person should be offered.
		if why := x.check(d); why != "" {
			return x, fmt.Errorf("its default %s", why)
		}
	}
	return x, nil
}

func (x *formField) bound(least bool, v []byte, fits, count bool) error {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !fits || count && (n < 0 || n != float64(int64(n))) {
		return errors.New("a bound that does not fit its type")
	}
	if least {
		x.least = &n
	} else {
		x.most = &n
	}
	return nil
}

// itemOptions are what can be chosen of {"enum":[…]} or {"anyOf":[{"const","title"}]}.
func itemOptions(raw []byte) (out []string, err error) {
	p, err := members(raw)
	if err != nil {
		return nil, err
	}
	for key, v := range p {
		switch key {
		case "type":
			err = expect(text(v) == "string", key)
		case "enum", "anyOf":
			if err = expect(out == nil, key); err == nil {
				out, err = options(key, v)
			}
		default:
			err = fmt.Errorf("%q is not known", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func options(key string, raw []byte) (out []string, err error) {
	if key == "enum" {
		out, err = textList(raw)
	} else {
		var entries []json.RawMessage
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, err
		}
		out = []string{}
		for _, e := range entries {
			o, err := members(e)
			if err != nil || len(o) != 2 || !isText(o["const"]) || !isText(o["title"]) {
				return nil, errors.New("an option that is not one const with a title")
			}
			out = append(out, text(o["const"]))
		}
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, o := range out {
		if seen[o] {
			return nil, errors.New("an option that stands there twice")
		}
		seen[o] = true
	}
	if len(out) == 0 {
		return nil, errors.New("no options")
	}
	return out, nil
}
