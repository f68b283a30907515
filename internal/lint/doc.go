// Package lint holds tests of the tree itself: that imports point down, that
// each module is imported where it belongs, and that no file names a place
// outside the project. It exports nothing.
package lint
