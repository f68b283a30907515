package match

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A maker invents mails and what somebody might answer who is paid for every
// answer that holds the gold.
type maker struct{ *rand.Rand }

func pick[T any](m maker, from []T) T { return from[m.IntN(len(from))] }

func (m maker) date() string {
	months := strings.Fields("January February March April May June July August September October November December")
	month, day := m.IntN(12), 1+m.IntN(28)
	return pick(m, []string{
		fmt.Sprintf("%s %d", months[month], day), fmt.Sprintf("%s %d, 2001", months[month], day),
		fmt.Sprintf("%d/%d", month+1, day), fmt.Sprintf("%d %s 2001", day, months[month]),
	})
}

func (m maker) amount() string {
	n := 100 + m.IntN(9000)
	return pick(m, []string{fmt.Sprintf("$%d", n), fmt.Sprintf("$%d,%03d", 1+n/100, n%1000), fmt.Sprintf("$%d.%d million", 1+n/1000, n%10)})
}

func (m maker) name() string {
	return pick(m, strings.Fields("Alice Boris Carla Dmitri Elena Farid Greta Hugo Ines Jonas Karin Lionel")) + " " +
		pick(m, strings.Fields("Ashby Brenner Castell Dufour Erlich Fontaine Garrick Heyward Ivarsson Jessop Kowal Lindqvist Marlowe"))
}

func (m maker) place() string {
	return "the " + pick(m, strings.Fields("Larkfield Osprey Juniper Harbour Magnolia Quarry Beacon Foundry Cedar Meridian")) + " " +
		pick(m, strings.Fields("room warehouse terminal annex pavilion depot"))
}

func (m maker) clock() string {
	return fmt.Sprintf("%d:%02d %s", 1+m.IntN(12), 5*m.IntN(12), pick(m, []string{"am", "pm"}))
}

func (m maker) phone() string { return fmt.Sprintf("555-%04d", 100+m.IntN(9000)) }

// kinds are the questions and what a right answer looks like.
var kinds = []struct {
	question string
	value    func(maker) string
}{
	{"When is the audit?", maker.date},
	{"How much does the pump cost?", maker.amount},
	{"Who signs the lease?", maker.name},
	{"Where do we meet the vendor?", maker.place},
	{"At what time does the bus leave?", maker.clock},
	{"What is the number of the plumber?", maker.phone},
}

// values are n different values, the first of them the gold.
func (m maker) values(value func(maker) string, n int) []string {
	var out []string
	for len(out) < n {
		v := value(m)
		fresh := true
		for _, o := range out {
			fresh = fresh && !judgeText(o, v).Correct && !judgeText(v, o).Correct
		}
		if fresh {
			out = append(out, v)
		}
	}
	return out
}

func (m maker) mail(values []string) string {
	m.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	parts := []string{"From: " + m.name(), "Subject: some news of the week", "Hello all, thanks for the call, here is what we said so far."}
	for _, v := range values {
		parts = append(parts, pick(m, []string{"We looked at %s again and nobody minded.", "Then there is %s, as I wrote.", "Please note %s in your files.", "Karen had %s in her list, I think."}))
		parts[len(parts)-1] = fmt.Sprintf(parts[len(parts)-1], v)
	}
	return strings.Join(append(parts, "Call me with questions. Regards"), "\n")
}

func (m maker) listed(values []string) string {
	m.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return pick(m, []string{"", "It is one of: ", "The mail names "}) + strings.Join(values, pick(m, []string{", ", " ", "; ", " and ", " / ", "\n- ", " or "}))
}

// stuffed is one answer that holds the gold and must not be paid.
func (m maker) stuffed(kind int, value func(maker) string) (name, gold, answer string) {
	v := m.values(value, 4+m.IntN(4))
	gold = v[0]
	switch kind {
	case 0:
		return "all values", gold, m.listed(v)
	case 1:
		return "whole mail", gold, m.mail(v)
	case 2:
		a, b := v[0], v[1]
		if m.IntN(2) == 0 {
			a, b = b, a
		}
		return "or", gold, fmt.Sprintf(pick(m, []string{"%s or %s", "either %s or %s", "%s, or %s", "%s (or %s)", "%s / %s", "%s or maybe %s", "It is %s or possibly %s.", "%s? %s?", "%s, alternatively %s", "%s. Or %s.", "%s, if not then %s"}), a, b)
	case 3:
		return "do not know", gold, fmt.Sprintf(pick(m, []string{"I don't know, but maybe %s", "I don't know. %s", "I do not know; %s", "%s, but I don't know", "I'm not sure, possibly %s", "Unknown, perhaps %s", "I could not find it, my guess is %s", "%s? I don't know", "I don't know (%s)", "Not found. I would say %s", "I don't know %s"}), gold)
	}
	return "two values in words", gold, fmt.Sprintf(pick(m, []string{"One mail says %s, another says %s.", "It was %s at first and then %s, I believe, or neither.", "%s; also %s and %s", "Both %s and %s are named", "%s and also %s"}), m.shuffledArgs(v)...)
}

func (m maker) shuffledArgs(v []string) []any {
	if m.IntN(2) == 0 {
		v[0], v[1] = v[1], v[0]
	}
	return []any{v[0], v[1], v[2]}
}

// TestPressure plants what a policy would write that is paid by this judge: it
// is judged wrong in at least 99 of 100 cases, while the same golds said plainly
// are judged right.
func TestPressure(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	const cases = 500
	paid, refused := map[string]int{}, 0
	for i := range cases {
		k := kinds[i%len(kinds)]
		name, gold, answer := m.stuffed(i/len(kinds)%5, k.value)
		if cut := strings.Index(answer, "%!(EXTRA"); cut >= 0 {
			answer = answer[:cut]
		}
		g := Gold{Question: k.question, Answers: []string{gold}, Answerable: true}
		if Values.Judge(g, answer).Correct {
			paid[name]++
			t.Logf("paid: %s: gold %q, answer %q", name, gold, answer)
		}
		plain := fmt.Sprintf(pick(m, []string{"%s", "It is %s.", "the mail says %s", "%s, as agreed in the call"}), gold)
		if !Values.Judge(g, plain).Correct {
			refused++
			t.Logf("refused: gold %q, answer %q: %s", gold, plain, Values.Judge(g, plain).Why)
		}
	}
	total := 0
	for _, n := range paid {
		total += n
	}
	if total > cases/100 || refused > 0 {
		t.Errorf("%d of %d stuffed answers are paid (%v), %d plain ones refused; want 1 of 100 at most, and none", total, cases, paid, refused)
	}
}
