package link

import (
	"context"
	"errors"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// ChannelsNeeded is how many channels a connection needs at most when few are allowed: two to look, one to count.
const ChannelsNeeded = 3

// limitPauses are the pauses between attempts when a limit of connections or channels is reached: one that dlxtop, or a
// previous dlxtop, has just closed still counts for 3 to 26 ms (3.10.8, 4.0.5, 4.3.6). Without pauses a broker may
// never count down (3.10.8).
var limitPauses = []time.Duration{
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
}

// limitReached returns what a user can do about the limit of connections or channels in err; nil for any other error.
// channelMax is what the connection negotiated with the broker.
func limitReached(err error, user, vhost string, channelMax int) *trouble.Error {
	var e *amqp.Error
	switch {
	case !errors.As(err, &e):
		return nil
	case e == amqp.ErrChannelMax:
		return trouble.ChannelsOfConnection.With(trouble.Values{
			Name: model.Plural(channelMax, "channel"), Detail: strconv.Itoa(ChannelsNeeded),
		})
	}

	if limit, number := reasonOf(onLimit, err); limit != UnknownReason {
		return trouble.Trouble(limit).With(trouble.Values{User: user, VHost: vhost, Detail: number[0]})
	}

	return nil
}

// IsLimit reports whether err is a limit of connections or channels.
func IsLimit(err error) bool {
	var e *trouble.Error
	return errors.As(err, &e) && e.Kind == trouble.AtLimit
}

// channelLimit means that a channel exceeds a limit. RabbitMQ has then closed its connection, unless the limit is that
// of the connection itself (3.10.8, 4.0.5, 4.3.6).
type channelLimit struct{ error }

func (e channelLimit) Unwrap() error { return e.error }

func IsChannelLimit(err error) bool { return errors.As(err, &channelLimit{}) }

// Patiently tries again, for less than a second, while a limit is reached. When ctx ends during an attempt, the error
// is the limit that made it necessary.
func Patiently(ctx context.Context, inTheWay func(error) bool, try func() error) error {
	err := try()
	for _, pause := range limitPauses {
		if !inTheWay(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}

		again := try()
		if again != nil && ctx.Err() != nil {
			return err
		}
		err = again
	}

	return err
}
