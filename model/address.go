package model

// Address is where a message is published: an exchange ("" is the default exchange) and a routing key.
type Address struct {
	Exchange   string
	RoutingKey string
}

// ExchangeName returns an exchange's name for people, printable: the default exchange has none.
func ExchangeName(name string) string {
	if name == "" {
		return "(default)"
	}
	return Printable(name)
}

// Quoted is s, or two quotes when s is empty, so that there is something to see.
func Quoted(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
