package bench

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/built"
)

// TestMain builds dlxtop and starts a broker only where a benchmark or a test is asked for: there is none of its own in
// the tests of all packages.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String()+flag.Lookup("test.run").Value.String() == "" {
		os.Exit(0)
	}
	os.Exit(built.Main(m, "-trimpath"))
}

// BenchmarkStart measures from the start of the program until the first flow stands on the screen, on a broker on this
// machine.
func BenchmarkStart(b *testing.B) {
	built.Scenario(b)
	var took time.Duration
	rounds := 0
	for b.Loop() {
		for range 10 {
			start := time.Now()
			screen := built.Open(b, built.ToNode()...)
			screen.WaitFor("ucenter@user", "retry 30s")
			took += time.Since(start)
			rounds++
			screen.Press("\x03")
			screen.WaitForEnd(0)
		}
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(rounds), "ms/start")
	b.ReportMetric(0, "ns/op") // the loop also waits for the program to end
	if info, err := os.Stat(built.Program); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB/binary")
	}
}
