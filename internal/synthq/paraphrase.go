package synthq

import (
	"math/rand/v2"
	"regexp"
)

// A synonym is a phrase of business mail and another that means the same.
type synonym struct {
	re *regexp.Regexp
	to string
}

func same(from, to string) synonym {
	return synonym{regexp.MustCompile(`\b` + from + `\b`), to}
}

// synonyms are phrases that can be exchanged in a question without changing
// what it asks for.
var synonyms = []synonym{
	same(`kickoff`, "opening meeting"), same(`be held`, "take place"), same(`take place`, "happen"), same(`takes place`, "happens"),
	same(`chairing`, "leading"), same(`will chair`, "will lead"), same(`invoice`, "bill"), same(`salary`, "pay"), same(`agreement with`, "contract with"), same(`contract with`, "agreement with"),
	same(`sign up for`, "register for"), same(`will repair`, "will fix"), same(`a deposit`, "a down payment"), same(`organizing`, "arranging"),
	same(`cover for`, "stand in for"), same(`purchased`, "bought"), same(`did we buy`, "did we purchase"), same(`we bought`, "we purchased"), same(`may hire`, "may take on"), same(`offsite`, "team retreat"), same(`handbook`, "manual"),
	same(`party for`, "celebration for"), same(`talk by`, "presentation by"), same(`help line`, "support line"), same(`rental car`, "hired car"),
	same(`trip`, "journey"), same(`permit`, "license"), same(`collecting for`, "gathering donations for"),
	same(`be delivered to`, "arrive at"), same(`temporary password`, "first password"), same(`expire`, "run out"), same(`expires`, "runs out"),
	same(`dial-in number`, "number to dial"), same(`stand-up`, "daily meeting"), same(`will repeat`, "will redo"), same(`investigating`, "looking into"),
	same(`complaints about`, "reports of trouble with"), same(`counted`, "tallied"), same(`shut off`, "switched off"), same(`shut down`, "stopped"),
	same(`recommended`, "suggested"), same(`in charge of`, "responsible for"), same(`rent a`, "hire a"), same(`rented a`, "hired a"),
	same(`laptop`, "notebook"), same(`apartment`, "flat"), same(`attorney`, "lawyer"), same(`conference call`, "phone conference"),
	same(`reservation`, "booking"), same(`picked up by`, "collected by"), same(`fire drill`, "evacuation exercise"), same(`summer picnic`, "picnic of the summer"),
	same(`docket number`, "court file number"), same(`serial number`, "number on the back"), same(`mileage rate`, "rate per mile"), same(`flu shots?`, "vaccination"),
	same(`forklift rental`, "rental of the forklift"), same(`property tax`, "tax on the property"), same(`air conditioning`, "cooling system"), same(`early rate`, "cheaper rate"),
}

// paraphrase exchanges one phrase of a question, in about a third of the
// questions that have one.
func paraphrase(rnd *rand.Rand, direct, inside string) (string, string, bool) {
	roll, at := rnd.IntN(100), rnd.IntN(len(synonyms))
	if roll >= 35 {
		return "", "", false
	}
	for i := range synonyms {
		s := synonyms[(at+i)%len(synonyms)]
		if s.re.MatchString(direct) && s.re.MatchString(inside) {
			return s.re.ReplaceAllString(direct, s.to), s.re.ReplaceAllString(inside, s.to), true
		}
	}
	return "", "", false
}
