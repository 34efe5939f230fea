package trouble

import (
	_ "embed" // the words
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model"
)

// Trouble is one way in which a broker cannot be reached; words.toml has its sentences under its name.
type Trouble string

// Values fill the placeholders of a trouble's sentences. They need not be printable, and hold no password.
type Values struct{ At, API, User, VHost, Name, Detail string }

// words are the sentences of a trouble.
type words struct {
	Kind        Kind
	Cause, Next string

	Limited, Setting string // for a limit: what it counts, and where it is set; {detail} is then how many it allows
}

//go:embed words.toml
var wordsFile string

var wordsOf = sync.OnceValue(func() (all map[Trouble]words) {
	if _, err := toml.Decode(wordsFile, &all); err != nil {
		panic(err)
	}
	return all
})

// With returns the trouble as an error.
func (t Trouble) With(v Values) *Error {
	w := wordsOf()[t]
	if w.Limited != "" {
		v.Detail = w.allowed(v.Detail)
	}
	fill := strings.NewReplacer("{at}", model.Printable(v.At), "{api}", model.Printable(v.API),
		"{user}", model.Printable(v.User), "{vhost}", model.Printable(v.VHost),
		"{name}", model.Printable(v.Name), "{detail}", model.Printable(v.Detail))
	return &Error{Kind: w.Kind, Cause: fill.Replace(w.Cause), Next: fill.Replace(w.Next)}
}

// allowed returns how many the limit allows: "1 connection (max-connections), and it is in use".
func (w words) allowed(number string) string {
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return number + " " + w.Limited + "s (" + w.Setting + "), and all are in use"
	case n == 0:
		return "no " + w.Limited + " (" + w.Setting + " is 0)"
	case n == 1:
		return "1 " + w.Limited + " (" + w.Setting + "), and it is in use"
	}

	return model.Plural(n, w.Limited) + " (" + w.Setting + "), and all are in use"
}

// Troubles of both AMQP and the management API.
const (
	CertificateExpired   Trouble = "CertificateExpired"
	CertificateUntrusted Trouble = "CertificateUntrusted"
	LeadsElsewhere       Trouble = "LeadsElsewhere"
)

// The management API.
const (
	APIWantsLogin       Trouble = "APIWantsLogin"
	APIRefusesLogin     Trouble = "APIRefusesLogin"
	APIHidesVHost       Trouble = "APIHidesVHost"
	APINotHere          Trouble = "APINotHere"
	APIAnswersOtherwise Trouble = "APIAnswersOtherwise"
	APIRedirects        Trouble = "APIRedirects"
	APIWithoutTag       Trouble = "APIWithoutTag"
	APILocalOnly        Trouble = "APILocalOnly"
	APIWithoutVHost     Trouble = "APIWithoutVHost"
	APIWithoutAnyVHost  Trouble = "APIWithoutAnyVHost"
	APINotAllowed       Trouble = "APINotAllowed"
	APIIsAMQP           Trouble = "APIIsAMQP"
	APIWantsTLS         Trouble = "APIWantsTLS"
	APIWithoutTLS       Trouble = "APIWithoutTLS"
	APINoHTTP           Trouble = "APINoHTTP"
	APINoAuthority      Trouble = "APINoAuthority"
	APIOtherName        Trouble = "APIOtherName"
	APIHandshake        Trouble = "APIHandshake"
	APIEndless          Trouble = "APIEndless"
	APIOtherJSON        Trouble = "APIOtherJSON"
	APINoHost           Trouble = "APINoHost"
	APINoLookup         Trouble = "APINoLookup"
	APINothingListens   Trouble = "APINothingListens"
	APINotReached       Trouble = "APINotReached"
	APINoHostAnswers    Trouble = "APINoHostAnswers"
	APIBrokeOff         Trouble = "APIBrokeOff"
	APIHungUp           Trouble = "APIHungUp"
	APISilent           Trouble = "APISilent"
	APISlow             Trouble = "APISlow"
	APILate             Trouble = "APILate"
	PollLate            Trouble = "PollLate"
	PollFailed          Trouble = "PollFailed"
)

// AMQP.
const (
	AMQPIsHTTP         Trouble = "AMQPIsHTTP"
	AMQPOther          Trouble = "AMQPOther"
	AMQPSilent         Trouble = "AMQPSilent"
	AMQPHungUp         Trouble = "AMQPHungUp"
	AMQPEnded          Trouble = "AMQPEnded"
	AMQPNoHost         Trouble = "AMQPNoHost"
	AMQPNoLookup       Trouble = "AMQPNoLookup"
	AMQPNothingListens Trouble = "AMQPNothingListens"
	AMQPSlow           Trouble = "AMQPSlow"
	AMQPNotReached     Trouble = "AMQPNotReached"
	AMQPNoHostAnswers  Trouble = "AMQPNoHostAnswers"
	AMQPWantsTLS       Trouble = "AMQPWantsTLS"
	AMQPWithoutTLS     Trouble = "AMQPWithoutTLS"
	AMQPHandshake      Trouble = "AMQPHandshake"
	AMQPNoAuthority    Trouble = "AMQPNoAuthority"
	AMQPOtherName      Trouble = "AMQPOtherName"
	AMQPNoMechanism    Trouble = "AMQPNoMechanism"
	AMQPNoPassword     Trouble = "AMQPNoPassword"
	AMQPRefusesLogin   Trouble = "AMQPRefusesLogin"
	AMQPRefusesGuest   Trouble = "AMQPRefusesGuest"
	AMQPNoVHost        Trouble = "AMQPNoVHost"
	AMQPWithoutVHost   Trouble = "AMQPWithoutVHost"
	AMQPLoginClosed    Trouble = "AMQPLoginClosed"
	AMQPVHostClosed    Trouble = "AMQPVHostClosed"
	AMQPMayNotRead     Trouble = "AMQPMayNotRead"
	AMQPMayNotTap      Trouble = "AMQPMayNotTap"
)

// Limits of connections and channels.
const (
	ChannelsOfConnection Trouble = "ChannelsOfConnection"
	ChannelsOfUser       Trouble = "ChannelsOfUser"
	ChannelsOfNode       Trouble = "ChannelsOfNode"
	ConnectionsOfUser    Trouble = "ConnectionsOfUser"
	ConnectionsOfVHost   Trouble = "ConnectionsOfVHost"
	ConnectionsOfNode    Trouble = "ConnectionsOfNode"
)

// AMQP and the management API together.
const (
	TwoClusters    Trouble = "TwoClusters"
	AMQPWithoutAPI Trouble = "AMQPWithoutAPI"
	NoBroker       Trouble = "NoBroker"
)

// ButAMQPAnswers returns the API's trouble when AMQP works.
func (e *Error) ButAMQPAnswers(at string) *Error {
	other := *e
	other.Cause = "RabbitMQ answers at " + model.Printable(at) + ", but " + e.Cause
	return &other
}
