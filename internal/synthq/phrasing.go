package synthq

import (
	"math/rand/v2"
	"strings"

	"agentmill/internal/extract"
)

// An opening is a question word and others that ask the same. Where an opening
// is longer than another's, it stands first.
type opening struct {
	wh     string
	others []string
}

// openings are how people ask for each kind of fact.
var openings = map[extract.Kind][]opening{
	extract.Date: {
		{"on which weekday", []string{"on what weekday", "on which day of the week"}},
		{"from what date", []string{"starting when", "from when", "since when"}},
		{"until when", []string{"until what date", "up to what date"}},
		{"what date", []string{"what day", "which date"}},
		{"when", []string{"on what day", "what day", "on which date", "when exactly"}},
	},
	extract.Time: {
		{"during what hours", []string{"between what times", "from when until when"}},
		{"from what time", []string{"starting at what time", "from what hour"}},
		{"until what time", []string{"until what hour"}},
		{"what time", []string{"at what time", "what time exactly", "at what hour"}},
	},
	extract.Deadline: {
		{"by what time", []string{"before what time", "by what hour"}},
		{"by when", []string{"by what date", "by what day", "no later than when"}},
		{"when", []string{"on what date", "on which day"}},
	},
	extract.Amount: {
		{"at what price", []string{"for how much", "at which price"}},
		{"what amount", []string{"what sum", "which amount"}},
		{"how much", []string{"exactly how much", "how much money"}},
	},
	extract.Percentage: {{"to what percentage", []string{"to how many percent"}}, {"what percentage", []string{"how many percent", "what percent", "what share"}}, {"by how much", []string{"by how many percent"}}},
	extract.Quantity:   {{"to how many", []string{"to exactly how many"}}, {"for how many", []string{"for exactly how many"}}, {"how many", []string{"exactly how many", "roughly how many"}}},
	extract.Duration:   {{"for how long", []string{"how long", "for how much time"}}, {"within how many", []string{"in how many"}}},
	extract.Phone:      {{"what number", []string{"which number", "what phone number", "which phone number"}}},
	extract.Email:      {{"what e-mail address", []string{"which e-mail address", "which e-mail"}}},
	extract.Link:       {{"at what web address", []string{"on what web site", "at which URL", "on which web page"}}, {"what web address", []string{"what URL", "which web page"}}},
	extract.Address:    {{"at what address", []string{"at which address", "at what street address"}}, {"what address", []string{"which address", "what street address"}}},
	extract.Room:       {{"in which room", []string{"in what room"}}, {"which room", []string{"what room"}}},
	extract.Place:      {{"which hotel", []string{"what hotel"}}, {"which restaurant", []string{"what restaurant"}}, {"where", []string{"where exactly", "at what place"}}},
	extract.Person:     {{"who", []string{"which person", "who exactly"}}},
	extract.Org:        {{"which company", []string{"what company", "which firm", "what firm"}}},
	extract.Flight:     {{"which flight", []string{"what flight", "which plane"}}},
	extract.Decision:   {{"which company", []string{"what company", "which firm"}}, {"who", []string{"which person", "who exactly"}}, {"what", []string{"what exactly"}}},
	extract.Reason:     {{"why", []string{"for what reason", "why exactly"}}},
	extract.Code:       {{"which", []string{"what"}}},
}

// reopenedOf100 is how often, of 100, a question gets another opening.
const reopenedOf100 = 45

// reopen asks with another question word of the kind, some of the time.
func reopen(rnd *rand.Rand, kind extract.Kind, direct, inside string) (string, string, bool) {
	roll, pick := rnd.IntN(100), rnd.IntN(12)
	if roll >= reopenedOf100 {
		return direct, inside, false
	}
	for _, o := range openings[kind] {
		a, ok := strings.CutPrefix(direct, o.wh+" ")
		if !ok {
			continue
		}
		wh := o.others[pick%len(o.others)]
		if b, ok := strings.CutPrefix(inside, o.wh+" "); ok {
			return wh + " " + a, wh + " " + b, true
		}
	}
	return direct, inside, false
}
