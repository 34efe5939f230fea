package config

import (
	"cmp"
	"crypto/tls"

	"github.com/dlxtop/dlxtop/model"
)

// Connection says which broker, as whom, and what may be done there.
type Connection struct {
	Name        string // for people: the context's name, else host:port
	AMQP        string // amqp(s)://user:password@host:port
	API         string // http(s)://host:port, without credentials
	User        string // of the management API
	Password    string
	VHost       string // the only vhost to look at; "" is every one that the user sees
	ReadOnly    bool
	Production  bool
	TLS         *tls.Config // of AMQP; nil: the system's defaults
	APITLS      *tls.Config // of the management API: the same, but for its own host's name
	NoJournal   bool        // what is done is not kept
	FullJournal bool        // replayed messages are kept completely
	JournalDir  string      // "" is the user's own
	APIOnly     bool        // only the management API was named: AMQP is where it usually is
	Guessed     bool        // nothing was configured: it is the broker on this machine, if there is one
	Warning     string      // of the configuration file; "" when there is none
}

// String is the connection's name: a connection holds a password, and is printed without it.
func (c Connection) String() string { return c.Name }

// GoString is String too.
func (c Connection) GoString() string { return c.Name }

// Address is the broker's host:port.
func (c Connection) Address() string {
	e, err := parseAMQP("the URL", c.AMQP)
	if err != nil {
		return c.Name
	}
	return e.address()
}

// Flags are what the command line says of the connection.
type Flags struct {
	URL, API, Context   string // "" says nothing
	VHost               model.Opt[string]
	ReadOnly, NoJournal bool
}

// Connection finds the connection. The first of these that says something wins: --url or --api (with --context: that
// context's broker, seen through this --api), --context, the DLXTOP_ variables, AMQP_URL, RABBITMQ_URL, this machine.
// What is named together belongs together: --api alone never borrows the broker of an environment variable, for then
// one broker would be looked at and another one acted on.
func (f Flags) Connection(env func(string) string) (Connection, error) {
	s := settings{url: f.URL, api: f.API, urlFrom: "--url", apiFrom: "--api"}
	switch {
	case f.Context != "":
		context, err := loadContext(env, f.Context)
		if err != nil {
			return Connection{}, err
		}
		s = s.over(context)
	case f.URL == "" && f.API == "":
		var err error
		if s, err = environment(env); err != nil {
			return Connection{}, err
		}
	}
	s.readOnly = s.readOnly || f.ReadOnly
	s.vhost = cmp.Or(f.VHost, s.vhost)
	c, err := s.connection()
	c.NoJournal = f.NoJournal
	return c, err
}

// environment reads what the environment says; the zero settings when it says nothing.
func environment(env func(string) string) (settings, error) {
	own := settings{url: env("DLXTOP_URL"), api: env("DLXTOP_API"), urlFrom: "DLXTOP_URL", apiFrom: "DLXTOP_API"}
	if name := env("DLXTOP_CONTEXT"); name != "" && own.url == "" {
		context, err := loadContext(env, name)
		if err != nil {
			return settings{}, err
		}
		return own.over(context), nil
	}
	if own.url != "" || own.api != "" {
		return own, nil
	}
	for _, name := range []string{"AMQP_URL", "RABBITMQ_URL"} {
		if value := env(name); value != "" {
			return settings{url: value, urlFrom: name}, nil
		}
	}
	return settings{}, nil
}

// settings are a connection as it was written down.
type settings struct {
	name                 string
	url, api             string
	urlFrom, apiFrom     string            // where they were written, for errors
	vhost                model.Opt[string] // unknown: the URL's
	readOnly, production bool
	full                 bool   // of the journal
	warning              string // of the configuration file
}

// over lays settings over those of a context. Another broker than the context's takes nothing from it but its caution.
func (s settings) over(context settings) settings {
	s.warning = context.warning
	if s.url != "" {
		s.readOnly, s.production, s.full = context.readOnly, context.production, context.full
		return s
	}
	if s.api != "" {
		context.api, context.apiFrom = s.api, s.apiFrom
	}
	return context
}

// connection works out the halves that were not written down.
func (s settings) connection() (Connection, error) {
	var broker, api endpoint
	var err error
	guessed := s.url == "" && s.api == ""
	if s.url != "" || guessed {
		if broker, err = parseAMQP(s.urlFrom, cmp.Or(s.url, "amqp://localhost")); err != nil {
			return Connection{}, err
		}
		api = broker.apiBeside()
	}
	if s.api != "" {
		if api, err = parseAPI(s.apiFrom, s.api); err != nil {
			return Connection{}, err
		}
		if s.url == "" {
			broker = api.amqpBeside()
		}
	}
	secured, err := tlsOf(s.urlFrom, broker)
	if err != nil {
		return Connection{}, err
	}
	share(&broker, &api)
	share(&api, &broker)
	return Connection{
		Name: cmp.Or(s.name, broker.address()),
		AMQP: broker.amqpURL(), API: api.apiURL(), User: api.user, Password: api.password,
		VHost: s.vhost.Or(broker.vhost), ReadOnly: s.readOnly, Production: s.production, TLS: secured,
		APITLS: withoutServerName(secured), Guessed: guessed, APIOnly: s.url == "" && s.api != "",
		FullJournal: s.full, Warning: s.warning,
	}, nil
}

// share gives one endpoint the other's credentials when it has none; RabbitMQ's own when neither has.
func share(to, from *endpoint) {
	if to.named {
		return
	}
	to.user, to.password, to.named = "guest", "guest", false
	if from.named {
		to.user, to.password, to.named = from.user, from.password, true
	}
}
