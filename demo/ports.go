package demo

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the ranges that Linux (from 32768) and macOS (from 49152) give to outgoing connections, so
// that none is taken between here and the node's boot, or while a node is halted.
const (
	firstPort = 20000
	lastPort  = 31999
)

// freePorts returns n different TCP ports that nothing listens on at 127.0.0.1.
func freePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()
	var last error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}
		held = append(held, listener)
		ports = append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("no %d free ports on 127.0.0.1", n), last)
}
