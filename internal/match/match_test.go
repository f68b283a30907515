package match

import "testing"

// says asks whether a text counts as saying the gold answer of a neutral question.
func judgeText(gold, said string) Result {
	return Values.Judge(Gold{Question: "What did the mail say?", Answers: []string{gold}, Answerable: true}, said)
}

func TestSameValue(t *testing.T) {
	for _, tt := range []struct{ gold, said string }{
		{"$1,200.00", "1200"},
		{"$1,200", "1.2K"},
		{"$1,200", "it costs $1,200 in all"},
		{"$2,700,000", "$2.7 million"},
		{"$2.7 million", "2.7M"},
		{"$35M", "35 million dollars"},
		{"$.025", "2.5 cents"},
		{"$11.50 M", "$11.5 million"},
		{"-$15", "($15)"},
		{"50%", "fifty percent"},
		{"about 50% (end of phase 2)", "50 pct"},
		{"12", "a dozen"},
		{"1,250", "one thousand two hundred and fifty"},
		{"the 3rd floor", "third floor"},
		{"90 minutes", "1.5 hours"},
		{"14 days", "two weeks"},
		{"1 year", "12 months"},
		{"2 km", "2000 metres"},
		{"1.5 MW", "1,500 kW"},
		{"March 14", "3/14"},
		{"March 14", "14 March 2001"},
		{"March 14, 2001", "2001-03-14"},
		{"March 14, 2001", "Mar. 14"},
		{"September 20, 2001", "Sept 20th"},
		{"14 March", "03/14/01"},
		{"May 9", "the 9th of May"},
		{"Dec01", "December 2001"},
		{"Dec-01", "December 1"},
		{"June 11-15", "June 11 to June 15"},
		{"the 1990 season", "1990"},
		{"2:30 pm", "14:30"},
		{"10:30 am Central", "10:30"},
		{"noon", "12:00 p.m."},
		{"2-4 pm", "2:00 to 4:00 pm"},
		{"2:00-4:00 pm", "2 to 4 pm"},
		{"5 o'clock", "5pm"},
		{"713-555-0134", "(713) 555 0134"},
		{"555-0134", "713.555.0134"},
		{"713-555-3990", "x3990"},
		{"$15MM-$20MM", "15 to 20 million"},
		{"10 am", "10"},
		{"EB 3267", "EB3267"},
		{"54 Mbit/s", "54 Mbps"},
		{"more than 2,500", "over 2,500"},
		{"about 2.45 billion", "2.4 billion"},
		{"season 6", "the sixth season"},
		{"500,000", "500, 000"},
		{"10 mph", "ten miles per hour"},
	} {
		if got := judgeText(tt.gold, tt.said); !got.Correct {
			t.Errorf("%q is %q: refused (%s)", tt.said, tt.gold, got.Why)
		}
	}
}

func TestOtherValue(t *testing.T) {
	for _, tt := range []struct{ gold, said string }{
		{"$1,200", "$1,300"},
		{"$1,200", "12"},
		{"$1.2 million", "$1.2 billion"},
		{"50%", "$50"},
		{"3 days", "3 weeks"},
		{"5 miles", "5 km"},
		{"March 14", "March 15"},
		{"March 14", "April 14"},
		{"March 14, 2001", "March 14, 2002"},
		{"March 14, 2001", "2001"},
		{"2:30 pm", "2:30 am"},
		{"10:30", "10:45"},
		{"$.085", "October 27"},
		{"4:00", "$20K for four packages"},
		{"2 years", "2 people"},
		{"10%", "the I-10 exit"},
		{"January 10, 2002", "Jan02"},
		{"4", "the 4th"},
		{"EB3270 at 4 pm", "EB3271 at 4 pm"},
		{"No", "7%, with no credit enhancement"},
		{"713-555-0134", "713-555-0143"},
		{"flight 1234 to Boise", "flight 1243 to Boise"},
		{"Larkfield", "Lakeside"},
		{"Bill Heyward", "Bill Thornton and his group"},
		{"about 35", "38"},
		{"2,500", "2,510"},
		{"Larkfield Castle", "Larkfield Hall"},
		{"Baltimore, Maryland", "Annapolis, Maryland"},
		{"the Larkfield conference room", "the other room"},
	} {
		if got := judgeText(tt.gold, tt.said); got.Correct {
			t.Errorf("%q passes for %q (%s)", tt.said, tt.gold, got.Why)
		}
	}
}

