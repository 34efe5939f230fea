package planfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/planfile"
)

// sealed returns a file with the checksum of what it has.
func sealed(text []byte) []byte {
	var all map[string]any
	if message.Decode(text, &all) != nil || all == nil {
		return text
	}
	all["checksum"] = ""
	made, _ := json.Marshal(all)
	sum := sha256.Sum256(made)
	all["checksum"] = hex.EncodeToString(sum[:])
	made, _ = json.Marshal(all)
	return made
}

// A changed file is no plan, even with a new checksum, where it is none that dlxtop makes.
func TestChangedPlans(t *testing.T) {
	text := string(must.Get(os.ReadFile("testdata/plan.json"))(t))
	for _, test := range must.Cases[struct{ Was, Is, Says, Sealed string }](t, "testdata/changed.toml") {
		must.Contains(t, text, test.Was)
		changed := []byte(strings.Replace(text, test.Was, test.Is, 1))
		_, err := planfile.Parse(changed)
		assert.Fails(t, err, test.Says, "%s", test.Is)
		_, err = planfile.Parse(sealed(changed))
		if test.Sealed == "" {
			assert.Succeeds(t, err)
		} else {
			assert.Fails(t, err, test.Sealed, "%s, with a new checksum", test.Is)
		}
	}
}

// A plan is written as it was read, or there is an error of one sentence.
func FuzzParse(f *testing.F) {
	f.Add(must.Get(os.ReadFile("testdata/plan.json"))(f))
	f.Add([]byte(`{"dlxtop_plan":1,"intent":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var read *planfile.File
		var err error
		text = sealed(text)
		limit.Check(t, len(text), func() { read, err = planfile.Parse(text) })
		if err != nil {
			build.CheckError(t, err)
			return
		}

		made := must.Get(read.JSON())(t)
		again := must.Get(planfile.Parse(made))(t)
		twice := must.Get(again.JSON())(t)
		assert.That(t, bytes.Equal(made, twice), "written twice it is\n%s\n%s", made, twice)
		outline := read.Outline()
		assert.Equal(t, outline.Planned, read.Want().Planned)
	})
}
