// Package mend changes messages with a jq program: one program for many messages, which gets each of them as an object
// and returns it changed. What the program leaves alone stays as it was: a body byte for byte, including unchanged
// parts of a JSON body, and headers with their AMQP types.
package mend
