// Package raw speaks AMQP 0-9-1 without a client library: tests see bytes that one hides, benchmarks save its work.
package raw

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
)

// FrameHead is the size of what precedes a frame's payload: kind, channel, size.
const FrameHead = 7

// The kinds of frames.
const (
	MethodFrame = 1
	HeaderFrame = 2
	BodyFrame   = 3
)

// Link is one channel on one connection of guest.
type Link struct {
	net.Conn
	In   *bufio.Reader
	Out  *bufio.Writer
	held []byte // the frame that was read last
}

// Open connects to a node, and opens the channel.
func Open(address string) (*Link, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	const buffered = 128 << 10
	l := &Link{Conn: conn, In: bufio.NewReaderSize(conn, buffered), Out: bufio.NewWriterSize(conn, buffered)}
	if _, err := l.Out.WriteString("AMQP\x00\x00\x09\x01"); err != nil {
		return nil, err
	}
	const (
		start, startOk = 10<<16 | 10, 10<<16 | 11
		tune, tuneOk   = 10<<16 | 30, 10<<16 | 31
		open, openOk   = 10<<16 | 40, 10<<16 | 41
		channelOpen    = 20<<16 | 10
		channelOk      = 20<<16 | 11
	)

	if err := l.Await(start); err != nil {
		return nil, err
	}
	l.method(0, startOk, Long(""), Short("PLAIN"), Long("\x00guest\x00guest"), Short("en_US"))
	if err := l.Await(tune); err != nil {
		return nil, err
	}
	l.method(0, tuneOk, []byte{0, 10, 0, 2, 0, 0, 0, 0}) // 10 channels, frames of 128 KiB, no heartbeats
	l.method(0, open, Short("/"), Short(""), []byte{0})
	if err := l.Await(openOk); err != nil {
		return nil, err
	}

	return l, l.Call(channelOk, channelOpen, Short(""))
}

// Call writes a method, and reads until its answer arrives.
func (l *Link) Call(answer, method uint32, arguments ...[]byte) error {
	l.Method(method, arguments...)
	return l.Await(answer)
}

// Await flushes and reads until the method arrives.
func (l *Link) Await(method uint32) error {
	if err := l.Out.Flush(); err != nil {
		return err
	}
	for {
		frame, err := l.Frame()
		if err != nil {
			return fmt.Errorf("waiting for method %x: %w", method, err)
		}
		if MethodOf(frame) == method {
			return nil
		}
	}
}

// Frame reads a frame, from its kind to its end. It is valid until the next read.
func (l *Link) Frame() ([]byte, error) {
	head, err := l.In.Peek(FrameHead)
	if err != nil {
		return nil, err
	}
	size := FrameHead + int(binary.BigEndian.Uint32(head[3:])) + 1
	if cap(l.held) < size {
		l.held = make([]byte, size)
	}

	l.held = l.held[:size]
	_, err = io.ReadFull(l.In, l.held)
	return l.held, err
}

// Method writes a method, class and method in one number; the next flush reports a failed write.
func (l *Link) Method(method uint32, arguments ...[]byte) { l.method(1, method, arguments...) }

func (l *Link) method(channel byte, method uint32, arguments ...[]byte) {
	frame := MethodFrameOf(method, arguments...)
	frame[2] = channel
	_, _ = l.Out.Write(frame)
}

// MethodFrameOf returns the frame of a method on the channel.
func MethodFrameOf(method uint32, arguments ...[]byte) []byte {
	return FrameOf(MethodFrame, binary.BigEndian.AppendUint32(nil, method), bytes.Join(arguments, nil))
}

// FrameOf returns a frame on the channel with a payload.
func FrameOf(kind byte, payload ...[]byte) []byte {
	all := bytes.Join(payload, nil)
	const end = 0xCE
	return append(append(binary.BigEndian.AppendUint32([]byte{kind, 0, 1}, uint32(len(all))), all...), end)
}

// Payload returns what a frame has between its head and its end.
func Payload(frame []byte) []byte { return frame[FrameHead : len(frame)-1] }

// MethodOf returns the method of a frame, or 0 when it has none.
func MethodOf(frame []byte) uint32 {
	if frame[0] != MethodFrame {
		return 0
	}
	return binary.BigEndian.Uint32(frame[FrameHead:])
}

// Short returns a short string.
func Short(s string) []byte { return append([]byte{byte(len(s))}, s...) }

// Long returns a long string.
func Long(s string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...) }
