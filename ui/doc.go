// Package ui is the dashboard: the app, which polls the broker, keeps a stack of screens for each tab and passes keys
// and messages to them, its palette, its help, and what starts and ends it. The screens are in rooms below it, each of
// which knows only those before it: shell, act, messages, causes, trace, flows. What a screen is drawn with lives in
// term, the picture of a flow in picture, and what is true of a broker in model's rooms.
package ui
