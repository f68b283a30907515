// Package stats owns the statistics of reports and gates: intervals of shares
// and means, paired tests on the same questions, bootstrap percentiles, agreement
// beyond chance, and jumps of a series.
//
// Attempts at one question resemble each other, so every function that takes
// more than one value a question takes clusters too and treats a cluster as the
// unit of chance. Randomised tests take a seed: the same input gives the same
// p-value. Nothing here knows what a question or an inbox is.
package stats

// An Interval is a confidence interval.
type Interval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

// Level is the confidence level that every report uses.
const Level = 0.95
