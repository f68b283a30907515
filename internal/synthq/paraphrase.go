package synthq

import (
	"math/rand/v2"
	"regexp"
	"strings"

	"agentmill/internal/extract"
)

// A rewording asks the same in other words: of the direct question, and of the
// same question inside a sentence.
type rewording struct {
	direct, inside     *regexp.Regexp
	toDirect, toInside string
}

// whole is a rewording of whole questions.
func whole(direct, toDirect, inside, toInside string) rewording {
	return rewording{regexp.MustCompile(`^` + direct + `\?$`), regexp.MustCompile(`^` + inside + `$`), toDirect + "?", toInside}
}

// rewordings are what people ask instead of repeating a mail's words. The first
// that fits is taken, from a random place in the list on.
var rewordings = []rewording{
	whole(`(when|where|what time|in which room) will (.+) (?:be held|take place)`, "$1 is $2", `(when|where|what time|in which room) (.+) will (?:be held|take place)`, "$1 $2 is"),
	whole(`(when|where|what time|in which room) does (.+) (?:take place|start|begin)`, "$1 is $2", `(when|where|what time|in which room) (.+) (?:takes place|starts|begins)`, "$1 $2 is"),
	whole(`what date has (.+) been (?:moved|scheduled|postponed|pushed back) (?:to|for)`, "when is $1 now", `what date (.+) has been (?:moved|scheduled|postponed|pushed back) (?:to|for)`, "when $1 is now"),
	whole(`what time has (.+) been moved to`, "what time is $1 now", `what time (.+) has been moved to`, "what time $1 is now"),
	whole(`how much (?:does|do|did) (.+) cost`, "what is the price of $1", `how much (.+) costs?`, "what the price of $1 is"),
	whole(`what is the dial-in number for (.+)`, "which phone number do I dial for $1", `what the dial-in number for (.+) is`, "which phone number I dial for $1"),
	whole(`what number can I (?:reach|call) (.+) at`, "how do I get $1 on the phone", `what number I can (?:reach|call) (.+) at`, "how I get $1 on the phone"),
	whole(`what is the (?:phone )?number of (.+)`, "how can I reach $1 by phone", `what the (?:phone )?number of (.+) is`, "how I can reach $1 by phone"),
	whole(`who (?:will chair|is going to chair|will host|is organizing|will run|runs|is in charge of) (.+)`, "who is responsible for $1", `who (?:will chair|is going to chair|will host|is organizing|will run|runs|is in charge of) (.+)`, "who is responsible for $1"),
	whole(`who (?:will look after|looks after) (.+)`, "who takes care of $1", `who (?:will look after|looks after) (.+)`, "who takes care of $1"),
	whole(`who signed (.+)`, "whose signature is on $1", `who signed (.+)`, "whose signature is on $1"),
	whole(`who approved the money for (.+)`, "who released the funds for $1", `who approved the money for (.+)`, "who released the funds for $1"),
	whole(`who counted (.+) twice`, "who checked the number of $1", `who counted (.+) twice`, "who checked the number of $1"),
	whole(`who keeps (.+)`, "who has $1", `who keeps (.+)`, "who has $1"),
	whole(`who will cover for (.+?)( in .+)?`, "who stands in for $1", `who will cover for (.+?)( in .+)?`, "who stands in for $1"),
	whole(`who does (.+) report to`, "who is the boss of $1", `who (.+) reports to`, "who is the boss of $1"),
	whole(`who will mentor (.+)`, "who was chosen to guide $1", `who will mentor (.+)`, "who was chosen to guide $1"),
	whole(`who is our contact at (.+)`, "who do we talk to at $1", `who is our contact at (.+)`, "who we talk to at $1"),
	whole(`who is the manager of (.+)`, "who is the boss at $1", `who is the manager of (.+)`, "who is the boss at $1"),
	whole(`who teaches (.+)`, "who is the teacher of $1", `who teaches (.+)`, "who is the teacher of $1"),
	whole(`who will testify in (.+)`, "who is the witness in $1", `who will testify in (.+)`, "who is the witness in $1"),
	whole(`who is the fire warden at (.+)`, "who takes care of fire safety at $1", `who is the fire warden at (.+)`, "who takes care of fire safety at $1"),
	whole(`who (?:ordered|orders) (.+)`, "who put in the order for $1", `who (?:ordered|orders) (.+)`, "who put in the order for $1"),
	whole(`who is collecting for (.+)`, "who takes donations for $1", `who is collecting for (.+)`, "who takes donations for $1"),
	whole(`who will handle (.+)`, "who takes over $1", `who will handle (.+)`, "who takes over $1"),
	whole(`who (?:has been|was) promoted to (.+)`, "who is our new $1", `who (?:has been|was) promoted to (.+)`, "who is our new $1"),
	whole(`when (?:is|are) (.+) due`, "what is the deadline for $1", `when (.+) (?:is|are) due`, "what the deadline for $1 is"),
	whole(`by when do I (?:have|need) to (.+)`, "what is the last day to $1", `by when I (?:have|need) to (.+)`, "what the last day to $1 is"),
	whole(`by when should I (.+)`, "what is the last day to $1", `by when I should (.+)`, "what the last day to $1 is"),
	whole(`when does (.+) (?:expire|end|run out|close)`, "when is $1 over", `when (.+) (?:expires|ends|runs out|closes)`, "when $1 is over"),
	whole(`until when does (.+) run`, "when is $1 over", `until when (.+) runs`, "when $1 is over"),
	whole(`when will (.+) be (?:delivered|sent)`, "when do we get $1", `when (.+) will be (?:delivered|sent)`, "when we get $1"),
	whole(`when does (.+) retire`, "when does $1 stop working", `when (.+) retires`, "when $1 stops working"),
	whole(`when (?:does|will) (.+) (?:start in|join) (.+)`, "what is the first day of $1 in $2", `when (.+) (?:starts in|will join) (.+)`, "what the first day of $1 in $2 is"),
	whole(`when (?:does|will) (.+) (?:move|transfer) to the (.+) office`, "when does $1 leave for $2", `when (.+) (?:moves|transfers|will move) to the (.+) office`, "when $1 leaves for $2"),
	whole(`when was (.+) (?:signed|registered|approved|fixed)`, "when was $1 done", `when (.+) was (?:signed|registered|approved|fixed)`, "when $1 was done"),
	whole(`what salary did we offer (.+)`, "how much money did we offer $1", `what salary we offered (.+)`, "how much money we offered $1"),
	whole(`what is the salary for (.+)`, "how much will $1 earn", `what the salary for (.+) is`, "how much $1 will earn"),
	whole(`what is the rent for (.+)`, "how much do we pay for $1 every month", `what the rent for (.+) is`, "how much we pay for $1 every month"),
	whole(`what discount (?:is|does|will) (.+?) (?:offering|offer|grants?|grant us|grant me)`, "how much off does $1 give us", `what discount (.+?) (?:is offering|offers|grants us|will grant me)`, "how much off $1 gives us"),
	whole(`how long does (.+) take`, "how much time does $1 need", `how long (.+) takes`, "how much time $1 needs"),
	whole(`for how long is (.+) valid`, "how long is $1 good for", `for how long (.+) is valid`, "how long $1 is good for"),
	whole(`how long does the warranty on (.+) last`, "how long are $1 under warranty", `how long the warranty on (.+) lasts`, "how long $1 are under warranty"),
	whole(`which flight am I booked on( to .+)?`, "which plane do I take$1", `which flight I am booked on( to .+)?`, "which plane I take$1"),
	whole(`(?:what is my hotel|where am I staying) in (.+)`, "where do I sleep in $1", `(?:what my hotel in (.+) is|where I am staying in (.+))`, "where I sleep in $1$2"),
	whole(`in which room (?:will|does) (.+) sit`, "where can I find $1", `in which room (.+) (?:will sit|sits)`, "where I can find $1"),
	whole(`where can I pick up (.+)`, "where do I get $1", `where I can pick up (.+)`, "where I get $1"),
	whole(`what is the street address of (.+)`, "where exactly is $1", `what the street address of (.+) is`, "where exactly $1 is"),
	whole(`what is our account number at (.+)`, "under which number does $1 know us", `what our account number at (.+) is`, "under which number $1 knows us"),
	whole(`what is the (?:new )?door code for (.+)`, "which code opens the door of $1", `what the (?:new )?door code for (.+) is`, "which code opens the door of $1"),
	whole(`what was the gate code at (.+) changed to`, "which code opens the gate of $1", `what the gate code at (.+) was changed to`, "which code opens the gate of $1"),
	whole(`what is my temporary password for (.+)`, "which password gets me into $1", `what my temporary password for (.+) is`, "which password gets me into $1"),
	whole(`how many people (?:have )?signed up for (.+)`, "how many people are coming to $1", `how many people (?:have )?signed up for (.+)`, "how many people are coming to $1"),
	whole(`how many people work at (.+)`, "how many employees does $1 have", `how many people work at (.+)`, "how many employees $1 has"),
	whole(`how much does everybody pay for (.+)`, "what is the price a person for $1", `how much everybody pays for (.+)`, "what the price a person for $1 is"),
	whole(`how much did we raise for (.+)`, "how much money came together for $1", `how much we raised for (.+)`, "how much money came together for $1"),
	whole(`by how much (?:was|did we lower) the (.+?) (budget|weight)(?: cut)?`, "by how much did the $1 $2 shrink", `by how much (?:we lowered )?the (.+?) (budget|weight)(?: was cut)?`, "by how much the $1 $2 shrank"),
	whole(`at what web address can I (?:fill in|find) (.+)`, "what is the link to $1", `at what web address I can (?:fill in|find) (.+)`, "what the link to $1 is"),
	whole(`what web address is (.+) at`, "what is the link to $1", `what web address (.+) is at`, "what the link to $1 is"),
}

