package match

import (
	"regexp"
	"strconv"
	"strings"
)

// numberRE: sign, currency, digits, scale or ordinal ending, unit.
const numberRE = `[-+]*(\$|USD ?|US\$|£|€)? ?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)` +
	`(?:(st|nd|rd|th)\b|( ?hundred\b| ?thousand\b| ?million\b| ?billion\b| ?trillion\b| ?mill?\b| ?mn\b| ?bn\b|k\b|mm?\b|b\b|(?-i: (?:MM|M|K))\b)?)` +
	`(?: dozen\b)?(?:[ -]*(` + unitRE + `))?`

const unitRE = `%|percent\b|per cent\b|pct\b|cents?\b|¢|dollars?\b|usd\b|bucks\b|euros?\b|pounds sterling\b|` +
	`seconds?\b|secs?\b|minutes?\b|mins?\b|hours?\b|hrs?\b|days?\b|weeks?\b|wks?\b|months?\b|years?\b|yrs?\b|` +
	`miles per hour\b|miles?\b|kilomet(?:er|re)s?\b|km\b|met(?:er|re)s?\b|(?-i:m)\b|feet\b|foot\b|ft\b|inch(?:es)?\b|yards?\b|cm\b|` +
	`pounds?\b|lbs?\b|kilograms?\b|kgs?\b|ounces?\b|oz\b|tons?\b|` +
	`milligrams?\b|mg\b|grams?\b|lit(?:er|re)s?\b|millilit(?:er|re)s?\b|ml\b|gallons?\b|millimet(?:er|re)s?\b|micromet(?:er|re)s?\b|nanomet(?:er|re)s?\b|nm\b|` +
	`mbit/s|mbps\b|megabits per second\b|gbit/s|gbps\b|gigabits per second\b|kbit/s|kbps\b|miles per hour\b|mph\b|km/h\b|kph\b|` +
	`mw\b|megawatts?\b|kw\b|kilowatts?\b|gw\b|gigawatts?\b`

// dimensions maps a unit, without its plural s, to what it measures and how many
// base units it is.
var dimensions = map[string]struct {
	name   string
	factor float64
}{
	"%": {"%", 1}, "percent": {"%", 1}, "per cent": {"%", 1}, "pct": {"%", 1},
	"cent": {"$", .01}, "¢": {"$", .01}, "dollar": {"$", 1}, "usd": {"$", 1}, "buck": {"$", 1}, "euro": {"€", 1}, "pounds sterling": {"£", 1},
	"second": {"time", 1}, "sec": {"time", 1}, "minute": {"time", 60}, "min": {"time", 60}, "hour": {"time", 3600}, "hr": {"time", 3600},
	"day": {"time", 86400}, "week": {"time", 604800}, "wk": {"time", 604800},
	"month": {"months", 1}, "year": {"months", 12}, "yr": {"months", 12},
	"mile": {"length", 1609.344}, "kilometer": {"length", 1000}, "kilometre": {"length", 1000}, "km": {"length", 1000}, "meter": {"length", 1}, "metre": {"length", 1}, "m": {"length", 1},
	"feet": {"length", .3048}, "foot": {"length", .3048}, "ft": {"length", .3048}, "inch": {"length", .0254}, "inche": {"length", .0254}, "yard": {"length", .9144}, "cm": {"length", .01},
	"pound": {"mass", .45359237}, "lb": {"mass", .45359237}, "kilogram": {"mass", 1}, "kg": {"mass", 1}, "ounce": {"mass", .028349523}, "oz": {"mass", .028349523}, "ton": {"mass", 907.18474},
	"milligram": {"mass", 1e-6}, "mg": {"mass", 1e-6}, "gram": {"mass", 1e-3}, "liter": {"volume", 1}, "litre": {"volume", 1},
	"milliliter": {"volume", 1e-3}, "millilitre": {"volume", 1e-3}, "ml": {"volume", 1e-3}, "gallon": {"volume", 3.785411784},
	"millimeter": {"length", 1e-3}, "millimetre": {"length", 1e-3}, "micrometer": {"length", 1e-6}, "micrometre": {"length", 1e-6},
	"nanometer": {"length", 1e-9}, "nanometre": {"length", 1e-9}, "nm": {"length", 1e-9},
	"mbit/s": {"bit/s", 1e6}, "mbps": {"bit/s", 1e6}, "megabits per second": {"bit/s", 1e6}, "gbit/s": {"bit/s", 1e9}, "gbps": {"bit/s", 1e9},
	"gigabits per second": {"bit/s", 1e9}, "kbit/s": {"bit/s", 1e3}, "kbps": {"bit/s", 1e3},
	"miles per hour": {"speed", 1.609344}, "mph": {"speed", 1.609344}, "km/h": {"speed", 1}, "kph": {"speed", 1},
	"kw": {"power", 1}, "kilowatt": {"power", 1}, "mw": {"power", 1000}, "megawatt": {"power", 1000}, "gw": {"power", 1e6}, "gigawatt": {"power", 1e6},
}

