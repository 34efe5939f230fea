// Package findings is what is wrong with a broker's topology, its queues and its messages: each with its evidence, its
// level, its remedy, and a page in docs/findings. It proposes, and plans nothing.
package findings
