package cause

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// failed is a message with an error header.
func failed(text string) *message.Message {
	return &message.Message{Headers: model.Table{"x-error": text}}
}

func died(reason model.Reason, queue string) message.Death {
	return message.Death{Reason: reason, Queue: queue, Count: 1}
}

func TestOf(t *testing.T) {
	stack := "java.net.SocketTimeoutException: Read timed out after 31 ms\n\tat com.example.Mail.send(Mail.java:12)"
	for _, c := range []struct {
		name   string
		m      message.Message
		want   Cause
		worker string
		words  string
	}{
		{
			"Spring AMQP",
			message.Message{
				Headers: model.Table{
					"x-exception-message": "Read timed out after 31 ms", "x-exception-stacktrace": stack,
				},
				Deaths: []message.Death{died(model.Rejected, "mail")},
			},
			Cause{
				Evidence: ByError, Kind: "java.net.SocketTimeoutException", Text: "Read timed out after #",
				Frame: "Mail.send",
			},
			"mail", "SocketTimeoutException: Read timed out after #, in Mail.send",
		},
		{
			"an error and its trace in one header", *failed("TypeError: no order 12\n    at Mail.send (/app/src/mail.js:1:2)"),
			Cause{Evidence: ByError, Kind: "TypeError", Text: "no order #", Frame: "Mail.send"},
			"", "TypeError: no order #, in Mail.send",
		},
		{
			"deaths only",
			message.Message{Deaths: []message.Death{
				died(model.Expired, "mail.retry"), died(model.Rejected, "mail"),
			}},
			Cause{Evidence: ByDeath, Kind: "rejected", Queue: "mail"},
			"mail", "no error: rejected in mail",
		},
		{
			"expired only",
			message.Message{Deaths: []message.Death{died(model.Expired, "mail")}},
			Cause{Evidence: ByDeath, Kind: "expired", Queue: "mail"},
			"", "no error: expired in mail",
		},
		{
			"nothing",
			message.Message{},
			Cause{Evidence: Nothing, Queue: "mail.failed"},
			"", "no error and no death in mail.failed",
		},
	} {
		got := readFailed(mail, &c.m)
		assert.That(t, got.Cause == c.want && got.Worker == c.worker && got.Cause.String() == c.words,
			"%s: %+v of %q, %q", c.name, got.Cause, got.Worker, got.Cause.String())
	}
}

func TestID(t *testing.T) {
	first, same := Of(mail, failed("order 12 not found")).ID(), Of(mail, failed("order 7 not found")).ID()
	other := Of(mail, failed("customer 7 not found")).ID()
	assert.That(t, first == same && first != other, "%s and %s are one cause, %s another", first, same, other)
	assert.That(t, len(first) == IDLength, "%s is no ID", first)
	for text, valid := range map[string]bool{
		string(first): true, strings.ToUpper(string(first)): true, "": false, "12": false, "12345678901z": false,
	} {
		id, ok := ParseID(text)
		assert.That(t, ok == valid && (!ok || id == first), "%q is read as %s, %v", text, id, ok)
	}
}

// A state is kept by the ID: it must be the same with the next version.
func TestIDsStayTheSame(t *testing.T) {
	for id, m := range map[ID]*message.Message{
		"c33aa49c3b16": failed("order 12 not found"),
		"f774a36a65d0": {Deaths: []message.Death{died(model.Rejected, "mail")}},
		"d2a2beb941d4": {},
	} {
		got := Of(mail, m).ID()
		assert.That(t, got == id, "%s became %s", id, got)
	}
}

func TestIsAtEachLevel(t *testing.T) {
	m := failed("ValueError: order zzq of ann not found")
	c := Of(mail, m)
	seen := map[ID]bool{}
	for level := Whole; level <= NoKind; level++ {
		id := c.At(level).ID()
		assert.That(t, !seen[id] && Is(mail, m, id), "%s does not mean it at level %d", id, level)
		seen[id] = true
	}
	assert.That(t, !Is(mail, failed("KeyError: x"), c.ID()), "another cause is taken for it")
	assert.Equal(t, c.At(FirstWords).String(), "ValueError: order zzq of…", "coarser it")
}

// What a hostile publisher writes is bounded and can be shown.
func TestHostileTexts(t *testing.T) {
	for name, text := range map[string]string{
		"1 MB":        strings.Repeat("order 12 not found ", 1<<20/19),
		"one word":    strings.Repeat("x", 1<<20),
		"brackets":    "values " + strings.Repeat("(", 1<<20),
		"quotes":      strings.Repeat(`"`, 1<<20),
		"lines":       "E: x\n" + strings.Repeat("at \n", 1<<18),
		"escapes":     "\x1b]0;title\a\x1b[2Jgone\x1b[",
		"directions":  "abc\u202edef\u2066\u200b",
		"no UTF-8":    "a\xff\xfe\xf0\x28",
		"accents":     "e" + strings.Repeat("\u0301", 1<<12),
		"backslashes": strings.Repeat(`\"`, 1<<19),
	} {
		m := failed(text)
		c := Of(mail, m)
		for _, s := range []string{c.Kind, c.Text, c.Frame, c.String()} {
			if model.Printable(s) != s || len(s) > mostKind+mostFolded+mostFrame+20 {
				t.Errorf("%s: %q (%d bytes)", name, s[:min(len(s), 200)], len(s))
			}
		}
	}
}
