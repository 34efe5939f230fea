package message

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Symfony's classes of stamps, as headers and bodies name them.
const (
	stampClass        = `Symfony\Component\Messenger\Stamp\`
	symfonyRedelivery = stampClass + "RedeliveryStamp"
	symfonyError      = stampClass + "ErrorDetailsStamp"
	symfonyFailed     = stampClass + "SentToFailureTransportStamp"
)

// symfonyStale are the stamps that a first try does not have: the count of retries; the last error; and that it went to
// the failure transport, with which a worker would drop the message for good at its next failure
// (SendFailedMessageToFailureTransportListener).
var symfonyStale = []string{symfonyRedelivery, symfonyError, symfonyFailed}

// symfonyStamps are what the stamps of a message tell.
type symfonyStamps struct {
	kind, message string    // of the last error
	class         string    // of the message
	failed        string    // the transport that it failed in
	retries       int64     // the most that a stamp counts
	resent        time.Time // when the worker sent it again, by its last RedeliveryStamp; zero when that does not say
	stale         []string
	body          *symfonyBody // where they are in the body
}

// symfony reads Symfony's stamps: each class in a header of its own, as JSON, or all of them in the body. It is false
// for what Symfony did not write.
func (m *Message) symfony() (s symfonyStamps, ok bool) {
	if body, inBody := readSymfonyBody(m.Body); inBody && len(m.Body) >= m.BodyBytes {
		s.body = body
		s.fromBody()
		return s, true
	}
	if !prefixesOf(m.Headers).has(symfonyStamp) {
		return s, false
	}
	s.class, _ = m.Headers.Text("type")
	var errors []struct {
		ExceptionClass   string `json:"exceptionClass"`
		ExceptionMessage string `json:"exceptionMessage"`
	}
	if s.stamp(m, symfonyError, &errors) && len(errors) > 0 {
		last := errors[len(errors)-1]
		s.kind, s.message = last.ExceptionClass, last.ExceptionMessage
	}
	var redeliveries []struct {
		RetryCount    int64       `json:"retryCount"`
		RedeliveredAt symfonyTime `json:"redeliveredAt"`
	}
	if s.stamp(m, symfonyRedelivery, &redeliveries) {
		for _, r := range redeliveries {
			s.retries = max(s.retries, r.RetryCount)
			s.resent = time.Time(r.RedeliveredAt)
		}
	}
	var failed []struct {
		Name string `json:"originalReceiverName"`
	}
	if s.stamp(m, symfonyFailed, &failed) && len(failed) > 0 {
		s.failed = failed[len(failed)-1].Name
	}
	return s, true
}

// stamped are the stamps of a message, when it is of the framework that has them.
func (k *framework) stamped(m *Message) (symfonyStamps, bool) {
	if !k.stamps {
		return symfonyStamps{}, false
	}
	return m.symfony()
}

// stamp reads the stamps of a class out of their header, into a list.
func (s *symfonyStamps) stamp(m *Message, class string, into any) bool {
	v, there := m.Headers[symfonyStamp+class]
	if !there {
		return false
	}
	s.stale = append(s.stale, class)
	text, ok := model.AsText(v)
	return ok && len(text) <= MaxEnvelope && json.Unmarshal([]byte(text), into) == nil
}

func (s *symfonyStamps) fromBody() {
	message := s.body.envelope.member("message")
	if message != nil && message.object {
		s.class = message.text
	}
	for _, class := range symfonyStale {
		stamps := s.body.stamps(class)
		if len(stamps) == 0 {
			continue
		}
		s.stale = append(s.stale, class)
		last := stamps[len(stamps)-1].value
		switch class {
		case symfonyError:
			s.kind, s.message = last.scalarOf("exceptionClass"), last.scalarOf("exceptionMessage")
		case symfonyFailed:
			s.failed = last.scalarOf("originalReceiverName")
		case symfonyRedelivery:
			for _, stamp := range stamps {
				n, _ := strconv.ParseInt(stamp.value.scalarOf("retryCount"), 10, 32)
				s.retries = max(s.retries, n)
			}
			s.resent = last.member("redeliveredAt").time()
		}
	}
}

func (v *phpValue) scalarOf(key string) string {
	if m := v.member(key); m != nil && m.scalar {
		return strings.ToValidUTF8(m.text, "\uFFFD")
	}
	return ""
}

// resetSymfony takes the stamps off that a first try does not have.
func (r *resetter) resetSymfony() {
	s, ok := r.now().symfony()
	if !ok || len(s.stale) == 0 {
		return
	}
	var classes []string
	for _, class := range s.stale {
		if class != symfonyRedelivery || !r.wish.KeepTries {
			classes = append(classes, class)
		}
	}
	if s.body != nil {
		body, written := s.body.without(classes)
		if !written {
			if s.retries > 0 { // its values refer to each other by number
				r.resets = append(r.resets, Reset{r.framework, CounterKept, "RedeliveryStamp", "", s.retries, s.retries})
			}
			return
		}
		if len(classes) > 0 {
			r.setBody(body)
		}
	}
	for _, class := range s.stale {
		name, header := strings.TrimPrefix(class, stampClass), ""
		if s.body == nil {
			header = symfonyStamp + class
		}
		reset := Reset{r.framework, ErrorRemoved, name, header, 0, 0}
		switch {
		case class == symfonyFailed:
			reset.Kind = MarkRemoved
		case class == symfonyRedelivery && r.wish.KeepTries:
			reset.Kind, reset.Was, reset.Is = CounterKept, s.retries, s.retries
		case class == symfonyRedelivery && s.retries > 0:
			reset.Kind, reset.Was = CounterReset, s.retries
		}
		r.resets = append(r.resets, reset)
		if s.body == nil && reset.Kind != CounterKept {
			r.set(header, nil, false)
		}
	}
}
