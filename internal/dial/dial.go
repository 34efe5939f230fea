// Package dial connects tests to a node, without the code under test.
package dial

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
)

// patience is how long an overloaded machine may take to answer.
const patience = 2 * time.Minute

// AMQP connects. Heartbeats every 10 s, the default, come too late when the whole machine stalls for a while.
func AMQP(url string) (*amqp.Connection, error) {
	return amqp.DialConfig(url, amqp.Config{Heartbeat: time.Minute, Dial: amqp.DefaultDial(patience)})
}

// Channel opens a channel in confirm mode, on its own connection, which is closed at the test's end.
func Channel(t testing.TB, url string) *amqp.Channel {
	t.Helper()
	connection := must.Get(AMQP(url))(t)
	t.Cleanup(func() { connection.Close() })
	channel := must.Get(connection.Channel())(t)
	must.Do(t, channel.Confirm(false))
	return channel
}

// Publish sends messages to a queue on a channel in confirm mode, and waits until all are confirmed.
func Publish(t testing.TB, channel *amqp.Channel, queue string, messages ...amqp.Publishing) {
	t.Helper()
	confirms := make([]*amqp.DeferredConfirmation, len(messages))
	for i, m := range messages {
		confirms[i] = must.Get(channel.PublishWithDeferredConfirm("", queue, false, false, m))(t)
	}
	for _, confirm := range confirms {
		must.That(t, confirm.Wait(), "the broker did not take a message")
	}
}

// Send publishes a message on a channel in confirm mode, and reports whether the broker accepted it.
func Send(t testing.TB, channel *amqp.Channel, exchange, key string, m amqp.Publishing) (taken bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	confirm := must.Get(channel.PublishWithDeferredConfirmWithContext(ctx, exchange, key, false, false, m))(t)
	return must.Get(confirm.WaitContext(ctx))(t)
}

// Drain consumes all ready messages of a queue.
func Drain(t testing.TB, channel *amqp.Channel, queue string) (all []amqp.Delivery) {
	t.Helper()
	for {
		d, ok, err := channel.Get(queue, true)
		must.Do(t, err)
		if !ok {
			return all
		}
		all = append(all, d)
	}
}

// Work passes a queue's messages to handle on its own connection, with at most prefetch unacknowledged (0: no limit).
// It stops with the test or when end is called, which waits until handle has returned.
func Work(t testing.TB, url, queue string, prefetch int, handle func(amqp.Delivery)) (end func()) {
	t.Helper()
	connection := must.Get(AMQP(url))(t)
	channel := must.Get(connection.Channel())(t)
	must.Do(t, channel.Qos(prefetch, 0, false))
	deliveries := must.Get(channel.Consume(queue, "", false, false, false, false, nil))(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for d := range deliveries {
			handle(d)
		}
	}()

	end = func() {
		connection.Close()
		<-over
	}

	t.Cleanup(end)

	return end
}

// Queue declares a durable queue and deletes it when the test ends.
func Queue(t testing.TB, channel *amqp.Channel, name string, arguments amqp.Table) string {
	t.Helper()
	must.Get(channel.QueueDeclare(name, true, false, false, false, arguments))(t)
	t.Cleanup(func() { _, _ = channel.QueueDelete(name, false, false, false) })
	return name
}

// Serve passes the listener's connections to handle, one after the other, until the test ends. It returns the
// listener's address.
func Serve(t testing.TB, listener net.Listener, handle func(net.Conn)) string {
	t.Helper()
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn)
		}
	}()

	return listener.Addr().String()
}

// Listen listens on a port of this machine.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	return must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
}

// Silent returns an address that accepts connections and never answers.
func Silent(t testing.TB) string {
	t.Helper()
	listener := Listen(t)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// Certificate makes an untrusted certificate for names and addresses, valid for this long, and its key, both as PEM.
func Certificate(t testing.TB, validFor time.Duration, names ...string) (certificate, private []byte) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)

	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(validFor),
		IsCA: true, BasicConstraintsValid: true,
	}

	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}

	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	ofKey := must.Get(x509.MarshalECPrivateKey(key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ofKey})
}

// Unused returns an address on which nothing listens.
func Unused(t testing.TB) string {
	t.Helper()
	listener := Listen(t)
	defer listener.Close()
	return listener.Addr().String()
}
