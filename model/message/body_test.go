package message

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dlxtop/internal/size"
)

func TestBodyView(t *testing.T) {
	for _, c := range []struct {
		name        string
		body        string
		contentType string
		want        BodyView
	}{
		{"empty", "", "", BodyView{Kind: BodyEmpty, Encoding: "utf-8"}},
		{"text", "a\tb\nc\n", "", BodyView{Kind: BodyText, Encoding: "utf-8", Lines: []string{"a   b", "c"}}},
		{
			"JSON keeps order, digits and escapes", `{"b":9007199254740993,"a":[1.50,{}, [ ],"x\"\u202e"],"c":null}`, "",
			BodyView{Kind: BodyJSON, Encoding: "utf-8", Lines: []string{
				"{", `  "b": 9007199254740993,`, `  "a": [`, `    1.50,`, `    {},`, `    [],`, `    "x\"\u202e"`,
				`  ],`, `  "c": null`, "}",
			}},
		},
		{
			"JSON with an escape in it", "[\"\u202e\u009b\"]", "",
			BodyView{Kind: BodyJSON, Encoding: "utf-8", Lines: []string{"[", `  "\u{202e}\u009b"`, "]"}},
		},
		{"a number is text", "121", "", BodyView{Kind: BodyText, Encoding: "utf-8", Lines: []string{"121"}}},
		{
			"a number that says it is JSON", "121", "application/json",
			BodyView{Kind: BodyJSON, Encoding: "utf-8", Lines: []string{"121"}},
		},
		{
			"broken JSON is text", `{"a":`, "application/json",
			BodyView{Kind: BodyText, Encoding: "utf-8", Lines: []string{`{"a":`}},
		},
		{"escapes", "\x1b[2J\u202e", "", BodyView{Kind: BodyText, Encoding: "utf-8", Lines: []string{`\x1b[2J\u{202e}`}}},
		{
			"binary", "\xff\x00abcdefghijklmnop", "",
			BodyView{Kind: BodyBinary, Encoding: "base64", Lines: []string{
				"00000000  ff 00 61 62 63 64 65 66  67 68 69 6a 6b 6c 6d 6e  ..abcdefghijklmn",
				"00000010  6f 70                                             op",
			}},
		},
		{"NUL is binary, but UTF-8", "a\x00", "", BodyView{Kind: BodyBinary, Encoding: "utf-8", Lines: []string{
			"00000000  61 00                                             a.",
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Message{Body: []byte(c.body), BodyBytes: len(c.body), Properties: Properties{ContentType: c.contentType}}
			if diff := cmp.Diff(c.want, m.BodyView()); diff != "" {
				t.Error(diff)
			}
		})
	}
	m := Message{BodyBytes: 10 << 20}
	if v := m.BodyView(); v.Kind != BodyNotKept || v.Note != "the body (10M) was not kept" {
		t.Errorf("not kept: %+v", v)
	}
	m = Message{Body: []byte("\x1f\x8b\xff"), Properties: Properties{ContentEncoding: "gzip"}}
	if v := m.BodyView(); v.Note != "content encoding gzip, shown as it is" {
		t.Errorf("gzip: %+v", v)
	}
}

func TestBodyViewIsBounded(t *testing.T) {
	n := size.Of(2, 10) << 20
	for name, body := range map[string]string{
		"text":          strings.Repeat("é\n", n/2),
		"one line":      strings.Repeat("é", n/2),
		"JSON":          "[" + strings.Repeat(`{"id":121},`, n/10) + "1]",
		"nested JSON":   strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"deeper JSON":   strings.Repeat("[", n/2),
		"a long string": `{"a":"` + strings.Repeat("x", n) + `"}`,
		"binary":        strings.Repeat("\xff", n),
		"no starts":     "{" + strings.Repeat("\x80", n),
		"controls":      strings.Repeat("\x1b", n),
	} {
		t.Run(name, func(t *testing.T) {
			m := Message{Body: []byte(body), BodyBytes: len(body)}
			v := m.BodyView()
			shown := 0
			for _, line := range v.Lines {
				shown += len(line)
			}
			if shown > 8*maxShownText {
				t.Errorf("%s: %d bytes in %d lines", v.Kind, shown, len(v.Lines))
			}
			if len(body) > 1<<20 && !strings.HasPrefix(v.Note, "the first ") {
				t.Errorf("note %q", v.Note)
			}
		})
	}
}

// What is shown of JSON is the JSON, but for white space.
func TestIndentedJSONIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`\[("[ -!#-Z\]-~]{0,5}"|-?[0-9]{1,20}|\{"a": ?[0-9]\}|\[\]|\{ \}|true)( ?, ?("[ -!#-Z\]-~]{0,5}"|[0-9]|\[[0-9] ,\[\] \]|null)){0,4} ?\]`).Draw(t, "json")
		lines, shown := indentJSON([]byte(s))
		if shown != len(s) {
			t.Fatalf("%d of %d bytes", shown, len(s))
		}
		var got, want bytes.Buffer
		for _, line := range lines {
			got.WriteString(strings.TrimLeft(line, " "))
		}
		want.WriteString(s)
		if a, b := withoutSpace(got.String()), withoutSpace(want.String()); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

func withoutSpace(s string) string { return strings.ReplaceAll(s, " ", "") }

func TestBodyPreview(t *testing.T) {
	for _, c := range []struct {
		body string
		n    int
		want string
	}{
		{"", 5, ""},
		{"abc", 0, ""},
		{"{\n  \"a\": 1\n}", 80, `{ "a": 1 }`},
		{"ééééé", 3, "ééé"},
		{strings.Repeat("世", 100), 4, "世世世世"},
		{"\x1b[2J", 9, `\x1b[2J`},
		{"\xff\xfe", 9, `\xff\xfe`},
		{strings.Repeat("\x80", 100), 2, `\x80\x80`},
	} {
		m := Message{Body: []byte(c.body)}
		if got := m.BodyPreview(c.n); got != c.want {
			t.Errorf("%q: %q, want %q", c.body, got, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "?", 0: "0", 412: "412", 1023: "1023", 1024: "1K", 1229: "1.2K", 10 << 10: "10K", 10189: "10K", 1<<20 - 1: "1M",
		10 << 20: "10M", 3 << 30: "3G", math.MaxInt64: "8E",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
