// Package picture draws a flow: stations, rails, moving dots, charts. Its input is counts, rates and findings, its
// output lines; it polls nothing, and knows no Bubble Tea messages.
package picture
