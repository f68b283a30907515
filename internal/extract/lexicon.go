package extract

import (
	"regexp"
	"strings"
)

// set makes a set of the words of s.
func set(s string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// units can stand after "per" or "a" in an amount.
var units = set(`unit units pallet pallets ton tons barrel barrels month year week day hour night head person
	seat share foot acre mile pound gallon case box crate carton drum copy truck night case slot license licence user line desk
	page mmbtu mwh kwh square truckload container load trip piece sheet room ticket bottle crew shift set
	meter metre kilo therm call minute visit word quarter annum plate guest employee bag roll`)

// notCounted are words in -s that no quantity counts.
var notCounted = set(`this is was has does his its across always perhaps less plus versus thus business
	minutes mins hours hours days nights weeks months years percent dollars cents degrees points times
	yes news series means goes comes needs says gives sales us cts pros ones others years`)

// firstNames are given names, as found in business mail in English.
var firstNames = set(`Aaron Abby Adam Adrian Aiden Aisha Alan Albert Alejandra Alex Alexander Alexis Alfred Alice Alicia Alison
	Allan Allen Allison Alma Alvin Amanda Amber Amelia Amir Amy Ana Andrea Andrew Andy Angela Angelica Anita Ann Anna Anne Annette
	Annie Anthony Antonio April Arlene Armando Arnold Arthur Ashley Audrey Austin Barbara Barry Beatrice Becky Ben Benjamin Bernard
	Bert Beth Betty Beverly Bill Billy Blake Bob Bobby Bonnie Boris Brad Bradley Brandon Brenda Brent Brett Brian Bridget Bruce Bryan
	Bryce Caleb Calvin Cameron Camille Candace Cara Carl Carla Carlos Carmen Carol Caroline Carolyn Carrie Casey Catherine Cathy Cecil
	Cecilia Celia Chad Charlene Charles Charlie Charlotte Chelsea Cheryl Chester Chris Christian Christina Christine Christopher
	Cindy Claire Clara Clark Claude Claudia Clayton Cliff Clifford Clint Cody Colin Colleen Connie Constance Corey Courtney Craig
	Cristina Crystal Curt Curtis Cynthia Daisy Dale Dan Dana Daniel Danielle Danny Daphne Darcy Darlene Darrell Darren Dave David
	Dawn Dean Deb Debbie Deborah Debra Delia Denise Dennis Derek Desmond Diana Diane Diego Dolores Dominic Don Donald Donna Dora
	Doris Dorothy Doug Douglas Drew Duane Dustin Dylan Earl Ed Eddie Edgar Edith Edna Eduardo Edward Edwin Eileen Elaine Eleanor
	Elena Eli Elias Elijah Elise Elizabeth Ella Ellen Elliot Elliott Elmer Elsa Emil Emily Emma Enrique Eric Erica Erik Erika Erin
	Ernest Esteban Esther Ethan Eugene Eva Evan Evelyn Faith Farid Fatima Faye Felicia Felix Fernando Fiona Florence Frances Francis
	Francisco Frank Franklin Fred Frederick Gabriel Gail Garrett Gary Gavin Gene Geoff Geoffrey George Gerald Geraldine Gilbert Gina
	Ginger Glen Glenn Gloria Gordon Grace Graham Grant Greg Gregory Greta Guadalupe Guillermo Gus Guy Gwen Hal Hannah Harold Harriet
	Harry Harvey Hassan Hazel Heather Hector Heidi Helen Helena Henry Herbert Herman Hilary Holly Hope Howard Hugh Hugo Ian Ida Ignacio
	Imani Inez Ingrid Irene Iris Irma Isaac Isabel Ivan Ivy Jack Jackie Jackson Jacob Jacqueline Jaime Jake James Jamie Jan Jane Janet
	Janice Janine Jared Jasmine Jason Javier Jay Jean Jeanette Jeanne Jeff Jeffrey Jen Jenna Jennifer Jenny Jeremy Jerome Jerry Jesse
	Jessica Jesus Jill Jim Jimmy Jo Joan Joann Joanna Joanne Jocelyn Jodi Jody Joe Joel Joey John Johnny Jon Jonah Jonathan Jordan
	Jorge Jose Joseph Josephine Josh Joshua Joy Joyce Juan Juanita Judith Judy Julia Julian Julie Julio June Justin Kara Karen Kari Karl
	Karla Kate Katherine Kathleen Kathryn Kathy Katie Kay Keith Kelly Ken Kendra Kenji Kenneth Kent Kerry Kevin Kim Kimberly Kirk Kirsten
	Kristen Kristin Kristina Kristine Kurt Kyle Lamar Lana Lance Larry Laura Lauren Laurie Lawrence Leah Lee Leila Lena Leo Leon Leonard
	Leroy Leslie Lester Lewis Liam Lila Lillian Lily Linda Lindsay Lindsey Lisa Liz Lloyd Logan Lois Loren Lorenzo Loretta Lori Lorraine
	Louis Louise Lucas Lucia Lucille Lucy Luis Luke Lydia Lyle Lynn Mabel Mack Mae Maggie Malcolm Mandy Manuel Marc Marcia Marco Marcus
	Margaret Margarita Maria Marian Marie Marilyn Mario Marion Marissa Mark Marlene Marsha Marshall Martha Martin Marty Marvin Mary
	Mateo Matt Matthew Maureen Maurice Max Maxine Megan Melanie Melinda Melissa Melvin Mercedes Meredith Michael Michele Michelle
	Miguel Mike Mildred Milton Mindy Minh Miranda Miriam Misty Mitch Mitchell Mohammed Molly Mona Monica Monique Monte Morgan Morris
	Muriel Myra Myron Nadia Nadine Nancy Naomi Natalie Natasha Nate Nathan Neal Ned Neil Nelson Nia Nicholas Nick Nicole Nina Noah Noel
	Nora Norma Norman Octavia Olga Olive Oliver Olivia Omar Opal Oscar Otis Owen Pablo Paige Pam Pamela Pat Patrice Patricia Patrick
	Patti Patty Paul Paula Pauline Pearl Pedro Peggy Penny Perry Pete Peter Phil Philip Philippe Phillip Phyllis Pierre Preston Priya
	Quentin Quinn Rachel Rafael Ralph Ramon Randall Randy Raquel Raul Ravi Ray Raymond Rebecca Regina Reggie Renee Rex Rhonda Ricardo
	Rich Richard Rick Ricky Riley Rita Rob Robert Roberta Roberto Robin Robyn Rod Roderick Rodney Roger Roland Ron Ronald Ronnie Rosa
	Rosalie Rosario Rose Rosemary Ross Roxanne Roy Ruben Ruby Rudy Rufus Russ Russell Ruth Ryan Sabrina Sally Sam Samantha Samuel Sandra
	Sandy Sara Sarah Saul Scott Sean Selma Sergio Seth Shane Shannon Sharon Shaun Shawn Sheila Shelby Sheldon Shelley Shelly Sheri
	Sherman Sherri Sherry Shirley Sidney Silvia Simon Sofia Solomon Sonia Sonya Sophia Sophie Spencer Stacey Stacy Stan Stanley Stella
	Stephanie Stephen Steve Steven Stewart Stuart Sue Susan Susie Suzanne Sylvia Tamara Tammy Tanya Tara Tariq Tasha Ted Teresa Teri
	Terrance Terrence Terri Terry Thelma Theo Theodore Theresa Thomas Tiffany Tim Timothy Tina Todd Tom Tommy Toni Tony Tonya Tracey
	Traci Tracy Travis Trevor Tricia Troy Tyler Tyrone Ursula Valerie Vanessa Vera Vernon Veronica Vicki Vickie Vicky Victor Victoria
	Vince Vincent Viola Violet Virgil Virginia Vivian Wade Wallace Walt Walter Wanda Warren Wayne Wendell Wendy Wesley Whitney Wilbur
	Will Willa Willard William Willie Wilma Winston Wyatt Xavier Yolanda Yuki Yusuf Yvette Yvonne Zach Zachary Zoe`)

// notNames are capitalised words that follow a given name without being its surname.
var notNames = set(`Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August
	September October November December I We You The This That Please Street Road Avenue Center Hotel Grill Inn Room Suite Hall
	Building Tower Plaza Office Company Corp Inc Project Regards Thanks Best Sent To From Subject Cc In On At For And But`)

const placeHead = `(?:Hotel|Inn|Grill|Grille|Cafe|Café|Restaurant|Center|Centre|Hall|Tower|Building|Plaza|Airport|Park|Warehouse|Terminal|Club|Library|Lodge|Church|School|Bistro|House|Diner|Museum|Arena|Stadium|Theater|Theatre|Hospital|Clinic|College|University|Yard|Depot|Garage|Kitchen|Tavern|Steakhouse|Brewery|Pavilion|Auditorium|Gallery|Marina|Annex|Campus|Station|Resort|Market|Gym|Field|Room & Bar|Pub|Bakery|Ballroom|Harbor|Pier \d+|Dock \d+|Gate [A-Z]?\d+)`

var (
	placeRE = at(`\b(?:[Tt]he` + sp + `)?(?:[A-Z][A-Za-z'’]+` + sp + `(?:(?:and|&|of|on)` + sp + `)?){1,3}` + placeHead + `\b(?:[ \t]on[ \t][A-Z][a-z]+[ \t](?:Street|Avenue|Road))?|\b(?:the )?(?:front lobby|main lobby|lobby|cafeteria|loading dock|parking garage|mail room|break room|auditorium|boardroom|visitor center|reception desk|front desk|guard house|security desk|supply room|copy room|north entrance|south entrance|east entrance|west entrance|rear entrance|training center|board room)\b(?: on the [a-z0-9]+ floor)?|\b(?:Dock|Pier|Gate|Bay|Terminal|Platform)[ \t][A-Z]?\d{1,3}\b`)
	orgRE   = at(`\b(?:[A-Z][A-Za-z'’&-]+` + sp + `(?:(?:and|&|of)` + sp + `)?){1,3}(?:Inc\b\.?|LLC|L\.L\.C\.|LLP|Corp\b\.?|Corporation|Ltd\b\.?|Company|Partners|Freight|Bank|Associates|Systems|Logistics|Supply|Consulting|Insurance|Electric|Industries|Services|Solutions|Airlines|Airways|Air|Catering|Staffing|Movers|Printing|Press|Software|Labs|Laboratories|Group|Capital|Holdings|Energy|Pipeline|Power|Gas|Steel|Chemical|Motors|Rentals|Travel|Cleaning|Security|Telecom|Networks|Foods|Trucking|Couriers|Courier|Brothers|Bros\.?|& Sons|& Co\.?|Roofing|Plumbing|Landscaping|Interiors|Architects|Engineering|Credit Union|Brokers|Packaging|Fabrication|Metals|Instruments|Controls|Paper|Plastics)\b`)

	// personRE matches one capitalised word; person looks further.
	personRE = at(`\b[A-Z][a-z]+\b`)
	surname  = regexp.MustCompile(`^(?:[ \t][A-Z]\.)?(?:[ \t]|[ \t]*\n[ \t]*)[A-Z](?:'[A-Z])?(?:[a-z]+)(?:[A-Z][a-z]+)?(?:-[A-Z][a-z]+)?`)
	title    = regexp.MustCompile(`^\.?[ \t][A-Z][a-z]+(?:[ \t][A-Z][a-z]+)?`)
	cityRE   = at(`\b(?:Houston|Dallas|Austin|Denver|Chicago|Boston|Portland|Seattle|Atlanta|Phoenix|Tulsa|Omaha|Memphis|Nashville|Calgary|Toronto|London|New York|San Francisco|Los Angeles|San Diego|San Antonio|Las Vegas|Salt Lake City|St\. Louis|Kansas City|New Orleans|Washington|Philadelphia|Pittsburgh|Cleveland|Detroit|Minneapolis|Milwaukee|Tampa|Miami|Orlando|Charlotte|Raleigh|Richmond|Baltimore|Albuquerque|El Paso|Tucson|Boise|Spokane|Sacramento|Oakland|Fresno|Mobile|Galveston|Savannah|Charleston|Cincinnati|Columbus|Indianapolis|Louisville|Vancouver|Montreal|Mexico City|Monterrey)\b`)
)

// person accepts a title with a name, a given name, or a given name with a
// surname, and makes s as long as the name.
func person(text string, s *Span) bool {
	first, rest := s.Text(text), text[s.End:]
	switch first {
	case "Mr", "Ms", "Mrs", "Dr":
		m := title.FindString(rest)
		s.End += len(m)
		return m != ""
	}
	if !firstNames[first] {
		return false
	}
	m := surname.FindString(rest)
	if last := m[strings.LastIndexAny(m, " \n\t")+1:]; notNames[last] {
		m = ""
	}
	s.End += len(m)
	return m != "" || !ambiguousName[first]
}

// alone refuses a name that only describes the noun after it: "the Tulsa yard".
func alone(text string, s *Span) bool {
	rest := text[s.End:]
	if rest == "" || rest[0] != ' ' && rest[0] != '\n' {
		return true
	}
	next := strings.ToLower(strings.TrimRight(firstWord(strings.TrimLeft(rest, " \t\n")), ",.;:!?"))
	if next == "" || !('a' <= rest[1] && rest[1] <= 'z') {
		return true
	}
	_, verb := verbs[next]
	if before := strings.TrimRight(text[:s.Start], " \t\n"); verb && strings.HasSuffix(strings.ToLower(before), "the") {
		return false // "the Savannah audit"
	}
	_, aux := auxiliaries[next]
	return verb || aux || prepositions[next] || breaks[next] || adverbs[next] || determiners[next] || next == "and" || next == "or" || next == "early" || next == "late" || next == "next" || next == "last" || next == "there" || next == "today" || next == "tomorrow"
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	w, _, _ = strings.Cut(w, "\n")
	return w
}

// ambiguousName are given names that alone are more often something else.
var ambiguousName = set(`April May June Will Mark Grant Rose Hope Faith Grace Dawn Art Bill Don Max Pat Chase Frank Rich Rob Sue Jack Joy
	Charlotte Austin Jackson Houston Dallas Price Drew Dale Dean Earl Guy Hal Ivy Jan Jay Jo Jean Kay Lance Lane Miles Mobile Olive Opal Page Pearl
	Penny Perry Preston Ray Rod Rex Ross Ruby Sandy Stan Violet Viola Virginia Wade Ward Washington Carol Holly Ginger Crystal Iris Daisy Victoria
	Georgia Florence Marina Lincoln Madison Franklin Chester Clark Harmony Spencer Morgan Mercedes Logan Cliff Clay Gene`)
