package model

import (
	"strconv"
	"strings"
)

// ConnectTrouble is one way in which a broker cannot be reached, with its sentences. All of them are in this file and
// the next: {at} is the address and {api} that of the management API beside it, {user}, {vhost} and {name} are what was
// asked for, {detail} is what the other side says, or for how long it said nothing.
type ConnectTrouble struct {
	kind        ConnectKind
	cause, next string

	limited, setting string // of a limit: what it counts, and where it is set; {detail} is then how many it allows
}

// ConnectValues are what the sentences of a trouble name. They need not be printable, and hold no password.
type ConnectValues struct{ At, API, User, VHost, Name, Detail string }

// With is the trouble as an error.
func (t ConnectTrouble) With(v ConnectValues) *ConnectError {
	if t.limited != "" {
		v.Detail = t.allowed(v.Detail)
	}
	fill := strings.NewReplacer("{at}", Printable(v.At), "{api}", Printable(v.API), "{user}", Printable(v.User),
		"{vhost}", Printable(v.VHost), "{name}", Printable(v.Name), "{detail}", Printable(v.Detail))
	return &ConnectError{Kind: t.kind, Cause: fill.Replace(t.cause), Next: fill.Replace(t.next)}
}

// allowed is how many the limit allows: "1 connection (max-connections), and it is in use".
func (t ConnectTrouble) allowed(number string) string {
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return number + " " + t.limited + "s (" + t.setting + "), and all are in use"
	case n == 0:
		return "no " + t.limited + " (" + t.setting + " is 0)"
	case n == 1:
		return "1 " + t.limited + " (" + t.setting + "), and it is in use"
	}
	return Plural(n, t.limited) + " (" + t.setting + "), and all are in use"
}

// What both ways in say in the same words.
const (
	noHost         = "there is no host named {name}"
	nothingListens = "nothing listens on {at}"
	wantsTLS       = "{at} expects TLS"
	withoutTLS     = "{at} does not speak TLS"
	noAuthority    = "the certificate of {at} is signed by an authority that this machine does not trust"
	otherName      = "the certificate of {at} is for another name ({detail})"
	notReached     = "{at} cannot be reached ({detail})"

	startIt = "start RabbitMQ and its management API (rabbitmq-plugins enable rabbitmq_management), or name another " +
		"broker with --api; `dlxtop demo` shows it all without a broker of your own"
	nameIt = "enable the management API (rabbitmq-plugins enable rabbitmq_management), or name its address with " +
		"--api: its port is usually 15672"
	writeHTTPS = "write https:// instead of http:// in --api"
)

// Both ways in.
var (
	CertificateExpired = ConnectTrouble{
		kind: TLSMismatch, cause: "the certificate of {at} is not valid at this time ({detail})",
		next: "renew it, or set this machine's clock",
	}
	CertificateUntrusted = ConnectTrouble{
		kind: TLSMismatch, cause: "the certificate of {at} cannot be trusted ({detail})", next: "have it replaced",
	}
	// LeadsElsewhere names the cluster now, and as {detail} the one before.
	LeadsElsewhere = ConnectTrouble{
		kind: TwoBrokers, next: "to work on that one, start dlxtop again",
		cause: "{at} belongs to the cluster {name} now, and belonged to {detail} when dlxtop began",
	}
)

