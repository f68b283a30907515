package eval

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes the result as one indented JSON object.
func (r *Result) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write the result as JSON: %w", err)
	}
	return nil
}
