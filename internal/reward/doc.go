// Package reward turns a verdict into a number: a weighted sum of named terms,
// every term kept beside it.
//
// Most callers want Builtin or Load, then Set.Score. A Set is data (YAML: term
// names and weights); what a term measures is a function in terms.go. An attempt
// without a verdict has no reward, which is not a reward of 0.
//
// The package does not judge: whether an answer is right is package judge's.
package reward
