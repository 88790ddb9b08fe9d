package strictjson

import (
	"bytes"
	"encoding/json"
)

// Encode writes v as JSON without a line's end, and without the escapes of <, > and & that
// json.Marshal adds for pages: what people wrote reaches whoever reads it as they wrote it.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
