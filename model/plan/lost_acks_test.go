package plan

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/message"
)

// Only the last messages recorded are taken for lost acknowledgements, and only where they are unambiguous.
func TestBackIsWhatCannotBeAnother(t *testing.T) {
	for _, test := range []struct{ recorded, there, fresh, back string }{
		{"abcd", "cd", "", "cd"},
		{"abcd", "dc", "", "cd"},  // in any order
		{"abcd", "cdx", "", "cd"}, // and others are there
		{"abcd", "x", "x", ""},
		{"abcd", "bc", "", ""},  // none of the last ones
		{"abcd", "cdd", "", ""}, // one of them twice
		{"abdd", "d", "", ""},   // twins
		{"abcd", "cd", "d", ""}, // it was published again
		{"ab", "abab", "", ""},
		{"ab", "ab", "", "ab"},
	} {
		l := &LostAcks{}
		for _, c := range test.recorded {
			l.Recorded(&Entry{Outcome: Moved, Fingerprint: message.Fingerprint{byte(c)}})
			l.Recorded(&Entry{Outcome: Refused, Fingerprint: message.Fingerprint{'r'}})
		}
		for _, c := range test.there {
			fresh := len(test.fresh) > 0 && byte(c) == test.fresh[0]
			l.See(&message.Message{Fingerprint: message.Fingerprint{byte(c)}, Redelivered: !fresh})
		}
		back := ""
		for _, f := range l.Back() {
			back += string(rune(f[0]))
		}
		assert.Equal(t, back, test.back, "of %s, with %s there", test.recorded, test.there)
	}
}
