// Machinery is an application on Machinery: a worker of a task that is retried after a delay, which its AMQP broker
// implements with queues that expire.
//
//	machinery version
//	machinery setup    declares nothing: the worker does
//	machinery send N   sends tasks 0 to N-1; a first retry comes after 233 s, or, with SOON=1, after 13 s
//	machinery work     handles tasks until it is ended: all fail, or, with OK=1, all succeed
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/RichardKnop/machinery/v2"
	results "github.com/RichardKnop/machinery/v2/backends/null"
	"github.com/RichardKnop/machinery/v2/brokers/amqp"
	"github.com/RichardKnop/machinery/v2/config"
	"github.com/RichardKnop/machinery/v2/locks/eager"
	"github.com/RichardKnop/machinery/v2/tasks"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	settings := &config.Config{
		Broker: os.Getenv("AMQP_URL"), DefaultQueue: "machinery_tasks",
		AMQP: &config.AMQPConfig{
			Exchange: "machinery_exchange", ExchangeType: "direct", BindingKey: "machinery_tasks", PrefetchCount: 1,
		},
	}

	server := machinery.NewServer(settings, amqp.New(settings), results.New(), eager.New())

	switch args[0] {
	case "version":
		return version()
	case "setup":
		return nil
	case "send":
		n, err := strconv.ParseInt(args[1], 10, 64)
		timeout := 144 // Machinery uses the next Fibonacci number
		if os.Getenv("SOON") != "" {
			timeout = 8
		}
		for i := int64(0); i < n && err == nil; i++ {
			_, err = server.SendTask(&tasks.Signature{
				Name: "ship", RetryCount: 3, RetryTimeout: timeout, Args: []tasks.Arg{{Type: "int64", Value: i}},
			})
		}

		return err
	}

	if err := server.RegisterTask("ship", ship); err != nil {
		return err
	}

	return server.NewWorker("shipper", 1).Launch()
}

func ship(order int64) error {
	if os.Getenv("OK") == "" {
		fmt.Println("FAILED", strconv.FormatInt(order, 10))
		return errors.New("carrier 503")
	}
	fmt.Println("PROCESSED", order)
	return nil
}

func version() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("built without module information")
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/RichardKnop/machinery/v2" {
			fmt.Println("machinery", module.Version[1:])
		}
	}

	return nil
}
