package openai

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// A lack is the set of fields that a server refused to know.
type lack map[string]bool

// knows says whether a field may be sent.
func (l lack) knows(field string) bool { return !l[field] }

// lacks is what is known of the server by now.
func (ep *endpoint) lacks() lack {
	ep.mu.Lock()
	defer ep.mu.Unlock()
	return maps.Clone(ep.lacking)
}

// optional are the fields that can be left out, or have another name.
var optional = []string{
	fieldTokenIDs, fieldLogProbs, fieldTopK, fieldTopP, fieldTemperature, fieldSeed, fieldEffort, fieldToolChoice, fieldFormat, fieldMaxTokens,
}

// unknowing is how servers say that they do not know a field at all.
var unknowing = regexp.MustCompile(`(?i)unsupported|not support|unrecognized|unknown|unexpected|not permitted|not allowed|extra|only the default|not available`)

// adapt learns from a refusal which field the server does not know of those that
// were sent: all but l. A value that is out of bounds is no such thing.
func (ep *endpoint) adapt(d details, l lack) bool {
	if !unknowing.MatchString(d.message) || strings.Contains(strings.ToLower(d.message), "invalid schema") {
		return false
	}
	for _, field := range optional {
		if !l.knows(field) || d.param != field && !strings.Contains(d.message, field) {
			continue
		}
		ep.mu.Lock()
		learned := !ep.lacking[field]
		ep.lacking[field] = true
		ep.mu.Unlock()
		if learned {
			ep.cfg.Warn(fmt.Sprintf("%s does not take %s of %s; it is left out from now on", ep.url, field, ep.cfg.Model))
		}
		return true
	}
	return false
}