func TestSameWords(t *testing.T) {
	for _, tt := range []struct{ gold, said string }{
		{"Larkfield", "the Larkfield office"},
		{"Art Avery (PNX)", "Art Avery"},
		{"Bill Heyward", "Heyward"},
		{"Richard Crispin Ashby", "It was Richard Ashby who wrote it."},
		{"Richard Crispin Ashby", "R. Ashby"},
		{"Doug Heyward", "it was Douglas Heyward"},
		{"fax the signed copies", "by faxing signed copies"},
		{"No", "No, they went elsewhere"},
		{"Duke and Clover", "Clover & Duke"},
		{"café au lait", "Cafe au lait."},
		{"D.C.", "DC"},
		{"a virtual data room", "Virtual data-rooms"},
		{"adenosine diphosphate (ADP)", "ADP"},
		{"Abid Ali Nehru", "Abidali Nehru"},
		{"sharecropping", "Sharecroppers"},
		{"Thursday", "thurs."},
		{"Marlowe Street 12", "12 Marlowe St"},
		{"the United States", "the U.S."},
		{"Because the market got busy he stayed at work", "market got busy, stayed at work"},
		{"Richard Crispin Ashby Jr.", "Rick Ashby"},
		{"Richard Crispin Ashby", "Richard C. Ashby"},
		{"Mara Sunil Nandan", "M.S. Nandan"},
		{"James Ashby", "It was signed byJim Ashby12."},
		{"Larkfield Power Agency Board", "the LPAB"},
		{"LPA", "the Larkfield Power Agency"},
		{"lubricates the pump", "provides lubrication for the pump"},
		{"the Larkfield metropolitan area", "Larkfield, Ohio"},
		{"Baltimore, Maryland", "in Baltimore"},
		{"storing the spare valves", "It is used to store valves"},
		{"March 14", "As an AI language model, I do not have access to real-time information. However, it was March 14."},
	} {
		if got := judgeText(tt.gold, tt.said); !got.Correct {
			t.Errorf("%q is %q: refused (%s)", tt.said, tt.gold, got.Why)
		}
	}
}

// An answer must commit itself: saying the gold among other things is not enough.
func TestStuffing(t *testing.T) {
	for _, tt := range []struct{ gold, said string }{
		{"March 14", "March 14 or March 15"},
		{"March 14", "March 13, March 14, March 15"},
		{"March 14", "either March 15 or 3/14"},
		{"$1,200", "$1,100 / $1,200 / $1,300"},
		{"$1,200", "$1,500, maybe $1,200"},
		{"10:30", "10:30 or 11:00"},
		{"12", "10 11 12 13 14"},
		{"713-555-0134", "713-555-0134, 713-555-0199"},
		{"Heyward", "Thornton or Heyward"},
		{"Heyward", "Heyward/Thornton"},
		{"Heyward", "Thornton, Ashby, Heyward, Marlowe"},
		{"Heyward", "I don't know, maybe Heyward"},
		{"Heyward", "Heyward, but I don't know"},
		{"$1,200", "I don't know. $1,200"},
		{"Heyward", "not Heyward"},
		{"Heyward", "anybody other than Heyward"},
		{"$1,200", "From: Ashby To: Heyward. The pump is $900, the valve $1,100, the pipe $1,200, freight $300 and tax $240 on invoice 77."},
	} {
		if got := judgeText(tt.gold, tt.said); got.Correct || !got.Hedged {
			t.Errorf("%q for %q: correct %v, hedged %v (%s)", tt.said, tt.gold, got.Correct, got.Hedged, got.Why)
		}
	}
}

func TestNoStuffing(t *testing.T) {
	for _, tt := range []struct{ question, gold, said string }{
		{"Is the meeting on Monday or Tuesday?", "Tuesday", "Tuesday, not Monday"},
		{"What was the rent, and what is it now?", "$900, then $1,200", "$900 before and $1,200 now"},
		{"When did it move to?", "Friday at noon", "from Thursday at 1 pm to Friday at noon"},
		{"How long is the window?", "3 to 5 weeks", "3-5 weeks"},
		{"Which companies bid?", "Duke, Clover and Ashby", "Clover, Duke, Ashby"},
		{"How many episodes are there?", "291", "There are 291 episodes, first shown in 1989 and last in 1996."},
		{"Who can sign?", "Ashby or Heyward", "Ashby or Heyward"},
		{"Where is it?", "Austin", "Austin, Texas"},
		{"Where is it?", "Austin", "Austin, Texas, USA"},
		{"What is the price?", "$4.495", "$4.495 (10,000/day)"},
		{"Which dates?", "August 7, 8 or 9", "August 7, 8 or 9 (2001), afternoon"},
		{"Why not in June?", "He wasn't scheduled to travel", "He was not scheduled to travel then"},
	} {
		got := Values.Judge(Gold{Question: tt.question, Answers: []string{tt.gold}, Answerable: true}, tt.said)
		if !got.Correct {
			t.Errorf("%q for %q: refused (%s)", tt.said, tt.gold, got.Why)
		}
	}
}

// A longer time is enough for what is long past, not for what is of the day.
func TestCoarseDate(t *testing.T) {
	for _, tt := range []struct {
		question, gold, asked, said string
		want                        bool
	}{
		{"When was the yard opened?", "March 14, 1962", "", "It opened in 1962.", true},
		{"When was the yard opened?", "March 14, 1962", "2001-05-01", "March 1962", true},
		{"When was the yard opened?", "1962", "", "in the 1960s", true},
		{"When was the yard opened?", "1962", "", "in the 20th century", true},
		{"When was the yard opened?", "1962", "", "in the 19th century", false},
		{"When was the yard opened?", "March 14, 1962", "", "1962, or 1963", false},
		{"When was the yard opened?", "March 14, 1962", "", "April 1962", false},
		{"When is the audit?", "March 14, 2001", "2001-02-01", "2001", false},
		{"When is the audit?", "March 14, 2001", "2001-02-01", "March 2001", false},
		{"What is the audit about?", "March 14, 1962", "", "1962", false},
	} {
		got := Values.Judge(Gold{Question: tt.question, Asked: tt.asked, Answers: []string{tt.gold}, Answerable: true}, tt.said)
		if got.Correct != tt.want {
			t.Errorf("%s %q for %q: %v (%s), want %v", tt.question, tt.said, tt.gold, got.Correct, got.Why, tt.want)
		}
	}
}

