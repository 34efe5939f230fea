// Package shell is what all screens share: what a screen is, and the environment that it works in; keys; dialogs and
// the consent that they ask for; rows of messages and of flows; what is remembered of looks, causes and choices.
package shell