// synonyms are words of business mail and others that mean the same.
var synonyms = []rewording{
	same(`kickoff`, "opening meeting"), same(`invoice`, "bill"), same(`salary`, "pay"), same(`agreement with`, "contract with"), same(`contract with`, "agreement with"),
	same(`sign up for`, "register for"), same(`will repair`, "will fix"), same(`a deposit`, "a down payment"), same(`organizing`, "arranging"),
	same(`purchased`, "bought"), same(`did we buy`, "did we purchase"), same(`we bought`, "we purchased"), same(`may hire`, "may take on"), same(`offsite`, "team retreat"), same(`handbook`, "manual"),
	same(`party for`, "celebration for"), same(`talk by`, "presentation by"), same(`help line`, "support line"), same(`rental car`, "hired car"),
	same(`trip`, "journey"), same(`permit`, "license"), same(`be delivered to`, "arrive at"), same(`temporary password`, "first password"),
	same(`stand-up`, "daily meeting"), same(`will repeat`, "will redo"), same(`investigating`, "looking into"), same(`complaints about`, "reports of trouble with"),
	same(`counted`, "tallied"), same(`shut off`, "switched off"), same(`shut down`, "stopped"), same(`recommended`, "suggested"), same(`rent a`, "hire a"), same(`rented a`, "hired a"),
	same(`laptop`, "notebook"), same(`apartment`, "flat"), same(`attorney`, "lawyer"), same(`conference call`, "phone conference"), same(`reservation`, "booking"),
	same(`picked up by`, "collected by"), same(`fire drill`, "evacuation exercise"), same(`docket number`, "court file number"), same(`serial number`, "number on the back"),
	same(`mileage rate`, "rate per mile"), same(`flu shots?`, "vaccination"), same(`forklift rental`, "rental of the forklift"), same(`property tax`, "tax on the property"),
	same(`air conditioning`, "cooling system"), same(`early rate`, "cheaper rate"), same(`confirmation number`, "confirmation code"), same(`visitors from`, "guests from"), same(`supplier audit`, "check of the supplier"),
	same(`design review`, "review of the drawings"), same(`board slides`, "slides for the directors"), same(`town hall`, "all-hands meeting"), same(`did we receive`, "did we get"), same(`received`, "got"),
	same(`sandwiches`, "rolls"), same(`gas money`, "money for gas"), same(`school play`, "play at school"), same(`will pick up`, "will fetch"), same(`picks up`, "fetches"), same(`shipped`, "sent"), same(`did (.+) ship`, "did $1 send"),
}

