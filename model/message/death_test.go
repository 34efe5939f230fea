package message

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestParseDeaths(t *testing.T) {
	for _, c := range must.Cases[struct {
		Name    string
		Headers asJSON
		Deaths  []Death
		Problem string // its beginning
	}](t, "testdata/x_death.toml") {
		deaths, problem := ParseDeaths(model.Table(c.Headers))
		assert.Same(t, c.Deaths, deaths, c.Name)
		assert.That(t, c.Problem != "" || problem == "", "%s: problem %q, want none", c.Name, problem)
		assert.That(t, strings.HasPrefix(problem, c.Problem), "%s: problem %q, want %q", c.Name, problem, c.Problem)
	}

	deaths, problem := ParseDeaths(nil)
	assert.That(t, deaths == nil, "without headers: %v, %q", deaths, problem)
	assert.Equal(t, problem, "")
}

func TestParseDeathsOfManyEntries(t *testing.T) {
	entries := make([]any, 100_000)
	for i := range entries {
		entries[i] = model.Table{"queue": "q", "reason": 3}
	}

	began := time.Now()
	deaths, problem := ParseDeaths(model.Table{"x-death": entries})
	assert.Equal(t, len(deaths), len(entries), "%d deaths, %q", len(deaths), problem)
	assert.That(t, strings.HasSuffix(problem, "and 499,999 more problems"), "%d deaths, %q", len(deaths), problem)
	took := time.Since(began)
	assert.That(t, took <= 20*time.Second, "took %v", took)
}

func TestNewestDeathIsFirst(t *testing.T) {
	for _, c := range must.Cases[struct{ Name, First, Last, Header, Want string }](t, "testdata/newest_deaths.toml") {
		headers := model.Table{"x-first-death-queue": c.First, "x-first-death-reason": "rejected"}
		if c.Last != "" {
			headers["x-last-death-queue"] = c.Last
		}

		var entries []any
		for _, entry := range strings.Fields(c.Header) {
			at := entry[len(entry)-2:]
			count := int64(entry[len(entry)-4] - '0')
			second, _ := strconv.Atoi(at)
			reason := map[byte]string{'r': "rejected", 'e': "expired"}[entry[len(entry)-5]]
			entries = append(entries, model.Table{
				"queue": entry[:len(entry)-5], "reason": reason, "count": count, "exchange": "", "routing-keys": []any{"k"},
				"time": build.Noon.Add(time.Duration(second) * time.Second),
			})
		}

		headers["x-death"] = entries
		deaths, problem := ParseDeaths(headers)
		var got []string
		for i := range deaths {
			got = append(got, deaths[i].Queue)
		}

		diff := cmp.Diff(c.Want, strings.Join(got, " "))
		assert.NoDiff(t, diff, "%v", c.Name)
		assert.Equal(t, problem, "", "%v", c.Name)
	}
}

func TestDeathSummary(t *testing.T) {
	type summary struct {
		Deaths []Death
		Want   string
		Count  int64
	}

	for _, c := range must.Cases[summary](t, "testdata/deaths.toml") {
		m := &Message{Deaths: c.Deaths}
		got := m.DeathSummary()
		assert.Equal(t, got, c.Want, "%v", c.Deaths)
		assert.Equal(t, m.DeathCount(), c.Count, "%v", c.Deaths)
	}
}

func TestOrigin(t *testing.T) {
	type expected struct {
		Name    string
		M       Message
		Headers asJSON
		Body    string
		Want    string // exchange and key
		Reason  string // part of it
	}

	must.Run(t, "testdata/origin.toml", func(t *testing.T, c expected) {
		c.M.Headers, c.M.Body, c.M.BodyBytes = model.Table(c.Headers), []byte(c.Body), len(c.Body)
		from, reason := c.M.OriginOrWhy()
		if key, header, told := c.M.FirstKey(); told && key != from.RoutingKey {
			reason += header + " has the key " + key
		}

		assert.Equal(t, from.Exchange+" "+from.RoutingKey, c.Want, "origin")
		assert.Contains(t, reason, c.Reason, "reason")
	})
}
