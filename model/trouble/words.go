package trouble

import (
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Trouble is one way in which a broker cannot be reached, with its sentences; all of them are in this file. {at}
// is the address and {api} that of the management API beside it; {user}, {vhost} and {name} are what was asked for;
// {detail} is what the other side answered, or how long it was silent.
type Trouble struct {
	kind        Kind
	cause, next string

	limited, setting string // for a limit: what it counts, and where it is set; {detail} is then how many it allows
}

// Values fill the placeholders of a trouble's sentences. They need not be printable, and hold no password.
type Values struct{ At, API, User, VHost, Name, Detail string }

// With returns the trouble as an error.
func (t Trouble) With(v Values) *Error {
	if t.limited != "" {
		v.Detail = t.allowed(v.Detail)
	}
	fill := strings.NewReplacer("{at}", model.Printable(v.At), "{api}", model.Printable(v.API),
		"{user}", model.Printable(v.User), "{vhost}", model.Printable(v.VHost),
		"{name}", model.Printable(v.Name), "{detail}", model.Printable(v.Detail))
	return &Error{Kind: t.kind, Cause: fill.Replace(t.cause), Next: fill.Replace(t.next)}
}

func of(kind Kind, cause, next string) Trouble {
	return Trouble{kind: kind, cause: cause, next: next}
}

// allowed returns how many the limit allows: "1 connection (max-connections), and it is in use".
func (t Trouble) allowed(number string) string {
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return number + " " + t.limited + "s (" + t.setting + "), and all are in use"
	case n == 0:
		return "no " + t.limited + " (" + t.setting + " is 0)"
	case n == 1:
		return "1 " + t.limited + " (" + t.setting + "), and it is in use"
	}

	return model.Plural(n, t.limited) + " (" + t.setting + "), and all are in use"
}

// Phrases that troubles of AMQP and of the management API share.
const (
	noHost         = "there is no host named {name}"
	nothingListens = "nothing listens on {at}"
	wantsTLS       = "{at} expects TLS"
	withoutTLS     = "{at} does not speak TLS"
	noAuthority    = "the certificate of {at} is signed by an authority that this machine does not trust"
	otherName      = "the certificate of {at} is for another name ({detail})"
	noHostAnswers  = "none of {at} answers, the last one: {detail}"
	notReached     = "{at} cannot be reached ({detail})"

	startIt = "start RabbitMQ and its management API (rabbitmq-plugins enable rabbitmq_management), or name another " +
		"broker with --api"
	nameIt = "enable the management API (rabbitmq-plugins enable rabbitmq_management), or name its address with " +
		"--api: its port is usually 15672"
	writeHTTPS = "write https:// instead of http:// in --api"
)

// Troubles of both AMQP and the management API.
var (
	CertificateExpired = of(TLSMismatch, "the certificate of {at} is not valid at this time ({detail})",
		"renew it, or set this machine's clock")
	CertificateUntrusted = of(TLSMismatch, "the certificate of {at} cannot be trusted ({detail})", "have it replaced")
	// LeadsElsewhere has the current cluster as {name}, and the previous one as {detail}.
	LeadsElsewhere = of(TwoBrokers, "{at} belongs to the cluster {name} now, and belonged to {detail} when dlxtop "+
		"began", "to work on that one, start dlxtop again")
)

