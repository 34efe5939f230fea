package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// mostGot is the number of messages taken one by one: taking 50,000 with one HTTP API call ends in a timeout.
const mostGot = 10_000

// benchTurns is how often each mover runs; the reported figure is the median. In as many turns as there are movers,
// each takes each place once and follows each other mover once, because what ran before matters.
const benchTurns = 6

var loads = []struct {
	kind     string
	body     string // the size of one body, in words
	messages int
	size     int // of one body, in bytes
}{
	{"classic", "1 KiB", 50_000, 1 << 10},
	{"quorum", "1 KiB", 50_000, 1 << 10},
	{"classic", "16 KiB", 10_000, 16 << 10},
	{"quorum", "16 KiB", 10_000, 16 << 10},
}

// BenchmarkCommands measures whole commands as users type them, with the journal on, from the start of the process to
// its end. The tools that people use instead take turns with them on the same queues. Run it with
//
//	go test -bench Commands -benchtime 1x -run '^$' -v ./bench
//
// and set DLXTOP_RABBITMQ_SERVER to use another RabbitMQ. The journal grows over all turns, as a user's does.
func BenchmarkCommands(b *testing.B) {
	plugins := []string{"rabbitmq_shovel", "rabbitmq_shovel_management"}
	n := must.Get(demo.Start(b.Context(), demo.Options{Plugins: plugins}))(b)
	defer n.Stop()
	for _, load := range loads {
		b.Run(load.kind+"/"+strings.ReplaceAll(load.body, " ", ""), func(b *testing.B) {
			for b.Loop() {
				c := &bench{
					B: b, node: n, home: b.TempDir(), messages: load.messages,
					broker: brokerProcess(b, n), turns: map[string][]benchRun{},
				}
				c.measure(load.kind, load.size)
				c.report(fmt.Sprintf("%s, %s, RabbitMQ %s", load.kind, load.body, n.Version()))
			}

			b.ReportMetric(0, "ns/op")
		})
	}
}

// bench is one broker, two queues and the measurements taken with them.
type bench struct {
	*testing.B
	node          *demo.Node
	home          string
	messages      int
	channel       *amqp.Channel
	broker        int                   // its process ID
	own           time.Duration         // processor time of the commands so far
	turn, shovels int                   // so far
	names         []string              // of what was measured, in order
	turns         map[string][]benchRun // by name
}

// benchRun is one measurement: the rate per second, and the processor time per message.
type benchRun struct {
	turn        int
	speed       float64
	own, broker time.Duration
}

// The two queues.
const (
	benchFailed = "bench.failed"
	benchWorker = "bench"
)

// The clients that bound every other client: see relay and look.
const (
	least     = "the least through a socket"
	leastLook = "the least look"
)

func (c *bench) measure(kind string, size int) {
	c.channel = dial.Channel(c, c.node.AMQP())
	for _, queue := range []string{benchFailed, benchWorker} {
		dial.Queue(c, c.channel, queue, amqp.Table{"x-queue-type": kind})
		defer func() { _, _ = c.channel.QueueDelete(queue, false, false, false) }()
	}

	c.fill(size)
	exported := filepath.Join(c.home, "exported.jsonl")
	movers := c.movers()
	for c.turn = range benchTurns {
		// Every mover finds the messages as they were last published or moved: a quorum queue takes longer to redeliver
		// messages that were returned to it.
		from, to := benchFailed, benchWorker
		for place := range movers {
			m := movers[(c.turn+zigzag(place, len(movers)))%len(movers)]
			c.freshLog(kind)
			c.time(m.name, func() { m.move(from, to) })
			c.await(to)
			from, to = to, from
		}

		c.time("peek -o json", func() { c.dlxtop("peek", benchFailed, "-n", strconv.Itoa(c.messages), "-o", "json") })
		c.await(benchFailed)
		c.time(leastLook, func() { c.look(benchFailed) })
		c.await(benchFailed)
		c.time("export", func() { c.dlxtop("export", benchFailed, exported) })
		c.await(benchFailed)
		c.freshLog(kind)
		c.time("replay, behind an export", func() { c.command("replay")(benchFailed, benchWorker) })
		c.await(benchWorker)
		c.time("drop", func() { c.dlxtop("drop", benchWorker, "--yes") })
		c.time("import", func() { c.dlxtop("import", exported, "--to", "queue:"+benchFailed, "--yes") })
		c.await(benchFailed)
		must.Do(c, os.Remove(exported))
	}

	some := min(c.messages, mostGot)
	c.timeOf("the web UI's get", some, func() { getByAPI(c.B, c.node, benchFailed, some) })
	c.await(benchFailed)
	c.timeOf("a loop of basic.get", some, func() { c.getLoop(some) })
}

// freshLog makes the broker begin a new file of the log that all quorum queues share, and waits until it has finished
// with the old one. By itself the broker does that every 512 MB, which makes one move of 1 KiB messages in eight a
// third slower (seen on 3.10.8), at random.
func (c *bench) freshLog(kind string) {
	c.Helper()
	if kind != "quorum" {
		return
	}
	said, err := c.node.Control(c.Context(), "eval", "ra_log_wal:force_roll_over(ra_log_wal).")
	must.That(c, err == nil, "%v\n%s", err, said)
	const glance, rest = 200 * time.Millisecond, 0.1 // of a core
	must.Await(c, "the broker at rest", func() bool { return watch(c.B, c.broker, glance) < rest })
}

