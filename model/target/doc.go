// Package target decides where a message goes: which worker it is for, by which address, and which queues that reaches.
package target
