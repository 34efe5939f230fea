// Package shell is what all screens share: the screen interface and its environment; keys; dialogs and consent; rows of
// messages and of flows; what is remembered of looks, causes and choices.
package shell
