// Package findings is what is wrong with a broker's topology, its queues and its messages: each finding with its
// evidence, level and remedy, and a page in docs/findings. It suggests remedies, but plans no actions.
package findings
