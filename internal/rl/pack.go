package rl

// Pack splits rows of the given lengths into micro-batches of consecutive rows
// with at most maxTokens tokens each. A longer row has one to itself.
func Pack(lengths []int, maxTokens int) (batches [][]int) {
	used := 0
	for i, n := range lengths {
		if len(batches) == 0 || used+n > maxTokens {
			batches = append(batches, nil)
			used = 0
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], i)
		used += n
	}
	return batches
}