type mover struct {
	name string
	move func(from, to string)
}

// movers returns an even number of movers: after all of them, the messages are back where they were.
func (c *bench) movers() []mover {
	shovel := func(address string) func(from, to string) {
		return func(from, to string) { c.shovel(from, to, address) }
	}
	return []mover{
		{"replay", c.command("replay")},
		{"a shovel over TCP", shovel(c.node.AMQP() + "%2f")},
		{"move", c.command("move")},
		{"the web UI's move (amqp://)", shovel("amqp:///%2f")},
		{least, c.relay},
		{"replay --no-journal", c.command("replay", "--no-journal")},
	}
}

// zigzag returns 0, 1, -1, 2, -2 and so on modulo n: the distances between neighbours all differ.
func zigzag(place, n int) int {
	if place%2 == 1 {
		return place/2 + 1
	}
	return (n - place/2) % n
}

func (c *bench) command(name string, flags ...string) func(from, to string) {
	return func(from, to string) {
		c.dlxtop(append([]string{name, from, "--to", "queue:" + to, "--yes"}, flags...)...)
	}
}

func (c *bench) fill(size int) {
	var last *amqp.DeferredConfirmation
	for i := range c.messages {
		text := fmt.Sprintf(`{"id":%d,"email":"user%d@example.com","text":"`, i, i)
		body := text + strings.Repeat("x", size-len(text)-2) + `"}`
		last = must.Get(c.channel.PublishWithDeferredConfirm("", benchFailed, false, false, amqp.Publishing{
			MessageId: strconv.Itoa(i), ContentType: "application/json", DeliveryMode: 2,
			Headers: amqp.Table{"x-tenant": "acme"}, Body: []byte(body),
		}))(c)
	}

	last.Wait()
	c.await(benchFailed)
}

func (c *bench) time(name string, what func()) { c.timeOf(name, c.messages, what) }

func (c *bench) timeOf(name string, n int, what func()) {
	began := time.Now()
	own := c.own
	broker := spent(c, c.broker)
	what()
	took := time.Since(began)
	if c.turns[name] == nil {
		c.names = append(c.names, name)
	}

	c.turns[name] = append(c.turns[name], benchRun{
		turn: c.turn, speed: float64(n) / took.Seconds(), own: (c.own - own) / time.Duration(n),
		broker: (spent(c, c.broker) - broker) / time.Duration(n),
	})
}