// The management API.
var (
	APIWantsLogin = ConnectTrouble{
		kind: BadCredentials, cause: "{at} asks for a user and a password",
		next: "name them in the URL, for example --api http://user:password@{at}",
	}
	APIRefusesLogin = ConnectTrouble{
		kind: BadCredentials, cause: "{at} does not accept user {user} with this password",
		next: "check both; on the broker's machine, `rabbitmqctl authenticate_user {user} PASSWORD` tries them",
	}
	APIHidesVHost = ConnectTrouble{
		kind: NoSuchVHost, cause: "vhost {vhost} does not exist on {at}, or user {user} may not see it",
		next: "check --vhost; `rabbitmqctl list_vhosts` names those that exist, and `rabbitmqctl " +
			"list_user_permissions {user}` those that the user may see",
	}
	APINotHere = ConnectTrouble{
		kind: NoManagement, cause: "{at} has no RabbitMQ management API at this address (404)", next: nameIt,
	}
	APIAnswersOtherwise = ConnectTrouble{
		kind: NoManagement, cause: "{at} answers {detail}",
		next: "check the broker's log; if this is not RabbitMQ's management API, name its address with --api: its " +
			"port is usually 15672",
	}
	APIRedirects = ConnectTrouble{
		kind: NoManagement, cause: "{at} redirects to {detail}, and dlxtop follows no redirect, which would get the password",
		next: "if that is RabbitMQ's management API, name its address with --api, without the part from /api on",
	}
	APIWithoutTag = ConnectTrouble{
		kind: NotAllowed, cause: "user {user} may not use the management API of {at}",
		next: "give the user the tag: rabbitmqctl set_user_tags {user} management",
	}
	APILocalOnly = ConnectTrouble{
		kind: NotAllowed, cause: "{at} lets user {user} in only from its own machine",
		next: "run dlxtop there, or use another user",
	}
	APIWithoutVHost = ConnectTrouble{
		kind: NotAllowed, cause: "user {user} has no permission on vhost {vhost} of {at}",
		next: "give it one: rabbitmqctl set_permissions -p {vhost} {user} '^$' '.*' '.*'",
	}
	APIWithoutAnyVHost = ConnectTrouble{
		kind: NotAllowed, cause: "user {user} has no permission on any vhost of {at}",
		next: "give it one: rabbitmqctl set_permissions -p / {user} '^$' '.*' '.*'",
	}
	APINotAllowed = ConnectTrouble{
		kind: NotAllowed, cause: "{at} does not allow this to user {user} ({detail})",
		next: "give the user the tag and a permission: rabbitmqctl set_user_tags {user} management",
	}
	APIIsAMQP = ConnectTrouble{
		kind: NoManagement, cause: "{at} looks like the AMQP port, not the management API",
		next: "name the API with --api: its port is usually 15672 (15671 with TLS)",
	}
	APIWantsTLS   = ConnectTrouble{kind: TLSMismatch, cause: wantsTLS, next: writeHTTPS}
	APIWithoutTLS = ConnectTrouble{
		kind: TLSMismatch, cause: withoutTLS,
		next: "write http:// instead of https:// in --api, or name the port that has TLS (usually 15671)",
	}
	APINoHTTP      = ConnectTrouble{kind: NoManagement, cause: "{at} does not speak HTTP", next: nameIt}
	APINoAuthority = ConnectTrouble{
		kind: TLSMismatch, cause: noAuthority,
		next: "make it trust that authority, for example with SSL_CERT_FILE=authority.pem in the environment",
	}
	APIOtherName = ConnectTrouble{
		kind: TLSMismatch, cause: otherName, next: "use the name that the certificate has in --api",
	}
	APIHandshake = ConnectTrouble{
		kind: TLSMismatch, cause: "{at} refuses the TLS handshake ({detail})",
		next: "check whether it asks for a client certificate or for another version of TLS",
	}
	APIEndless = ConnectTrouble{
		kind: NoManagement, cause: "{at} answers without an end: reading stopped after {detail}",
		next: "if the broker has that much to list, narrow it down with --vhost; else " + nameIt,
	}
	APIOtherJSON = ConnectTrouble{
		kind: NoManagement, cause: "{at} answers, but not as RabbitMQ's management API does", next: nameIt,
	}
	APINoHost   = ConnectTrouble{kind: NoSuchHost, cause: noHost, next: "check the name in --api"}
	APINoLookup = ConnectTrouble{
		kind: NoSuchHost, cause: "the name {name} cannot be looked up ({detail})",
		next: "check the network, or write the broker's IP address in --api",
	}
	APINothingListens = ConnectTrouble{kind: Unreachable, cause: nothingListens, next: startIt}
	APINotReached     = ConnectTrouble{kind: Unreachable, cause: notReached, next: startIt}
	APIBrokeOff       = ConnectTrouble{
		kind: NoAnswer, cause: "the answer of {at} broke off",
		next: "try again; if it fails again, check the broker's log, and the log of any proxy in front of it",
	}
	APIHungUp = ConnectTrouble{
		kind: NoAnswer, cause: "{at} closed the connection without an answer",
		next: "check that the broker runs, and that --api names its management port, with https:// if that port has TLS",
	}
	APISilent = ConnectTrouble{
		kind: TooSlow, cause: "{at} accepted the connection and gave no answer within {detail}",
		next: "check the broker's load and its log, and the log of any proxy in front of it",
	}
	APISlow = ConnectTrouble{
		kind: NoAnswer, cause: "{at} gave no answer within {detail}",
		next: "check the network and the load of the broker, or name another with --api",
	}
	APILate = ConnectTrouble{
		kind: NoAnswer, cause: "{at} gave no answer in time",
		next: "check the network and the load of the broker, or name another with --api",
	}
	PollLate = ConnectTrouble{
		kind: NoAnswer, cause: "the broker did not answer within {detail}", next: "dlxtop asks again by itself",
	}
	PollFailed = ConnectTrouble{kind: NoAnswer, cause: "{detail}", next: "dlxtop asks again by itself"}
)
