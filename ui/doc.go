// Package ui is the dashboard: the app, its polling of the broker, the screens and the dialogs. What a screen is drawn
// with lives in term, the picture of a flow in picture, and what is true of a broker in model's rooms.
//
// It has more than 6,000 lines: a screen and its dialogs share the app's environment, and no screen uses another one.
package ui
