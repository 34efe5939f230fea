package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// build builds the program as its users have it.
func build(t testing.TB, program string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-trimpath", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build dlxtop: %v\n%s", err, out)
	}
}

// BenchmarkStart measures from the start of the program until the first flow stands on the screen, on a broker on this
// machine.
func BenchmarkStart(b *testing.B) {
	program := filepath.Join(b.TempDir(), "dlxtop")
	build(b, program)
	s := newSystem(b)
	var took time.Duration
	rounds := 0
	for b.Loop() {
		for range 10 {
			start := time.Now()
			screen := openProgram(b, program, s.arguments()...)
			screen.waitFor("ucenter@user", "retry 30s")
			took += time.Since(start)
			rounds++
			screen.press("\x03")
			screen.waitForEnd(0)
		}
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(rounds), "ms/start")
	b.ReportMetric(0, "ns/op") // the loop also waits for the program to end
	if info, err := os.Stat(program); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB/binary")
	}
}
