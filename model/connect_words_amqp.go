package model

// AMQP.
var (
	AMQPIsHTTP = ConnectTrouble{
		kind: Unreachable, cause: "{at} speaks HTTP, not AMQP",
		next: "give the AMQP port (5672 by default) in --url, and the management port in --api",
	}
	AMQPOther = ConnectTrouble{
		kind: Unreachable, cause: "{at} does not speak AMQP 0-9-1",
		next: "give RabbitMQ's AMQP port (5672 by default) in --url",
	}
	AMQPSilent = ConnectTrouble{
		kind: Unreachable, cause: "{at} accepted the connection and then said nothing for {detail}",
		next: "check that it is RabbitMQ's AMQP port, and whether the broker is overloaded",
	}
	AMQPHungUp = ConnectTrouble{
		kind: Unreachable, cause: "{at} closed the connection without a word",
		next: "check that it is RabbitMQ's AMQP port (5672 by default; amqps:// for 5671)",
	}
	AMQPEnded = ConnectTrouble{
		kind: Unreachable, cause: "{at} ended the connection while it was made: {detail}",
		next: "try again, and check the broker's log",
	}
	AMQPNoHost   = ConnectTrouble{kind: Unreachable, cause: noHost, next: "check the name in --url"}
	AMQPNoLookup = ConnectTrouble{
		kind: Unreachable, cause: "the host name {name} could not be looked up ({detail})",
		next: "check the network and the name in --url",
	}
	AMQPNothingListens = ConnectTrouble{
		kind: Unreachable, cause: nothingListens, next: "start RabbitMQ there, or name another broker with --url",
	}
	AMQPNothingHere = ConnectTrouble{
		kind: Unreachable, cause: nothingListens,
		next: "start RabbitMQ, or name a broker with --url; `dlxtop demo` shows dlxtop on a throwaway broker",
	}
	AMQPSlow = ConnectTrouble{
		kind: Unreachable, cause: "{at} did not answer within {detail}", next: "check host, port and firewall",
	}
	AMQPNotReached = ConnectTrouble{kind: Unreachable, cause: notReached, next: "check host, port and network"}
	AMQPWantsTLS   = ConnectTrouble{kind: TLSMismatch, cause: wantsTLS, next: "use amqps:// in --url"}
	AMQPWithoutTLS = ConnectTrouble{
		kind: TLSMismatch, cause: withoutTLS,
		next: "use amqp:// in --url, or the broker's TLS port (5671 by default)",
	}
	AMQPHandshake = ConnectTrouble{
		kind: TLSMismatch, cause: "{at} ended the TLS handshake ({detail})",
		next: "check whether it wants a client certificate (certfile=… and keyfile=… in the URL)",
	}
	AMQPNoAuthority = ConnectTrouble{
		kind: TLSMismatch, cause: noAuthority, next: "give the authority's certificate (cacertfile=PATH in --url)",
	}
	AMQPOtherName = ConnectTrouble{
		kind: TLSMismatch, cause: otherName,
		next: "use the name that the certificate has in --url, or give it as server_name_indication=NAME there",
	}
	AMQPNoMechanism = ConnectTrouble{
		kind: BadCredentials, cause: "{at} does not offer the mechanism {name} (auth_mechanism in --url)",
		next: "enable it there (EXTERNAL is the plugin rabbitmq_auth_mechanism_ssl, and listed in auth_mechanisms), " +
			"or log in with a password",
	}
	AMQPNoPassword = ConnectTrouble{
		kind: BadCredentials, cause: "{at} offers no way to log in with a password",
		next: "ask for auth_mechanism=external in the URL if it wants a client certificate",
	}
	AMQPRefusesLogin = ConnectTrouble{
		kind: BadCredentials, cause: "{at} refused the user {user}: wrong user or password",
		next: "check user and password in --url",
	}
	AMQPRefusesGuest = ConnectTrouble{
		kind: BadCredentials, cause: "{at} refused the user {user}: wrong user or password",
		next: "check user and password in --url; RabbitMQ lets guest in from its own machine only",
	}
	AMQPNoVHost = ConnectTrouble{
		kind: NoSuchVHost, cause: "there is no vhost {vhost} on {at}",
		next: "check the vhost in --url or --vhost (the default one is /)",
	}
	AMQPWithoutVHost = ConnectTrouble{
		kind: NotAllowed, cause: "the user {user} may not enter the vhost {vhost}",
		next: "grant it (rabbitmqctl set_permissions), or use another user or vhost",
	}
	AMQPLoginClosed = ConnectTrouble{
		kind: Unreachable, cause: "{at} closed the connection while the user {user} logged in",
		next: "check the broker's log",
	}
	AMQPVHostClosed = ConnectTrouble{
		kind: Unreachable, cause: "{at} closed the connection while the vhost {vhost} was opened",
		next: "check the broker's log",
	}
	AMQPMayNotRead = ConnectTrouble{
		kind: NotAllowed, cause: "the user may not read it ({detail})",
		next: "grant read permission on it (rabbitmqctl set_permissions), or use another user",
	}
	AMQPMayNotTap = ConnectTrouble{
		kind: NotAllowed, cause: "the user {user} may not tap: it may not {name} ({detail})",
		next: `grant it configure, write and read on ^dlxtop\.tap-, and read on the exchange ` +
			"(rabbitmqctl set_permissions), or use another user",
	}
)

