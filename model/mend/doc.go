// Package mend changes messages by a jq program: one program for many messages, which gets each of them as one object
// and gives it back changed. What the program leaves alone stays as it was: a body byte for byte, also the parts of a
// JSON body that were not changed, and headers with their AMQP types.
package mend