func TestOtherPerson(t *testing.T) {
	for said, want := range map[string]bool{
		"Ashby": true, "It was Rick Ashby.": true, "Richard": true, "R. Ashby": true,
		"Jermaine Ashby": false, "Richard Heyward": false, "Richard Marlowe of Finance": false, "Richard. Somebody": false,
	} {
		got := Values.Judge(Gold{Question: "Who signs the lease?", Answers: []string{"Richard Ashby"}, Answerable: true}, said)
		if got.Correct != want {
			t.Errorf("%q: %v (%s), want %v", said, got.Correct, got.Why, want)
		}
	}
}

// To repeat the question is no answer, unless it names the choice.
func TestEcho(t *testing.T) {
	for _, tt := range []struct {
		question, gold, said string
		want                 bool
	}{
		{"What was the Osprey yard before it was a depot?", "Osprey yard", "The Osprey yard was a depot, says the old map of Jessop.", false},
		{"What was the Osprey yard before it was a depot?", "Osprey yard", "Osprey yard", true},
		{"Is the meeting on Monday or Tuesday?", "Tuesday", "It is on Tuesday as far as Jessop knows.", true},
	} {
		got := Values.Judge(Gold{Question: tt.question, Answers: []string{tt.gold}, Answerable: true}, tt.said)
		if got.Correct != tt.want {
			t.Errorf("%q: %v (%s), want %v", tt.said, got.Correct, got.Why, tt.want)
		}
	}
}

func TestAliases(t *testing.T) {
	g := Gold{Question: "Who wrote?", Answers: []string{"William Heyward", "Bill"}, Answerable: true}
	if !Values.Judge(g, "Bill").Correct || Values.Judge(g, "Ann").Correct {
		t.Error("an alias is as good as the answer")
	}
}

func TestAbstains(t *testing.T) {
	for said, want := range map[string]bool{
		"I don't know":  true,
		"I don’t know.": true,
		"I do not know": true,
		"Sorry, I could not find this in the mailbox.": true,
		"Not found": true,
		"unknown":   true,
		"There is no mention of the price in the mails": true,
		"The date is not mentioned.":                    true,
		"No":                                            false,
		"None":                                          false,
		"I don't know, but probably Monday":             false,
		"I don't know; March 14":                        false,
		"March 14, not sure":                            false,
		"Heyward. I don't know":                         false,
		"They could not find a buyer":                   false,
		"":                                              false,
	} {
		if got := Abstains(said); got != want {
			t.Errorf("Abstains(%q) = %v, want %v", said, got, want)
		}
	}
}

func TestUnanswerable(t *testing.T) {
	g := Gold{Question: "Who pays?", Answers: []string{"I don't know"}}
	for said, want := range map[string]Result{
		"I don't know":             {Correct: true, Abstained: true},
		"Finance":                  {},
		"I don't know but Finance": {Hedged: true},
	} {
		got := Values.Judge(g, said)
		if got.Why = ""; got != want {
			t.Errorf("%q: %+v, want %+v", said, got, want)
		}
	}
}

// The rule of the trials: its verdicts on their own cases.
func TestContainment(t *testing.T) {
	gold := Gold{Answers: []string{"$3,000 per acre", "3000"}, Answerable: true}
	for said, want := range map[string]Result{
		"3,000":                     {Correct: true},
		"about $3000 per acre.":     {Correct: true},
		"$3.000":                    {},
		"I don't know":              {Abstained: true},
		"I really don't know, 3000": {Abstained: true},
		"one two three four five six seven eight nine ten eleven twelve 3000": {},
		"3000 or 4000": {Correct: true}, // it does not look for stuffing
	} {
		got := Containment.Judge(gold, said)
		if got.Why = ""; got != want {
			t.Errorf("%q: %+v, want %+v", said, got, want)
		}
	}
	unanswerable := Gold{Answers: []string{"I don't know"}}
	if got := Containment.Judge(unanswerable, "I don't know"); !got.Correct || !got.Abstained {
		t.Errorf("unanswerable: %+v", got)
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range []string{"$1,200.00", "March 14, 2001", "2-4 pm", "x3990", "(", "U.S.", "１２３", "\xff", "one hundred and", "12 dozen"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, gold, said string) {
		Values.Judge(Gold{Question: said, Answers: []string{gold}, Answerable: true}, said) // must not panic
		Containment.Judge(Gold{Answers: []string{gold}, Answerable: true}, said)
	})
}