// Limits of connections and channels; {detail} is how many are allowed.
var (
	ChannelsOfConnection = ConnectTrouble{
		kind: AtLimit, next: "raise channel_max in its rabbitmq.conf",
		cause: "the broker allows {name} for each connection (channel_max), and dlxtop needs {detail}",
	}
	ChannelsOfUser = ConnectTrouble{
		kind: AtLimit, cause: "the user {user} may have {detail}", limited: "open channel", setting: "max-channels",
		next: "raise max-channels of this user (rabbitmqctl set_user_limits), or close channels of this user",
	}
	ChannelsOfNode = ConnectTrouble{
		kind: AtLimit, cause: "the broker's node takes {detail}", limited: "open channel",
		setting: "channel_max_per_node",
		next:    "raise channel_max_per_node in its rabbitmq.conf, or close channels",
	}
	ConnectionsOfUser = ConnectTrouble{
		kind: AtLimit, cause: "the user {user} may have {detail}", limited: "connection", setting: "max-connections",
		next: "raise max-connections of this user (rabbitmqctl set_user_limits), or close connections of this user",
	}
	ConnectionsOfVHost = ConnectTrouble{
		kind: AtLimit, cause: "the vhost {vhost} takes {detail}", limited: "connection", setting: "max-connections",
		next: "raise max-connections of this vhost (rabbitmqctl set_vhost_limits), or close connections to it",
	}
	ConnectionsOfNode = ConnectTrouble{
		kind: AtLimit, cause: "the broker's node takes {detail}", limited: "connection", setting: "connection_max",
		next: "raise connection_max in its rabbitmq.conf, or close connections",
	}
)

// AMQP and the management API together.
var (
	// TwoClusters names the cluster of AMQP, and as {detail} that of the API.
	TwoClusters = ConnectTrouble{
		kind: TwoBrokers, cause: "{at} belongs to the cluster {name}, but the management API at {api} to the cluster " +
			"{detail}",
		next: "name both of one cluster, with --url and --api",
	}
	AMQPWithoutAPI = ConnectTrouble{
		kind: NoManagement, cause: "RabbitMQ answers at {at}, but no management API at {api}",
		next: "enable it there (rabbitmq-plugins enable rabbitmq_management), or name its address with --api",
	}
	NoBroker = ConnectTrouble{
		kind: Unreachable, cause: "no broker is configured, and no RabbitMQ answers on this machine",
		next: "name one with --url amqp://user:password@host/vhost, DLXTOP_URL, or a context in {name}; `dlxtop demo` " +
			"shows dlxtop without a broker of your own",
	}
)

// ButAMQPAnswers is the API's trouble where AMQP has none.
func (e *ConnectError) ButAMQPAnswers(at string) *ConnectError {
	return &ConnectError{Kind: e.Kind, Cause: "RabbitMQ answers at " + Printable(at) + ", but " + e.Cause, Next: e.Next}
}