// dlxtop runs the program with its output in a file.
func (c *bench) dlxtop(args ...string) {
	c.Helper()
	out := must.Get(os.Create(filepath.Join(c.home, "output")))(c)
	defer out.Close()
	command := built.In(c.home, append(args, "--url", c.node.AMQP()+"%2f", "--api", c.node.API())...)
	command.Stdout = out
	runs(c, command)
	c.own += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// runs runs a command, which must succeed.
func runs(b testing.TB, command *exec.Cmd) {
	b.Helper()
	var complaints bytes.Buffer
	command.Stderr = &complaints
	err := command.Run()
	must.That(b, err == nil, "%s: %v\n%s", command.Args[1], err, complaints.String())
}

func (c *bench) await(queue string) {
	c.Helper()
	must.Await(c, fmt.Sprintf("%d messages in %s", c.messages, queue), func() bool {
		return depth.Of(c, c.channel, queue) == c.messages
	})
}

// unitOf makes a benchmark unit of a name: Go's benchmarks allow no blanks in units.
var unitOf = strings.NewReplacer(" ", "-", "(", "", ")", "", ":", "", "//", "", "'", "", ",", "")

// report prints a row for each thing measured: the median rate and its spread, the median processor time per message in
// dlxtop and in the broker, and the speed relative to the others, as median and spread over the turns.
func (c *bench) report(of string) {
	rows := []string{
		"| " + of + " | messages a second | lowest and highest | dlxtop | the broker |",
		"|---|---|---|---|---|",
	}

	for _, name := range c.names {
		speeds := c.sorted(name, func(r benchRun) float64 { return r.speed })
		own := c.sorted(name, func(r benchRun) float64 { return float64(r.own.Microseconds()) })
		broker := c.sorted(name, func(r benchRun) float64 { return float64(r.broker.Microseconds()) })
		rows = append(rows, fmt.Sprintf("| %s | %.0f | %.0f, %.0f | %.0f µs | %.0f µs |", name, median(speeds), speeds[0],
			speeds[len(speeds)-1], median(own), median(broker)))
	}

	for _, pair := range [][2]string{
		{"replay", "a shovel over TCP"},
		{"replay", "the web UI's move (amqp://)"},
		{"move", "a shovel over TCP"},
		{"move", "the web UI's move (amqp://)"},
		{"replay, behind an export", "a shovel over TCP"},
		{least, "a shovel over TCP"},
		{least, "the web UI's move (amqp://)"},
		{"replay", least},
		{"peek -o json", leastLook},
		{"peek -o json", "the web UI's get"},
		{"peek -o json", "a loop of basic.get"},
	} {
		ratios := c.ratios(pair[0], pair[1])
		ratio := median(ratios)
		rows = append(rows, fmt.Sprintf("| %s / %s | %.2f | %.2f, %.2f | | |", pair[0], pair[1], ratio, ratios[0],
			ratios[len(ratios)-1]))
		c.ReportMetric(ratio, unitOf.Replace(pair[0]+"/"+pair[1]))
	}

	c.Log("\n" + strings.Join(rows, "\n"))
}

func (c *bench) sorted(name string, value func(benchRun) float64) []float64 {
	values := make([]float64, 0, benchTurns)
	for _, r := range c.turns[name] {
		values = append(values, value(r))
	}
	slices.Sort(values)
	return values
}

// median returns the median of sorted values, halfway between the middle two if their number is even.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ratios compares the speeds of two things turn by turn, because a shared machine is sometimes faster and sometimes
// slower. It returns them in ascending order. What was measured once is compared with each turn.
func (c *bench) ratios(name, other string) []float64 {
	var ratios []float64
	for _, mine := range c.turns[name] {
		for _, others := range c.turns[other] {
			if others.turn == mine.turn || len(c.turns[other]) == 1 {
				ratios = append(ratios, mine.speed/others.speed)
			}
		}
	}

	slices.Sort(ratios)
	return ratios
}

// keyRounds is how often the dashboard is started, and restingKeys how many keys are pressed in each round while
// nothing is being read.
const keyRounds, restingKeys = 3, 150

// BenchmarkKeyToFrame measures the built dashboard on a terminal: the time from writing a key until the terminal shows
// the cursor in another row, while Failed reads 100,000 messages of 200 queues, and afterwards, when it is idle.
func BenchmarkKeyToFrame(b *testing.B) {
	const prefix = "keys."
	fillCauses(b, prefix, func(i int) string {
		return fmt.Sprintf("TimeoutError: %s did not answer in %d ms", wordOf(i%50), i)
	})
	workersOf(b, prefix)

	for b.Loop() {
		var reading, resting []time.Duration
		for range keyRounds {
			screen := built.Open(b, built.ToNode()...).WaitFor("FLOW", prefix)
			screen.Press("3").WaitFor("reading "+prefix, "TimeoutError")
			reading = append(reading, keysWhile(b, screen, func(int) bool {
				return strings.Contains(screen.Text(), "reading "+prefix)
			})...)
			screen.WaitFor("   100,000 read")
			resting = append(resting, keysWhile(b, screen, func(n int) bool { return n < restingKeys })...)
			screen.Press("\x03").WaitForEnd(0)
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

// workersOf declares the workers of the failed queues that fillCauses declares.
func workersOf(b *testing.B, prefix string) {
	b.Helper()
	channel := dial.Channel(b, built.Node.AMQP())
	for i := range benchFailedQueues {
		name := fmt.Sprint(prefix, i)
		dial.Queue(b, channel, name, amqp.Table{
			"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name + ".failed",
		})
	}
}

// keysWhile moves the cursor of a list down and up among its first rows as long as holds returns true for the number of
// keys pressed so far. It returns how long each key took until the cursor was drawn in its new row.
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

// ticksPerSecond is USER_HZ, the unit of times in /proc: 100 on every Linux that Go runs on.
const ticksPerSecond = 100

func spent(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before it may contain spaces
	var ticks int
	for _, field := range fields[11:13] { // utime, stime
		ticks += must.Get(strconv.Atoi(field))(t)
	}

	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// watch returns how much of one core a process uses over a period.
func watch(t testing.TB, pid int, d time.Duration) float64 {
	t.Helper()
	return watchTwo(t, pid, pid, d)[0]
}

// watchTwo does the same for two processes.
func watchTwo(t testing.TB, a, b int, d time.Duration) [2]float64 {
	t.Helper()
	began := time.Now()
	ofA := spent(t, a)
	ofB := spent(t, b)
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}

	took := time.Since(began).Seconds()
	return [2]float64{(spent(t, a) - ofA).Seconds() / took, (spent(t, b) - ofB).Seconds() / took}
}

func brokerProcess(t testing.TB, node *demo.Node) int {
	t.Helper()
	_, port, _ := strings.Cut(strings.TrimSuffix(node.AMQP(), "/"), "@127.0.0.1:")
	want := []byte("RABBITMQ_NODE_PORT=" + port + "\x00")
	for _, path := range must.Get(filepath.Glob("/proc/[0-9]*/environ"))(t) {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environ, want) {
			continue
		}
		name, err := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		if err != nil || strings.TrimSpace(string(name)) != "beam.smp" {
			continue
		}
		return must.Get(strconv.Atoi(filepath.Base(filepath.Dir(path))))(t)
	}

	t.Fatal("the broker's process is not found: this needs a RabbitMQ that is installed")
	return 0
}