// The management API.
var (
	APIWantsLogin = of(BadCredentials, "{at} asks for a user and a password",
		"name them in the URL, for example --api http://user:password@{at}")
	APIRefusesLogin = of(BadCredentials, "{at} does not accept user {user} with this password",
		"check both; on the broker's machine, `rabbitmqctl authenticate_user {user} PASSWORD` tries them")
	APIHidesVHost = of(NoSuchVHost, "vhost {vhost} does not exist on {at}, or user {user} may not see it",
		"check --vhost; `rabbitmqctl list_vhosts` names those that exist, and `rabbitmqctl list_user_permissions {user}` "+
			"those that the user may see")
	APINotHere          = of(NoManagement, "{at} has no RabbitMQ management API at this address (404)", nameIt)
	APIAnswersOtherwise = of(NoManagement, "{at} answers {detail}", "check the broker's log; if this is not "+
		"RabbitMQ's management API, name its address with --api: its port is usually 15672")
	APIRedirects = of(NoManagement, "{at} redirects to {detail}, and dlxtop follows no redirect, which would get "+
		"the password", "if that is RabbitMQ's management API, name its address with --api, without the part from /api on")
	APIWithoutTag = of(NotAllowed, "user {user} may not use the management API of {at}",
		"give the user the tag: rabbitmqctl set_user_tags {user} management")
	APILocalOnly = of(NotAllowed, "{at} lets user {user} in only from its own machine",
		"run dlxtop there, or use another user")
	APIWithoutVHost = of(NotAllowed, "user {user} has no permission on vhost {vhost} of {at}",
		"give it one: rabbitmqctl set_permissions -p {vhost} {user} '^$' '.*' '.*'")
	APIWithoutAnyVHost = of(NotAllowed, "user {user} has no permission on any vhost of {at}",
		"give it one: rabbitmqctl set_permissions -p / {user} '^$' '.*' '.*'")
	APINotAllowed = of(NotAllowed, "{at} does not allow this to user {user} ({detail})",
		"give the user the tag and a permission: rabbitmqctl set_user_tags {user} management")
	APIIsAMQP = of(NoManagement, "{at} looks like the AMQP port, not the management API",
		"name the API with --api: its port is usually 15672 (15671 with TLS)")
	APIWantsTLS   = of(TLSMismatch, wantsTLS, writeHTTPS)
	APIWithoutTLS = of(TLSMismatch, withoutTLS,
		"write http:// instead of https:// in --api, or name the port that has TLS (usually 15671)")
	APINoHTTP      = of(NoManagement, "{at} does not speak HTTP", nameIt)
	APINoAuthority = of(TLSMismatch, noAuthority,
		"make it trust that authority, for example with SSL_CERT_FILE=authority.pem in the environment")
	APIOtherName = of(TLSMismatch, otherName, "use the name that the certificate has in --api")
	APIHandshake = of(TLSMismatch, "{at} refuses the TLS handshake ({detail})",
		"check whether it asks for a client certificate or for another version of TLS")
	APIEndless = of(NoManagement, "{at} answers without an end: reading stopped after {detail}",
		"if the broker has that much to list, narrow it down with --vhost; else "+nameIt)
	APIOtherJSON = of(NoManagement, "{at} answers, but not as RabbitMQ's management API does", nameIt)
	APINoHost    = of(NoSuchHost, noHost, "check the name in --api")
	APINoLookup  = of(NoSuchHost, "the name {name} cannot be looked up ({detail})",
		"check the network, or write the broker's IP address in --api")
	APINothingListens = of(Unreachable, nothingListens, startIt)
	APINotReached     = of(Unreachable, notReached, startIt)
	APINoHostAnswers  = of(Unreachable, noHostAnswers, startIt)
	APIBrokeOff       = of(NoAnswer, "the answer of {at} broke off",
		"try again; if it fails again, check the broker's log, and the log of any proxy in front of it")
	APIHungUp = of(NoAnswer, "{at} closed the connection without an answer",
		"check that the broker runs, and that --api names its management port, with https:// if that port has TLS")
	APISilent = of(TooSlow, "{at} accepted the connection and gave no answer within {detail}",
		"check the broker's load and its log, and the log of any proxy in front of it")
	APISlow = of(NoAnswer, "{at} gave no answer within {detail}",
		"check the network and the load of the broker, or name another with --api")
	APILate = of(NoAnswer, "{at} gave no answer in time",
		"check the network and the load of the broker, or name another with --api")
	PollLate   = of(NoAnswer, "the broker did not answer within {detail}", "dlxtop asks again by itself")
	PollFailed = of(NoAnswer, "{detail}", "dlxtop asks again by itself")
)

