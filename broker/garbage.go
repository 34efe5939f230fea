package broker

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/dlxtop/dlxtop/model/message"
)

// garbage is how many bytes may wait to be collected while an execution runs, where that is more than what Go allows by
// itself: as many as are in use. Each message is dozens of small allocations, most of them amqp091-go's, and a broker
// on the same machine wants the processor.
const garbage = 64 << 20

// mostGarbage is the most that Go is told, in percent of what is in use.
const mostGarbage = 400

// hugeBody is how many bytes are worth a collection of their own: the next body would come on top of them.
const hugeBody = 32 << 20

// letGo frees a body that is not needed any more.
func letGo(m *message.Message) {
	huge := len(m.Body) >= hugeBody
	if m.DropBody(); huge {
		debug.FreeOSMemory()
	}
}

// collector sets how often the garbage collector runs: one for the program, as that is a setting of the program.
var collector struct {
	sync.Mutex
	executions int
	before     int // the setting without any
}

// collectSeldom lets the garbage collector run less often until it is undone.
func collectSeldom() (undo func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.executions++; collector.executions == 1 {
		collector.before = debug.SetGCPercent(garbagePercent())
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.executions--; collector.executions == 0 {
			debug.SetGCPercent(collector.before)
		}
	}
}

// collectAsNeeded is to be called now and then: what is in use grows with the messages that are held.
func collectAsNeeded() {
	collector.Lock()
	defer collector.Unlock()
	if collector.executions > 0 {
		debug.SetGCPercent(garbagePercent())
	}
}

func garbagePercent() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return percentOf(live[0].Value.Uint64())
}

// percentOf is the garbage collection percentage for a number of bytes in use.
func percentOf(live uint64) int {
	return int(min(max(garbage*100/max(live, 1), 100), mostGarbage))
}
