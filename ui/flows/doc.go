// Package flows is the screens of flows: the list of them, one as a picture that moves, and the findings.
package flows
