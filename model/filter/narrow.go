package filter

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Narrow is conditions that flags and keys name in place of an expression; "" is none.
type Narrow struct {
	FailedAfter, FailedBefore string // a time, or an age: "2h", "3d"
	Name, Worker              string // may have * and ?
}

// Empty returns the first flag that was given without a value, as a variable that a script forgot to set; "": none.
func (n *Narrow) Empty(given func(flag string) bool) string {
	for flag, value := range map[string]string{
		"failed-after": n.FailedAfter, "failed-before": n.FailedBefore, "name": n.Name, "worker": n.Worker,
	} {
		if value == "" && given(flag) {
			return flag
		}
	}

	return ""
}

// With returns a filter with these conditions, too; f may be nil, and is an expression. Ages end now.
func (n *Narrow) With(f *Filter, now time.Time) (*Filter, error) {
	if *n == (Narrow{}) {
		return f, nil
	}
	expression, err := n.expression(f.Expression(), now)
	if err != nil {
		return nil, err
	}
	return ParseExpression(expression)
}

func (n *Narrow) expression(other string, now time.Time) (string, error) {
	var all []string
	if other != "" {
		all = append(all, "("+other+")")
	}

	for _, bound := range []struct{ flag, operator, text string }{
		{"failed-after", ">", n.FailedAfter}, {"failed-before", "<", n.FailedBefore},
	} {
		if bound.text == "" {
			continue
		}
		at, err := timeOrAge(bound.text, now)
		if err != nil {
			return "", model.Errorf("--%s %v: %w", bound.flag, bound.text, err)
		}
		all = append(all, fmt.Sprintf("failed_at %s date(%q)", bound.operator, at.Format(time.RFC3339Nano)))
	}

	for _, is := range []struct{ field, pattern string }{{"name", n.Name}, {"worker", n.Worker}} {
		switch {
		case is.pattern == "":
		case strings.ContainsAny(is.pattern, "*?"):
			glob := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(is.pattern))
			all = append(all, is.field+" matches "+strconv.Quote("(?s)^"+glob+"$"))
		default:
			all = append(all, is.field+" == "+strconv.Quote(is.pattern))
		}
	}

	return strings.Join(all, " and "), nil
}

var errTime = errors.New("write a time, like 2026-11-30T08:00:00+01:00 or 2026-11-30 08:00, or an age, like 2h or 3d")

// timeOrAge reads a time, by this machine's zone if it has none of its own, or how long ago it was.
func timeOrAge(text string, now time.Time) (time.Time, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return time.Time{}, errTime
		}
		return now.Add(-time.Duration(n) * 24 * time.Hour), nil
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}

	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}

	return time.Time{}, errTime
}

// Like returns an expression that is true of messages that compare like m in a field, and a short form of it to show;
// false where the field of m is unknown. The field is a text or a time.
func Like(field, operator string, around Around, m *message.Message) (label, expression string, known bool) {
	e := evaluation{fields: fields, message: m, around: around, read: map[int]any{}, absent: map[string]bool{}}
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == field })
	v, err := e.field(i)
	if v == nil || err != nil {
		return "", "", false
	}

	if at, isTime := v.(time.Time); isTime {
		return field + " " + operator + " " + at.Local().Format(time.DateTime),
			fmt.Sprintf("%s %s date(%q)", field, operator, at.Format(time.RFC3339Nano)), true
	}

	text := fmt.Sprint(v)
	return field + " " + model.Printable(text), field + " " + operator + " " + strconv.Quote(text), true
}
