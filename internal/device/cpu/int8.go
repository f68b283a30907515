package cpu

import "math"

// Whole numbers in place of values: what is stored of a column is how many of its steps a
// value is. A panel holds rows of nr = len(steps) columns.

// stepsOf sets the columns' steps to the largest magnitude by 127.
func stepsOf(steps, panel []float32) {
	clear(steps)
	for row := panel; len(row) > 0; row = row[len(steps):] {
		for j, v := range row[:len(steps)] {
			steps[j] = max(steps[j], float32(math.Abs(float64(v))))
		}
	}
	for j := range steps {
		steps[j] /= 127
	}
}

// toSteps counts steps to nearest even; a column of zeros has steps of zero.
func toSteps(dst []int8, panel, steps []float32) {
	for i, v := range panel {
		if step := steps[i%len(steps)]; step > 0 {
			dst[i] = int8(math.RoundToEven(float64(v / step)))
		} else {
			dst[i] = 0
		}
	}
}

func fromSteps(dst []float32, src []int8, steps []float32) {
	for i, v := range src {
		dst[i] = float32(v) * steps[i%len(steps)]
	}
}
