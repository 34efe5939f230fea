package model

import (
	"slices"
	"strings"
	"unicode"
)

// What names say, when structure leaves a question open. Names never overrule structure.

var (
	delayWords = wordSet("delay delayed delays wait waiting buffer hold holding schedule scheduled defer deferred " +
		"later dq")
	retryWords  = wordSet("retry retries retrying backoff requeue redeliver again")
	failedWords = wordSet("failed failure failures fail error errors dlq dead deadletter deadletters parking parked " +
		"parkinglot poison poisoned skipped rejected undeliverable unprocessable xq dlx morgue")
	// weakWords are among them only where structure or another name says the same: they are words of business, too
	weakWords = wordSet("err errs fault faults invalid quarantine quarantined")
	// fillerWords belong to a failed queue's name without meaning anything by themselves: dead.letter.queue.
	fillerWords = wordSet("letter letters lot queue q")
)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// nameWords splits a name at everything that is no letter or digit and where lower case turns to upper, in lower case.
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

// spoken is what a queue's name says of its role.
type spoken struct {
	delay, retry, failed string // the word that says it, "" when none does
	weak                 bool   // of failed: only a weak word does
	base                 string // the name without the words that tell a role, to find the queues that belong together
	whole                string // base with a failed queue's filler words: error.billing.q is that of billing.q
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

// NamedForFailures reports whether the name of a queue or an exchange says that failures come there.
func NamedForFailures(name string) bool {
	s := listen(name)
	return s.failed != "" || s.retry != ""
}

func (s spoken) buffer() string {
	if s.retry != "" {
		return s.retry
	}
	return s.delay
}

// sharedFailed are the failed queues that a framework's defaults give to all workers together.
var sharedFailed = map[string]string{
	"error":                        "NServiceBus and Rebus",
	"EasyNetQ_Default_Error_Queue": "EasyNetQ",
	"wolverine-dead-letter-queue":  "Wolverine",
}

// HeldSuffix ends the name of the queue in which Dramatiq keeps what a worker is to do later. Its workers consume it,
// and hold what they take from it until it is due; deadSuffix ends the name of the queue into which the worker and it
// dead-letter.
const HeldSuffix, deadSuffix = ".DQ", ".XQ"

// NamedLike are the queues of a vhost, sorted by name, whose names begin with the same words as a queue's, without the
// words that tell a role: billing.invoice is one for billing.parking. Buffers and failed queues are not among them.
func (t *Topology) NamedLike(ref QueueRef) (found []QueueRef) {
	own := strings.Fields(listen(ref.Name).base)
	for q := range Each(t.Snapshot.Queues) {
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
	slices.SortFunc(found, compareRefs)
	return found
}

// Works reports whether a queue may be a worker: it is there, and if flows have it, then not as a buffer or a failed
// queue only.
func (t *Topology) Works(ref QueueRef) bool {
	_, exists := t.Queues[ref]
	flows := t.flowsOf[ref]
	return exists && (len(flows) == 0 || slices.ContainsFunc(flows, func(f *Flow) bool { return f.Worker.Queue == ref }))
}

// NamedForRetries reports whether a name says that messages wait there for another try.
func NamedForRetries(name string) bool { return listen(name).retry != "" }
