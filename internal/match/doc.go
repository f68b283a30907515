// Package match decides without a model whether an answer says the same as the
// gold answer.
//
// Most callers want Judge. It reads both texts as words and values (numbers with
// scale and unit, money, dates, times, telephone numbers), so that $1,200.00 is
// 1.2K and 3/14 is March 14, and it refuses answers that are right by saying
// many things at once. Containment is the plain rule of earlier trials, kept so
// that their figures can be compared.
//
// The package knows nothing of mails, sources or rewards.
package match