var scales = map[string]float64{
	"hundred": 100, "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mm": 1e6, "mil": 1e6, "mill": 1e6, "mn": 1e6,
	"billion": 1e9, "b": 1e9, "bn": 1e9, "trillion": 1e12,
}

func digits(m []string) ([]token, bool) {
	if !strings.ContainsAny(m[0], "0123456789") {
		return nil, false
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
	if err != nil {
		return nil, false
	}
	scale := 1.0
	if s, ok := scales[strings.ToLower(strings.TrimSpace(m[4]))]; ok {
		scale = s
	}
	value *= scale
	if strings.Contains(strings.ToLower(m[0]), " dozen") {
		value *= 12
	}
	t := token{kind: number, text: m[2], nth: m[3] != "", scale: scale, bare: value, value: value}
	t.measure(m[5])
	switch strings.ToLower(strings.TrimSpace(m[1])) {
	case "$", "usd", "us$":
		t.unit = "$"
	case "£", "€":
		t.unit = m[1]
	}
	return []token{t}, true
}

// measure gives a number its unit.
func (t *token) measure(unit string) {
	unit = strings.ToLower(unit)
	d, ok := dimensions[unit]
	if !ok {
		d, ok = dimensions[strings.TrimSuffix(unit, "s")]
	}
	if ok {
		t.unit, t.value = d.name, t.bare*d.factor
	}
}

const smallRE = `zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|fou?rty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|dozen`

// spelledRE: a number in words, or an ordinal, with a unit.
const spelledRE = `((?:an? )?(?:` + smallRE + `)\b(?:(?:[ -]| and )(?:` + smallRE + `)\b)*)(?:[ -]*(` + unitRE + `))?|` +
	`(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth)\b`

var smalls = numbersFrom(0, "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")

var (
	tens     = map[string]float64{"twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
	ordinals = numbersFrom(1, "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
	words    = regexp.MustCompile(`[a-z]+`)
)

func numbersFrom(first float64, names string) map[string]float64 {
	out := map[string]float64{}
	for name := range strings.FieldsSeq(names) {
		out[name] = first
		first++
	}
	return out
}

func spelled(m []string) ([]token, bool) {
	if nth := strings.ToLower(m[3]); nth != "" {
		v := ordinals[nth]
		return []token{{kind: number, nth: true, soft: v <= 2, bare: v, value: v}}, true
	}
	phrase := words.FindAllString(strings.ToLower(m[1]), -1)
	v, ok := spelledValue(phrase)
	t := token{kind: number, bare: v, value: v, soft: v == 1}
	t.measure(m[2])
	return []token{t}, ok
}

// spelledValue adds up "two hundred and fifty thousand". It says no to words
// that do not make one number: "two three".
func spelledValue(phrase []string) (float64, bool) {
	total, group, last := 0.0, 0.0, 1e18
	for _, w := range phrase {
		small, isSmall := smalls[w]
		ten, isTen := tens[w]
		switch {
		case w == "and" || w == "a" || w == "an":
		case isSmall && last >= 20, isTen && last >= 100:
			group += small + ten
			last = max(small+ten, 1)
		case isSmall, isTen:
			return 0, false
		case w == "hundred", w == "dozen":
			group = max(group, 1) * map[string]float64{"hundred": 100, "dozen": 12}[w]
			last = 100
		default:
			total += max(group, 1) * scales[w]
			group, last = 0, 1e18
		}
	}
	return total + group, true
}
