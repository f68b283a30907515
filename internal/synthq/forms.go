package synthq

import (
	"fmt"
	"slices"
	"strings"
)

// A Form is what a question's answer takes.
type Form string

// The forms. The built-in generator knows the first and the last.
const (
	Single       Form = "single"       // one mail
	Several      Form = "several"      // facts of two or more mails together
	Changed      Form = "changed"      // a fact that a later mail changed: the last one counts
	Unanswerable Form = "unanswerable" // a sensible question whose answer is in no mail
)

// Forms lists all forms.
func Forms() []string {
	return []string{string(Single), string(Several), string(Changed), string(Unanswerable)}
}

// told is how a form is explained to a model.
var told = map[Form]string{
	Single:       `"single": one mail holds the answer`,
	Several:      `"several": the answer needs two or more of the mails together`,
	Changed:      `"changed": a fact that a later mail changed; the answer is the last state, and both mails are named`,
	Unanswerable: `"unanswerable": a sensible question about a matter of these mails whose answer none of them holds; answer "I don't know", no mails, no quotes`,
}

// checkForms refuses names of no form.
func checkForms(forms []string) error {
	for _, f := range forms {
		if !slices.Contains(Forms(), f) {
			return fmt.Errorf("form %q: want one of %s", f, strings.Join(Forms(), ", "))
		}
	}
	return nil
}