func same(from, to string) rewording {
	re := regexp.MustCompile(`\b` + from + `\b`)
	return rewording{re, re, to, to}
}

// How often, of 100, a question that can be asked in other words is.
const (
	rewordedOf100 = 65
	synonymOf100  = 40
)

// paraphrase asks in other words, often as a whole, less often by one word. It
// reports whether anything was changed.
func paraphrase(rnd *rand.Rand, direct, inside string) (string, string, bool) {
	roll, at := rnd.IntN(100), rnd.IntN(len(rewordings))
	rollWord, atWord := rnd.IntN(100), rnd.IntN(len(synonyms))
	changed := false
	if roll < rewordedOf100 {
		direct, inside, changed = reword(rewordings, at, direct, inside)
	}
	if rollWord < synonymOf100 {
		var again bool
		direct, inside, again = reword(synonyms, atWord, direct, inside)
		changed = changed || again
	}
	return direct, inside, changed
}

// reword applies the first rewording that fits both forms, from at on.
func reword(list []rewording, at int, direct, inside string) (string, string, bool) {
	for i := range list {
		r := list[(at+i)%len(list)]
		if r.direct.MatchString(direct) && r.inside.MatchString(inside) {
			return plurals(tidy(r.direct.ReplaceAllString(direct, r.toDirect)) + "?"), strings.TrimSuffix(plurals(tidy(r.inside.ReplaceAllString(inside, r.toInside))+"?"), "?"), true
		}
	}
	return direct, inside, false
}

var (
	isOne  = regexp.MustCompile(`^(when|where|what time|in which room) is ((?:[a-z]+ )*[a-z]+s)( |\?)`)
	isLast = regexp.MustCompile(`^(when|where|what time|in which room) ((?:the |my |our )?[a-z]+s(?: .+)?) is( now| over)?\?$`)
)

// plurals makes "is" agree with a plural that a rewording put beside it.
func plurals(q string) string {
	if m := isOne.FindStringSubmatch(q); m != nil && !strings.HasSuffix(m[2], "ss") && extract.Plural(m[2]) {
		return strings.Replace(q, m[1]+" is ", m[1]+" are ", 1)
	}
	if m := isLast.FindStringSubmatch(q); m != nil && extract.Plural(m[2]) {
		return strings.TrimSuffix(q, " is"+m[3]+"?") + " are" + m[3] + "?"
	}
	return q
}
