package extract

import "strings"

// A verb form: its dictionary form and its tense ("past", "s" for the third
// person, "base", "ing").
type verbForm struct {
	lemma, tense string
	noun         bool // also a common noun: a verb only where its neighbours say so
}

// regular lists verbs whose forms follow the rules; a star marks those whose
// base and -s forms are common nouns too.
const regular = `accept add adopt advise agree aim allow announce apply appoint appreciate approve arrange arrive ask assign assume attach attend
	authorize award bill* book* budget* call* cancel capture carry change* charge* check* clear close* collect come commit compare complete confirm
	consider contact* continue convert cost* count* cover* create credit* date* deal* decide deduct delay* deliver demand* depart deposit* develop discuss
	dock* double drop* earn email* employ enclose end* enroll ensure estimate* exceed exchange* expect expire extend face fax* fill finalize finance* finish*
	fix follow forward fund* gain* grant* guarantee* handle happen help* hire* host* identify import* improve include increase* indicate inform
	inspect install instruct insure intend interview* introduce invest invite invoice* involve issue* join kick land* last launch* lease* license* like list* live load* lock
	look* lower mail* manage match* measure* mention miss move* name* need* nominate note* notify obtain occur offer* open operate order* organize owe own pack park* pass* perform
	permit* phone* pick* place* plan* post* postpone prefer prepare present* price* print* process* produce promise* propose provide publish pull purchase* push* qualify quote* raise* rank*
	rate* reach receive recommend record* recover reduce refer refund* refuse register* reject release* rely remain remove renew rent* repair* replace reply* report* request* require
	reschedule reserve resign resolve respond restart* result* resume* retire return* review* sail save schedule* score* select serve settle share* shift* ship* sign* slip* specify
	sponsor* staff* start* stay stop* store* submit suggest supply* support* suspend switch* target* tell test* total* tour* track* trade* train* transfer* travel* treat trim* try turn* unload
	update* upgrade* use* visit* vote* wait* want warn weigh welcome work* wrap* yield* merge limit* audit* staff* relocate reorganize reassign oversee coordinate inherit relocate spot* assemble borrow donate escalate log* mark* round* rule* sample* seal* seat* shorten swap* tap* tow* upload waive wire* cap* board* bid* collect deduct draft* exit* file* label* lift* lodge* melt order* outline* pave* rank* reimburse reopen reroute restock retest reset revise roll* scan* screen* seek stamp* stock* store* strip* survey* tender* answer* wear hand* walk* promote depose testify cater dry mentor speak resume restore investigate negotiate chair hurt forecast* borrow object* lower monitor redo damage* crack* recruit house* ban lend draw inform double settle testify warn raffle vote* honor* escort oversee host* drive* staff* shred bake subpoena appeal* fund* refinance endorse cancel* evict demolish excavate inventory* sponsor* trim* celebrate perform escalate brief* accompany relaunch unveil migrate decommission deploy archive* encrypt wait patch* reboot debug monitor audition rehearse adopt foster tutor babysit graduate enrol top* vacate value* verify`

// irregular lists base, past, participle; a star as above.
const irregular = `be was been|become became become|begin began begun|bid* bid bid|break* broke broken|bring brought brought|build built built|buy* bought bought|catch caught caught|choose chose chosen|come came come|cost* cost cost|
	cut* cut cut|deal* dealt dealt|draw* drew drawn|drive* drove driven|fall* fell fallen|feel felt felt|find found found|fly flew flown|forget forgot forgotten|get got got|give gave given|go went gone|grow grew grown|hang hung hung|have had had|hear heard heard|
	hit* hit hit|hold* held held|keep kept kept|know knew known|lead* led led|leave* left left|lend lent lent|let let let|lose lost lost|make made made|mean meant meant|meet met met|pay* paid paid|put put put|quit quit quit|read read read|ride* rode ridden|
	ring* rang rung|rise* rose risen|run* ran run|say said said|see saw seen|sell sold sold|send sent sent|set* set set|show* showed shown|shut shut shut|sit sat sat|speak spoke spoken|spend spent spent|stand* stood stood|take took taken|teach taught taught|
	tell told told|think thought thought|throw threw thrown|understand understood understood|win* won won|write wrote written|oversee oversaw overseen|undergo underwent undergone|withdraw withdrew withdrawn|split* split split|lay laid laid|seek sought sought`

// verbs maps a lower-case word to the verb form that it may be, participles a
// past participle to its verb.
var verbs, participles = conjugate()

func conjugate() (forms map[string]verbForm, parts map[string]string) {
	m, parts := make(map[string]verbForm), make(map[string]string)
	for w := range strings.FieldsSeq(regular) {
		lemma, noun := strings.CutSuffix(w, "*")
		m[lemma] = verbForm{lemma, "base", noun}
		m[thirdPerson(lemma)] = verbForm{lemma, "s", noun}
		m[pastOf(lemma)] = verbForm{lemma, "past", false}
		m[ingOf(lemma)] = verbForm{lemma, "ing", false}
		parts[pastOf(lemma)] = lemma
	}
	for line := range strings.SplitSeq(irregular, "|") {
		f := strings.Fields(line)
		lemma, noun := strings.CutSuffix(f[0], "*")
		delete(m, pastOf(lemma))
		delete(parts, pastOf(lemma))
		parts[f[2]] = lemma
		m[ingOf(lemma)] = verbForm{lemma, "ing", false}
		m[f[1]] = verbForm{lemma, "past", noun && f[1] == lemma}
		m[thirdPerson(lemma)] = verbForm{lemma, "s", noun}
		if f[1] != lemma {
			m[lemma] = verbForm{lemma, "base", noun}
		}
	}
	return m, parts
}

func thirdPerson(v string) string {
	switch {
	case v == "have":
		return "has"
	case strings.HasSuffix(v, "s"), strings.HasSuffix(v, "x"), strings.HasSuffix(v, "ch"), strings.HasSuffix(v, "sh"), strings.HasSuffix(v, "go"), strings.HasSuffix(v, "do"):
		return v + "es"
	case strings.HasSuffix(v, "y") && !vowelAt(v, len(v)-2):
		return v[:len(v)-1] + "ies"
	}
	return v + "s"
}

// doubled verbs double their last letter before -ed and -ing.
var doubled = set(`plan ship slip stop drop trim wrap swap tap top bid cut get hit put quit run set shut sit win let begin spot scan strip cap
	log submit commit permit transfer refer transmit tag tip travel_no budget_no occur forget split reset`)

func pastOf(v string) string {
	switch {
	case doubled[v]:
		return v + v[len(v)-1:] + "ed"
	case strings.HasSuffix(v, "e"):
		return v + "d"
	case strings.HasSuffix(v, "y") && !vowelAt(v, len(v)-2):
		return v[:len(v)-1] + "ied"
	}
	return v + "ed"
}

func ingOf(v string) string {
	switch {
	case doubled[v]:
		return v + v[len(v)-1:] + "ing"
	case strings.HasSuffix(v, "ee"), v == "be":
		return v + "ing"
	case strings.HasSuffix(v, "e"):
		return v[:len(v)-1] + "ing"
	}
	return v + "ing"
}

func vowelAt(s string, i int) bool { return i >= 0 && strings.IndexByte("aeiou", s[i]) >= 0 }
