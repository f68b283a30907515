package extract

import (
	"regexp"
	"strings"
)

// asks maps the wording of questions to the kind of fact that is asked for;
// the first that matches decides. Question words that leave no doubt stand
// before the nouns that go with "what" and "which".
var asks = []struct {
	re   *regexp.Regexp
	kind Kind
}{
	{regexp.MustCompile(`^(?:why|for what reason)\b`), Reason},
	{regexp.MustCompile(`^(?:to |with |from |for |by )?(?:who|whom|whose)\b|^(?:which|what) person\b`), Person},
	{regexp.MustCompile(`^how late\b|^no later than when\b|^(?:by|before) (?:when|what|which)\b|^when\b.*\bdue\b|^(?:what|which) (?:day|date)\b.*\bdue\b|\bdeadline\b|\blast day to\b`), Deadline},
	{regexp.MustCompile(`^(?:from |until |at |around |by |starting at )?what (?:time|hour)\b|^(?:during|between) what (?:hours|times)\b|^from when until when\b`), Time},
	{regexp.MustCompile(`^(?:since |until |from |starting )?when\b|^(?:on |from |until |as of |up to )?(?:what|which) (?:day|date|week|weekday|month|evening|morning|afternoon)\b|\bfirst day of\b`), Date},
	{regexp.MustCompile(`^how much off\b|^by how much\b|^(?:by |to )?how many percent\b|^(?:by |at |to )?(?:what|which) (?:percentage|percent|share|discount|margin)\b|\bpercentage\b`), Percentage},
	{regexp.MustCompile(`^(?:for )?how long\b|^(?:within |after |for |in )?how many (?:minutes|hours|days|nights|weeks|months|years)\b|^(?:for )?how much (?:notice|time)\b`), Duration},
	{regexp.MustCompile(`^(?:for |to |in |with )?(?:exactly |roughly )?how many\b`), Quantity},
	{regexp.MustCompile(`^how (?:can|do) (?:i|we|you) (?:get|reach) .* phone\b|^how i (?:can )?(?:get|reach) .* phone\b`), Phone},
	{regexp.MustCompile(`^(?:for |exactly )?how (?:much|large|expensive|high)\b|^what sum\b`), Amount},
	{regexp.MustCompile(`^(?:in |on |at )?(?:what|which) (?:conference |meeting |training )?(?:room|floor)\b`), Room},
	{regexp.MustCompile(`^(?:from |to )?where\b|^(?:at |in |from |to )?(?:what|which) (?:place|city|hotel|restaurant|building|office|town|location|venue|dock|gate|bay|platform|airport|hall|park|garage)\b|^what (?:is|was) (?:my|our) hotel\b`), Place},
	{regexp.MustCompile(`\b(?:decide|decided|decision|chose|choose|chosen|picked|select|selected|go with|went with|settle on|settled on|did .* pick)\b`), Decision},
	{regexp.MustCompile(`^(?:with |to |from |for |by )?(?:which|what) (?:company|vendor|firm|supplier|carrier|contractor|airline|bank|caterer|customer|bidder)\b`), Org},
	{regexp.MustCompile(`\bjob title\b|^(?:what|which) position\b|^what (?:is |was )?the position of\b`), Title},
	{regexp.MustCompile(`\be-?mail address\b`), Email},
	{regexp.MustCompile(`\b(?:link|url|web ?site|web page|web address)\b`), Link},
	{regexp.MustCompile(`\baddress\b`), Address},
	{regexp.MustCompile(`^(?:on )?(?:which|what) (?:flight|plane)\b|\bflight number\b`), Flight},
	{regexp.MustCompile(`\b(?:phone|telephone|cell|mobile|fax|pager|dial|dial-in)\b|\bextension\b|\b(?:help|support) line\b|^what number\b|\bthe number of\b|\bnumber\b.*\b(?:call|reach)\b|\bcall in to\b`), Phone},
	{regexp.MustCompile(`\b(?:codes?|pin|password|passcode|locator)\b|\b[a-z]+ number\b|^(?:which|what) (?:shelf|number|ticket|reservation|order|invoice|toner|model|drawing|reference|policy|claim|space|booth|case)\b|^under which number\b|\breference (?:for|from|of)\b`), Code},
	{regexp.MustCompile(`\b(?:prices?|costs?|fees?|rates?|total|salary|pay|rent|budget|deposit|amount|quote|bid|offer|bonus|balance|charge|estimate|premium|payment|commission|deductible|limit|tax|duty|fares?|wage|sum|bill|money|figure|spending plan|pool)\b`), Amount},
}

// KindOfQuestion returns the kind of fact that q asks for, or "" where its
// wording does not say.
func KindOfQuestion(q string) Kind {
	q = strings.ToLower(strings.TrimSpace(q))
	q = leadIn.ReplaceAllString(whereToLook.ReplaceAllString(leadIn.ReplaceAllString(q, ""), "$1"), "")
	for _, a := range asks {
		if a.re.MatchString(q) {
			return a.kind
		}
	}
	return ""
}

var (
	// leadIn is what people put before the question itself.
	leadIn = regexp.MustCompile(`^(?:(?:(?:do|did) (?:you|we|i) (?:know|remember|recall)|(?:can|could) you (?:please )?(?:tell me|find out|check|look up)|please (?:tell me|find out|check|look up)|(?:and )?tell me|i (?:need|want) to know|remind me|so|and|hi|hello|quick question)[ ,:-]+)+`)
	// whereToLook names the mail that is meant: "in Dana's mail about seats, …".
	whereToLook = regexp.MustCompile(`^(?:in|according to) (?:the|[a-z.' -]+'s) (?:mail|note|message|e-mail)(?: about| of| on)? .{1,70}?, (?:[^,]{1,20}, )??(who|what|when|where|which|why|how|by|in|on|at|from|until|to|for|with|during|within|after)\b|^the (?:mail|note|message) about .{1,70}? and tell me `)
)
