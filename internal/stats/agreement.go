package stats

// Kappa returns Cohen's kappa of a table of yes and no, [first][second]: the
// agreement beyond that of chance. Where chance alone agrees always, or there
// are no pairs, it is 0: nothing is shown.
func Kappa(table [2][2]int) float64 {
	n := float64(table[0][0] + table[0][1] + table[1][0] + table[1][1])
	if n == 0 {
		return 0
	}
	agree := float64(table[0][0]+table[1][1]) / n
	first, second := float64(table[1][0]+table[1][1])/n, float64(table[0][1]+table[1][1])/n
	chance := first*second + (1-first)*(1-second)
	if chance == 1 {
		return 0
	}
	return (agree - chance) / (1 - chance)
}
