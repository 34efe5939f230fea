// Package picture draws a flow: stations, rails, moving dots, charts. Values with counts, rates and findings go in,
// lines come out; it polls nothing, and knows no message of Bubble Tea.
package picture
