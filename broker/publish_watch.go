package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// patience is how long a window waits.
type patience struct {
	confirm time.Duration // for any confirm, while some are due
	alarm   time.Duration // for an alarm of the broker to pass
	cancel  time.Duration // for the confirms under way, after the user cancelled
}

// silence is how long nothing is confirmed before that is told. A quorum queue that was deleted, for one, leaves what
// is under way to it unconfirmed (3.10.8).
const silence = 2 * time.Second

var defaultPatience = patience{confirm: 30 * time.Second, alarm: time.Minute, cancel: 10 * time.Second}

// watch ends what would hang: publishing without confirms, a broker in alarm, a cancelled execution. It runs until the
// window is over.
func (w *window) watch(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var blockedAt, cancelledAt time.Time
	var alarm string
	silent := false
	blocked := w.blocked
	for {
		select {
		case <-w.over:
			return
		case b, ok := <-blocked:
			switch {
			case !ok:
				blocked = nil
			case b.Active:
				alarm, blockedAt = model.Printable(b.Reason), time.Now()
				w.ledger.wait("the broker blocks publishers: " + alarm)
			default:
				alarm, blockedAt = "", time.Time{}
				w.touch()
				w.ledger.wait("")
			}
		case now := <-ticker.C:
			if ctx.Err() != nil && cancelledAt.IsZero() {
				cancelledAt = now
			}
			w.mu.Lock()
			waiting := len(w.flying) > 0
			w.mu.Unlock()
			grace := w.patience.cancel
			if alarm != "" {
				grace /= 5 // what the broker does not read, it does not confirm
			}
			since := now.Sub(time.Unix(0, w.activity.Load()))
			if was := silent; was != (waiting && alarm == "" && since > silence) {
				silent = !was
				words := ""
				if silent {
					words = fmt.Sprintf("the broker confirms nothing; this ends after %s without a confirm",
						model.ShortDuration(w.patience.confirm))
				}
				w.ledger.wait(words)
			}
			switch {
			case !waiting:
			case !cancelledAt.IsZero() && now.Sub(cancelledAt) > grace:
				w.abort(fmt.Errorf("the broker did not confirm within %s after the stop", model.ShortDuration(grace)))
			case alarm != "" && now.Sub(blockedAt) > w.patience.alarm:
				w.abort(fmt.Errorf("the broker blocks publishers (%s) for more than %s", alarm,
					model.ShortDuration(w.patience.alarm)))
			case alarm == "" && since > w.patience.confirm:
				w.abort(fmt.Errorf("the broker confirmed nothing for %s", model.ShortDuration(w.patience.confirm)))
			}
		}
	}
}