// AMQP.
var (
	AMQPIsHTTP = of(Unreachable, "{at} speaks HTTP, not AMQP",
		"give the AMQP port (5672 by default) in --url, and the management port in --api")
	AMQPOther = of(Unreachable, "{at} does not speak AMQP 0-9-1",
		"give RabbitMQ's AMQP port (5672 by default) in --url")
	AMQPSilent = of(Unreachable, "{at} accepted the connection and then said nothing for {detail}",
		"check that it is RabbitMQ's AMQP port, and whether the broker is overloaded")
	AMQPHungUp = of(Unreachable, "{at} closed the connection without a word",
		"check that it is RabbitMQ's AMQP port (5672 by default; amqps:// for 5671)")
	AMQPEnded = of(Unreachable, "{at} ended the connection while it was made: {detail}",
		"try again, and check the broker's log")
	AMQPNoHost   = of(Unreachable, noHost, "check the name in --url")
	AMQPNoLookup = of(Unreachable, "the host name {name} could not be looked up ({detail})",
		"check the network and the name in --url")
	AMQPNothingListens = of(Unreachable, nothingListens, "start RabbitMQ there, or name another broker with --url")
	AMQPSlow           = of(Unreachable, "{at} did not answer within {detail}", "check host, port and firewall")
	AMQPNotReached     = of(Unreachable, notReached, "check host, port and network")
	AMQPNoHostAnswers  = of(Unreachable, noHostAnswers, "check hosts, ports and network")
	AMQPWantsTLS       = of(TLSMismatch, wantsTLS, "use amqps:// in --url")
	AMQPWithoutTLS     = of(TLSMismatch, withoutTLS,
		"use amqp:// in --url, or the broker's TLS port (5671 by default)")
	AMQPHandshake = of(TLSMismatch, "{at} ended the TLS handshake ({detail})",
		"check whether it wants a client certificate (certfile=… and keyfile=… in the URL)")
	AMQPNoAuthority = of(TLSMismatch, noAuthority, "give the authority's certificate (cacertfile=PATH in --url)")
	AMQPOtherName   = of(TLSMismatch, otherName,
		"use the name that the certificate has in --url, or give it as server_name_indication=NAME there")
	AMQPNoMechanism = of(BadCredentials, "{at} does not offer the mechanism {name} (auth_mechanism in --url)",
		"enable it there (EXTERNAL is the plugin rabbitmq_auth_mechanism_ssl, and listed in auth_mechanisms), or log in "+
			"with a password")
	AMQPNoPassword = of(BadCredentials, "{at} offers no way to log in with a password",
		"ask for auth_mechanism=external in the URL if it wants a client certificate")
	AMQPRefusesLogin = of(BadCredentials, "{at} refused the user {user}: wrong user or password",
		"check user and password in --url")
	AMQPRefusesGuest = of(BadCredentials, "{at} refused the user {user}: wrong user or password",
		"check user and password in --url; RabbitMQ lets guest in from its own machine only")
	AMQPNoVHost = of(NoSuchVHost, "there is no vhost {vhost} on {at}",
		"check the vhost in --url or --vhost (the default one is /)")
	AMQPWithoutVHost = of(NotAllowed, "the user {user} may not enter the vhost {vhost}",
		"grant it (rabbitmqctl set_permissions), or use another user or vhost")
	AMQPLoginClosed = of(Unreachable, "{at} closed the connection while the user {user} logged in",
		"check the broker's log")
	AMQPVHostClosed = of(Unreachable, "{at} closed the connection while the vhost {vhost} was opened",
		"check the broker's log")
	AMQPMayNotRead = of(NotAllowed, "the user may not read it ({detail})",
		"grant read permission on it (rabbitmqctl set_permissions), or use another user")
	AMQPMayNotTap = of(NotAllowed, "the user {user} may not tap: it may not {name} ({detail})",
		`grant it configure, write and read on ^dlxtop\.tap-, and read on the exchange `+"(rabbitmqctl set_permissions), "+
			"or use another user")
)

// Limits of connections and channels; {detail} is how many are allowed.
var (
	ChannelsOfConnection = of(AtLimit, "the broker allows {name} for each connection (channel_max), and dlxtop "+
		"needs {detail}", "raise channel_max in its rabbitmq.conf")
	ChannelsOfUser = Trouble{
		kind:    AtLimit,
		cause:   "the user {user} may have {detail}",
		limited: "open channel",
		setting: "max-channels",
		next:    "raise max-channels of this user (rabbitmqctl set_user_limits), or close channels of this user",
	}
	ChannelsOfNode = Trouble{
		kind:    AtLimit,
		cause:   "the broker's node takes {detail}",
		limited: "open channel",
		setting: "channel_max_per_node",
		next:    "raise channel_max_per_node in its rabbitmq.conf, or close channels",
	}
	ConnectionsOfUser = Trouble{
		kind:    AtLimit,
		cause:   "the user {user} may have {detail}",
		limited: "connection",
		setting: "max-connections",
		next:    "raise max-connections of this user (rabbitmqctl set_user_limits), or close connections of this user",
	}
	ConnectionsOfVHost = Trouble{
		kind:    AtLimit,
		cause:   "the vhost {vhost} takes {detail}",
		limited: "connection",
		setting: "max-connections",
		next:    "raise max-connections of this vhost (rabbitmqctl set_vhost_limits), or close connections to it",
	}
	ConnectionsOfNode = Trouble{
		kind:    AtLimit,
		cause:   "the broker's node takes {detail}",
		limited: "connection",
		setting: "connection_max",
		next:    "raise connection_max in its rabbitmq.conf, or close connections",
	}
)

// AMQP and the management API together.
var (
	// TwoClusters has the cluster of AMQP as {name}, and that of the API as {detail}.
	TwoClusters = of(TwoBrokers, "{at} belongs to the cluster {name}, but the management API at {api} to the "+
		"cluster {detail}", "name both of one cluster, with --url and --api")
	AMQPWithoutAPI = of(NoManagement, "RabbitMQ answers at {at}, but no management API at {api}",
		"enable it there (rabbitmq-plugins enable rabbitmq_management), or name its address with --api")
	NoBroker = of(Unreachable, "no broker is configured, and no RabbitMQ answers on this machine", "name one with "+
		"--url amqp://user:password@host/vhost, DLXTOP_URL, or a context in {name}; `dlxtop demo` shows dlxtop without a "+
		"broker of your own")
)

// ButAMQPAnswers returns the API's trouble when AMQP works.
func (e *Error) ButAMQPAnswers(at string) *Error {
	other := *e
	other.Cause = "RabbitMQ answers at " + model.Printable(at) + ", but " + e.Cause
	return &other
}
