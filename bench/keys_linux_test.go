package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// keyRounds is how often the dashboard is started, and restingKeys how many keys are pressed in each while nothing is
// read.
const keyRounds, restingKeys = 3, 150

// BenchmarkKeyToFrame measures the built dashboard on a terminal: from the write of a key until the terminal shows the
// cursor in another row, while Failed reads 100,000 messages of 200 queues, and afterwards, when it rests.
func BenchmarkKeyToFrame(b *testing.B) {
	const prefix = "keys."
	fillCauses(b, prefix, func(i int) string {
		return fmt.Sprintf("TimeoutError: %s did not answer in %d ms", wordOf(i%50), i)
	})
	workersOf(b, prefix)
	for b.Loop() {
		var reading, resting []time.Duration
		for range keyRounds {
			screen := built.Open(b, built.ToNode()...)
			screen.WaitFor("FLOW", prefix)
			screen.Press("3")
			screen.WaitFor("reading "+prefix, "TimeoutError")
			reading = append(reading, keysWhile(b, screen, func(int) bool {
				return strings.Contains(screen.Text(), "reading "+prefix)
			})...)
			screen.WaitFor("   100,000 read")
			resting = append(resting, keysWhile(b, screen, func(n int) bool { return n < restingKeys })...)
			screen.Press("\x03")
			screen.WaitForEnd(0)
		}
		reportKeys(b, "reading", reading)
		reportKeys(b, "resting", resting)
	}
	b.ReportMetric(0, "ns/op")
}

func reportKeys(b *testing.B, when string, times []time.Duration) {
	b.Helper()
	must.That(b, len(times) >= 100, "%s: only %d keys were pressed", when, len(times))
	slices.Sort(times)
	at := func(hundredths int) float64 {
		return float64(times[(len(times)-1)*hundredths/100].Microseconds()) / 1000
	}
	b.Logf("%s: %d keys, %.1f ms at the median, %.1f at the 95th percentile, %.1f at the 99th, %.1f at most", when,
		len(times), at(50), at(95), at(99), at(100))
	b.ReportMetric(at(99), "ms-p99/"+when)
}

// workersOf declares the workers whose failed queues fillCauses makes.
func workersOf(b *testing.B, prefix string) {
	b.Helper()
	connection, err := dial.AMQP(built.Node.AMQP())
	must.Do(b, err)
	channel, err := connection.Channel()
	name := func(i int) string { return fmt.Sprint(prefix, i) }
	b.Cleanup(func() {
		defer connection.Close()
		for i := range benchFailedQueues {
			_, _ = channel.QueueDelete(name(i), false, false, false)
		}
	})
	for i := range benchFailedQueues {
		if err == nil {
			_, err = channel.QueueDeclare(name(i), true, false, false, false, amqp.Table{
				"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name(i) + ".failed",
			})
		}
	}
	must.Do(b, err)
}

// keysWhile moves the cursor of a list down and up among its first rows while something holds of the number of keys so
// far, and returns how long each took until the cursor was drawn elsewhere.
func keysWhile(b *testing.B, s *built.Terminal, holds func(n int) bool) (times []time.Duration) {
	b.Helper()
	cursorRow := func() int { return s.Row(1, "▸") }
	const rows = 8
	for holds(len(times)) {
		key := "j"
		if len(times)/rows%2 == 1 {
			key = "k"
		}
		from, began := cursorRow(), time.Now()
		s.Press(key)
		for cursorRow() == from {
			must.That(b, time.Since(began) <= built.Patience, "the cursor stays in line %d", from)
			time.Sleep(100 * time.Microsecond)
		}
		times = append(times, time.Since(began))
		time.Sleep(10*time.Millisecond + rand.N(20*time.Millisecond)) // not in step with the frames
	}
	return times
}
