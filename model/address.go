package model

import (
	"cmp"
	"net"
	"net/url"
	"strconv"
)

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

// AddressOf returns host:port of a URL, 5672 for 05672; port is the one that counts where the URL has none.
func AddressOf(u *url.URL, port string) string {
	number, _ := strconv.Atoi(cmp.Or(u.Port(), port))
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(number))
}

// HostOf returns an address without its port.
func HostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
