package model

import (
	"slices"
	"strings"
	"unicode"
)

// Names decide only when structure leaves a question open. They never overrule structure.

var (
	delayWords = WordSet("delay delayed delays wait waiting buffer hold holding schedule scheduled defer deferred " +
		"later dq")
	// of these, those that say that messages wait there on purpose: a retry buffer may be called orders.wait, too
	purposeWords = WordSet("delay delayed delays schedule scheduled defer deferred later")
	retryWords   = WordSet("retry retries retrying backoff requeue redeliver again")
	failedWords  = WordSet("failed failure failures fail error errors dlq dead deadletter deadletters parking parked " +
		"parkinglot poison poisoned skipped rejected undeliverable unprocessable xq dlx morgue")
	// these count only where structure or another name agrees: they are business words, too
	weakWords = WordSet("err errs fault faults invalid quarantine quarantined")
	// fillerWords occur in a failed queue's name without meaning anything by themselves: dead.letter.queue.
	fillerWords = WordSet("letter letters lot queue q")
)

// WordSet returns the words of a list.
func WordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// nameWords splits a name into lower-case words, at everything that is neither letter nor digit, and where lower case
// turns to upper.
func nameWords(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}

	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			lower = false
			continue
		}

		if unicode.IsUpper(r) && lower {
			flush()
		}
		lower = unicode.IsLower(r)
		word = append(word, r)
	}

	flush()
	return words
}

// spoken is what a queue's name says about its role.
type spoken struct {
	delay, retry, failed string // the word that says so, "" when none does
	weak                 bool   // of failed: only a weak word says so
	base                 string // the name without the words that name a role; queues that belong together share it
	whole                string // base without a failed queue's filler words: error.billing.q belongs to billing.q
}

func listen(name string) spoken {
	var s spoken
	var base []string
	for _, w := range nameWords(name) {
		switch {
		case retryWords[w]:
			s.retry = w
		case failedWords[w]:
			s.failed, s.weak = w, false
		case weakWords[w]:
			if s.failed == "" {
				s.failed, s.weak = w, true
			}
		case delayWords[w]:
			s.delay = w
		default:
			base = append(base, w)
		}
	}

	s.whole = strings.Join(base, " ")
	if s.failed != "" {
		kept := base[:0]
		for _, w := range base {
			if !fillerWords[w] {
				kept = append(kept, w)
			}
		}
		base = kept
	}

	s.base = strings.Join(base, " ")
	return s
}

// NamedForFailures reports whether the name of a queue or an exchange says that failures go there.
func NamedForFailures(name string) bool {
	s := listen(name)
	return s.failed != "" || s.retry != ""
}

// NamedForWaiting reports whether a name says that messages wait there.
func NamedForWaiting(name string) bool { return listen(name).buffer() != "" }

// plain reports whether a name says neither that messages wait in the queue nor that they failed.
func (s spoken) plain() bool { return s.failed == "" && s.buffer() == "" }

func (s spoken) buffer() string {
	if s.retry != "" {
		return s.retry
	}
	return s.delay
}

// sharedFailed are the failed queues that all workers share by a framework's defaults.
var sharedFailed = map[string]string{
	"error":                        "NServiceBus and Rebus",
	"EasyNetQ_Default_Error_Queue": "EasyNetQ",
	"wolverine-dead-letter-queue":  "Wolverine",
}

// HeldSuffix ends the name of the queue in which Dramatiq keeps delayed work. Its workers consume it, and hold what
// they take until it is due; deadSuffix ends the name of the queue that both of them dead-letter into.
const HeldSuffix, deadSuffix = ".DQ", ".XQ"

// NamedLike returns the queues of a vhost, sorted by name, whose names begin with the same words as a queue's, not
// counting words that name a role: billing.invoice is one for billing.parking. Buffers and failed queues are left out.
func (t *Topology) NamedLike(ref QueueRef) (found []QueueRef) {
	own := strings.Fields(listen(ref.Name).base)
	for q := range t.EachQueue() {
		if q.VHost != ref.VHost || q.QueueRef == ref || !t.Works(q.QueueRef) {
			continue
		}
		says := listen(q.Name)
		words := strings.Fields(says.base)
		n := min(len(own), len(words))
		if says.failed == "" && n > 0 && slices.Equal(own[:n], words[:n]) {
			found = append(found, q.QueueRef)
		}
	}

	return sorted(found)
}

// Works reports whether a queue may be a worker: it exists, and is not only a buffer or a failed queue.
func (t *Topology) Works(ref QueueRef) bool {
	_, exists := t.Queues[ref]
	return exists && (len(t.flowsOf[ref]) == 0 && !t.failed[ref] || t.IsWorker(ref))
}

// IsWorker reports whether a queue is the worker of a flow.
func (t *Topology) IsWorker(ref QueueRef) bool {
	flows := t.flowsOf[ref] // first its own
	return len(flows) > 0 && flows[0].Worker.Queue == ref
}

// NamedForRetries reports whether a name says that messages wait there for another try.
func NamedForRetries(name string) bool { return listen(name).retry != "" }
