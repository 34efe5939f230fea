package screenshots

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Faint, reversed, bold, underlined and coloured text is visible, and each looks different; lines and blocks reach the
// cells around them.
func TestStyles(t *testing.T) {
	const text = `<text x="0" y="15" textLength="10" fill="#d5d8df"`
	for _, test := range []struct{ screen, want string }{
		{"", ""},
		{"a", text + ">a</text>"},
		{"<", text + ">&lt;</text>"},
		{"×", text + ` lengthAdjust="spacingAndGlyphs">×</text>`},
		{"\x1b[1ma", text + ` font-weight="bold">a</text>`},
		{"\x1b[4m ", text + ` text-decoration="underline"> </text>`},
		{"\x1b[2ma", `<text x="0" y="15" textLength="10" fill="#7f8288">a</text>`},
		{"\x1b[31ma", `<text x="0" y="15" textLength="10" fill="#f0717a">a</text>`},
		{"\x1b[38;5;231ma", `<text x="0" y="15" textLength="10" fill="#ffffff">a</text>`},
		{"\x1b[38;2;1;2;3ma", `<text x="0" y="15" textLength="10" fill="#010203">a</text>`},

		{"\x1b[42m ", `<rect x="0" width="10" height="20" fill="#97c97b"/>`},
		{
			"\x1b[7ma", `<rect x="0" width="10" height="20" fill="#d5d8df"/>` +
				`<text x="0" y="15" textLength="10" fill="#15181e">a</text>`,
		},
		{
			"\x1b[2;7ma", `<rect x="0" width="10" height="20" fill="#7f8288"/>` +
				`<text x="0" y="15" textLength="10" fill="#15181e">a</text>`,
		},
		{"├─▶", `<path d="M0,0m5,0v20m0-10h5M10,0m0,10h10" fill="none" stroke="#d5d8df"/>` +
			`<path d="M20,0m0,5l10,5l-10,5z" fill="#d5d8df"/>`},
		{"│\x1b[31m█", `<path d="M0,0m5,0v20" fill="none" stroke="#d5d8df"/>` +
			`<path d="M10,0m0,20.5v-20.5h10v20.5z" fill="#f0717a"/>`},
	} {
		assert.Equal(t, dark.rows(test.screen, max(1, ansi.StringWidth(test.screen)), 1)[0], test.want, test.screen)
	}
}

// shownBy reads the letters and signs of a picture, each in the cell where it begins, between blanks.
func shownBy(t *testing.T, picture string) (rows []string) {
	t.Helper()
	var svg struct {
		Rows []struct {
			At    string `xml:"transform,attr"`
			Texts []struct {
				X     int    `xml:"x,attr"`
				Width int    `xml:"textLength,attr"`
				Text  string `xml:",chardata"`
			} `xml:"text"`
		} `xml:"g"`
	}

	must.Do(t, xml.Unmarshal([]byte(picture), &svg))
	for y, row := range svg.Rows {
		must.Equal(t, row.At, fmt.Sprintf("translate(0,%d)", y*cellHeight))
		shown := ""
		column := 0
		for _, text := range row.Texts {
			shown += strings.Repeat(" ", text.X/cellWidth-column) + text.Text
			column = (text.X + text.Width) / cellWidth
		}
		rows = append(rows, shown)
	}

	return rows
}

// A picture has each character where the screen has it, also after wide ones and lines, and no more of a larger screen.
func TestPictureShowsTheScreen(t *testing.T) {
	screen := "failed  \x1b[31m3\x1b[0m & <more> hidden\n世x \x1b[1m…\x1b[0m ─┼ a ▁█b\n\n  ✗ \x1b[2m×3\nhidden"
	assert.List(t, shownBy(t, dark.draw(17, 4, frame{text: screen})), []string{
		"failed  3 & <more", "世x …    a   b   ", "", "  ✗ ×3",
	})
}

// A picture that moves draws a row once for as long as it stays, and shows its beginning where it cannot move.
func TestPictureMoves(t *testing.T) {
	picture := dark.draw(4, 2,
		frame{"one\n─•──", 500 * time.Millisecond},
		frame{"one\n──•─", 200 * time.Millisecond},
		frame{"one\n──•─", 300 * time.Millisecond},
		frame{"one\n─•──", time.Second},
	)

	var rows []string
	for _, row := range strings.Split(picture, "<g ")[1:] {
		_, hidden, _ := strings.Cut(row, `visibility="hidden"`)
		_, times, _ := strings.Cut(row, `keyTimes="`)
		times, _, _ = strings.Cut(times, ` repeat`)
		rows = append(rows, fmt.Sprint(hidden != "", " ", times))
	}
	assert.List(t, rows, []string{
		"false ", `false 0;0.00000;0.25000" dur="2.00s"`,
		`true 0;0.25000;0.50000" dur="2.00s"`, `true 0;0.50000;1.00000" dur="2.00s"`,
	})
}
