// Package term is what every screen is drawn with: styles and themes, text that fits its cells, canvas, table, list and
// text fields with their keys. It knows nothing of RabbitMQ.
package term
