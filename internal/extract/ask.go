package extract

import (
	"regexp"
	"strings"
)

// asks maps the wording of questions to the kind of fact that is asked for;
// the first that matches decides.
var asks = []struct {
	re   *regexp.Regexp
	kind Kind
}{
	{regexp.MustCompile(`\b(e-?mail address)\b`), Email},
	{regexp.MustCompile(`\b(phone|telephone|cell|mobile|fax|pager)\b.*\bnumber\b|\bnumber\b.*\b(call|dial|reach|phone|fax)\b|\b(dial-in number|extension|dial in)\b|\breach\b.*\bby phone\b`), Phone},
	{regexp.MustCompile(`\b(link|url|web ?site|web page|web address)\b`), Link},
	{regexp.MustCompile(`\b(which|what) flight\b|\bflight number\b`), Flight},
	{regexp.MustCompile(`\b(code|pin|password|passcode|locator|(confirmation|reference|invoice|ticket|case|order|docket|purchase order|po|account|policy|claim|tracking|badge|serial|part|model) number)\b`), Code},
	{regexp.MustCompile(`\b(street address|address|mailing address)\b`), Address},
	{regexp.MustCompile(`^(in |on )?(which|what) (conference |meeting |training )?(room|floor)\b`), Room},
	{regexp.MustCompile(`^(by|before) (when|what)\b|\bdeadline\b|^(when|what (day|date))\b.*\bdue\b|^how late can\b`), Deadline},
	{regexp.MustCompile(`^(at |until |by )?what time\b|\bwhat time\b`), Time},
	{regexp.MustCompile(`^(by |at )?what (percentage|percent|share|discount)\b|\bpercentage\b|\bpercent\b`), Percentage},
	{regexp.MustCompile(`^how (long|far ahead|much longer)\b|\bhow long\b|\bhow many (minutes|hours|days|nights|weeks|months|years)\b`), Duration},
	{regexp.MustCompile(`\bhow many\b`), Quantity},
	{regexp.MustCompile(`\bhow much\b|\b(what|which) (price|amount|rate|fee|cost|salary|budget|total|deposit|figure)\b|^what (is|was|are|were|does|did|will)\b.*\b(price|cost|costs|fee|rate|total|salary|rent|budget|deposit|amount|quote|bid|offer|bonus|balance|charge|estimate|premium|payment)\b`), Amount},
	{regexp.MustCompile(`^(when|since when|until when|from when|starting when)\b|\b(what|which) (day|date|week|month|evening|morning|afternoon)\b|^when\b`), Date},
	{regexp.MustCompile(`^(for |to |with |from |by )?(who|whom|whose)\b`), Person},
	{regexp.MustCompile(`^(to |from )?where\b|\b(which|what) (place|city|hotel|restaurant|building|office|town|location|venue|dock|gate|airport)\b`), Place},
	{regexp.MustCompile(`^(with |to |from )?(which|what) (company|vendor|firm|supplier|carrier|contractor|airline|bank|caterer|customer|bidder)\b`), Org},
	{regexp.MustCompile(`\b(decide|decided|decision|chose|choose|chosen|pick|picked|select|selected|go with|went with|settle on|settled on|recommend|recommended)\b`), Decision},
}

// KindOfQuestion returns the kind of fact that q asks for, or "" where its
// wording does not say.
func KindOfQuestion(q string) Kind {
	q = leadIn.ReplaceAllString(strings.ToLower(strings.TrimSpace(q)), "")
	for _, a := range asks {
		if a.re.MatchString(q) {
			return a.kind
		}
	}
	return ""
}

// leadIn is what people put before the question itself.
var leadIn = regexp.MustCompile(`^(?:(?:do|did) (?:you|we|i) (?:know|remember|recall)|can you (?:tell me|find out|check|look up)|could you (?:tell me|find out|check|look up)|please (?:tell me|find out|check)|i need to know|remind me|tell me|so|and|hi|hello|quick question)[ ,:-]+`)
