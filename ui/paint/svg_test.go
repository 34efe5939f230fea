package paint

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

// svgTexts are the texts of a picture with their attributes, and its rectangles.
func svgTexts(t *testing.T, picture string) (texts, rects []map[string]string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(picture))
	var open map[string]string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts, rects
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, picture)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = map[string]string{}
			for _, a := range token.Attr {
				open[a.Name.Local] = a.Value
			}
			switch token.Name.Local {
			case "text":
				texts = append(texts, open)
			case "rect":
				rects = append(rects, open)
			}
		case xml.CharData:
			if open != nil {
				open["is"] += string(token)
			}
		case xml.EndElement:
			open = nil
		}
	}
}

// A picture keeps colours, faint and reversed text, and each character in its cell.
func TestFrameAsSVG(t *testing.T) {
	frame := "a <b> & \"c\"\x1b[1;38;2;255;0;16m bold \x1b[0m\x1b[2mfaint\x1b[22m\n" +
		"\x1b[7mback\x1b[27m\x1b[48;5;21;38;5;196;4mblue\x1b[m 漢字x\x1b]8;;http://h\x07link\x1b]8;;\x07\n   \n"
	texts, rects := svgTexts(t, SVG(Dark.Frame(frame), Dark))
	want := []map[string]string{
		{"is": `a <b> & "c"`, "x": "10.0", "y": "23.5", "textLength": "92.4", "fill": "#d5d8df"},
		{"is": "bold", "x": "110.8", "textLength": "33.6", "fill": "#ff0010", "font-weight": "bold"},
		{"is": "faint", "x": "152.8", "fill": "#7f8288"},
		{"is": "back", "x": "10.0", "y": "41.5", "fill": "#15181e"},
		{"is": "blue", "x": "43.6", "fill": "#ff0000", "text-decoration": "underline"},
		{"is": "漢", "x": "85.6", "textLength": "16.8"},
		{"is": "字", "x": "102.4", "textLength": "16.8"},
		{"is": "xlink", "x": "119.2", "textLength": "42.0"},
	}
	if len(texts) != len(want) {
		t.Fatalf("%d texts: %v", len(texts), texts)
	}
	for i := range want {
		for name, value := range want[i] {
			if texts[i][name] != value {
				t.Errorf("text %d: %s is %q, not %q: %v", i, name, texts[i][name], value, texts[i])
			}
		}
	}
	if len(rects) != 3 || rects[0]["fill"] != "#15181e" || rects[1]["fill"] != "#d5d8df" || rects[1]["width"] != "33.6" ||
		rects[2]["fill"] != "#0000ff" {
		t.Errorf("the backgrounds are %v", rects)
	}
	if _, light := svgTexts(t, SVG(Light.Frame("a"), Light)); light[0]["fill"] != "#fdfdfb" {
		t.Errorf("on a light background: %v", light)
	}
}
