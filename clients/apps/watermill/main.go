// Watermill is an application on the AMQP driver of Watermill: a router whose handler is tried three times, and a
// poison queue for what still fails.
//
//	watermill version
//	watermill setup    declares the queues
//	watermill send N   publishes orders 0 to N-1
//	watermill work     handles orders until it is ended: all fail, or, with OK=1, all succeed
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

const (
	topic  = "wm_orders"
	poison = "wm_poison"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	config := amqp.NewDurableQueueConfig(os.Getenv("AMQP_URL"))
	logger := watermill.NewStdLogger(false, false)
	switch args[0] {
	case "version":
		return version()
	case "setup":
		return setup(config, logger)
	case "send":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return send(config, logger, n)
	}

	return work(config, logger)
}

func version() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("built without module information")
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/ThreeDotsLabs/watermill-amqp/v3" {
			fmt.Println("watermill-amqp", module.Version[1:])
		}
	}

	return nil
}

func setup(config amqp.Config, logger watermill.LoggerAdapter) error {
	subscriber, err := amqp.NewSubscriber(config, logger)
	if err != nil {
		return err
	}
	defer subscriber.Close()
	for _, queue := range []string{topic, poison} {
		if err := subscriber.SubscribeInitialize(queue); err != nil {
			return err
		}
	}

	return nil
}

func send(config amqp.Config, logger watermill.LoggerAdapter, n int) error {
	publisher, err := amqp.NewPublisher(config, logger)
	if err != nil {
		return err
	}
	defer publisher.Close()
	for i := range n {
		order := message.NewMessage(watermill.NewUUID(), fmt.Appendf(nil, `{"order":%d}`, i))
		order.Metadata.Set("order", strconv.Itoa(i))
		if err := publisher.Publish(topic, order); err != nil {
			return err
		}
	}

	return nil
}

func work(config amqp.Config, logger watermill.LoggerAdapter) error {
	publisher, err := amqp.NewPublisher(config, logger)
	if err != nil {
		return err
	}
	defer publisher.Close()
	subscriber, err := amqp.NewSubscriber(config, logger)
	if err != nil {
		return err
	}
	router, err := message.NewRouter(message.RouterConfig{}, logger)
	if err != nil {
		return err
	}

	poisoned, err := middleware.PoisonQueue(publisher, poison)
	if err != nil {
		return err
	}
	router.AddMiddleware(poisoned, middleware.Retry{MaxRetries: 2, InitialInterval: 50 * time.Millisecond}.Middleware)
	router.AddNoPublisherHandler("ship_order", topic, subscriber, func(order *message.Message) error {
		if os.Getenv("OK") == "" {
			fmt.Println("FAILED", order.Metadata.Get("order"))
			return errors.New("carrier api: 503 service unavailable")
		}
		fmt.Println("PROCESSED", order.Metadata.Get("order"))
		return nil
	})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	return router.Run(ctx)
}
