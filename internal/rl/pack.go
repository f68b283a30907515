package rl

// Pack splits rows of the given lengths into micro-batches of consecutive rows
// with at most maxTokens tokens each. Of row i's tokens the first shared[i] are
// those of the row before, and count where they are in different batches only. A longer
// row has a batch to itself.
func Pack(lengths, shared []int, maxTokens int) (batches [][]int) {
	used := 0
	for i, n := range lengths {
		more := n - shared[i]
		if len(batches) == 0 || used+more > maxTokens {
			batches = append(batches, nil)
			used, more = 0, n
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], i)
		used += more
	}
	return batches
}
