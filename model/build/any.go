package build

import (
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/model"
)

// AnyText draws a text of any bytes, often one that JSON must escape.
func AnyText(t *rapid.T, label string) string {
	switch rapid.IntRange(0, 3).Draw(t, label+" kind") {
	case 0:
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, label))
	case 1:
		return rapid.SampledFrom([]string{"$type", "$base64:", "$base64:eA==", "value", "x-death", "", "@12"}).Draw(t, label)
	}

	return rapid.String().Draw(t, label)
}

// AnyValue draws a header value of any AMQP type, nested.
func AnyValue(depth int) *rapid.Generator[any] {
	return AnyValueWith(depth, rapid.Custom(func(t *rapid.T) string { return AnyText(t, "key") }))
}

// AnyValueWith draws one whose tables have these names; other values may be among them.
func AnyValueWith(depth int, names *rapid.Generator[string], others ...*rapid.Generator[any]) *rapid.Generator[any] {
	kinds := append([]*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Uint8().AsAny(), rapid.Int16().AsAny(),
		rapid.Uint16().AsAny(), rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Int64().AsAny(), rapid.Uint64().AsAny(),
		rapid.Map(rapid.Uint32(), func(bits uint32) any { return math.Float32frombits(bits) }),
		rapid.Map(rapid.Uint64(), func(bits uint64) any { return math.Float64frombits(bits) }),
		rapid.Custom(func(t *rapid.T) any { return AnyText(t, "text") }),
		rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Map(rapid.Int64(), func(s int64) any { return time.Unix(s, 0) }),
		rapid.Make[model.Decimal]().AsAny(), rapid.Make[model.RawValue]().AsAny(),
	}, others...)

	if depth > 0 {
		list := rapid.SliceOfN(AnyValueWith(depth-1, names, others...), 0, 4)
		table := rapid.MapOfN(names, AnyValueWith(depth-1, names, others...), 0, 6)
		kinds = append(kinds, list.AsAny(), rapid.Map(list, func(values []any) any { return model.Repeated(values) }),
			rapid.Map(table, func(values map[string]any) any { return model.Table(values) }))
	}

	return rapid.OneOf(kinds...)
}

// AnyTable draws a table of up to five headers, with nested tables and lists down to a depth.
func AnyTable(t *rapid.T, depth int) model.Table {
	table := model.Table{}
	for range rapid.IntRange(0, 5).Draw(t, "size") {
		table[AnyText(t, "key")] = AnyValue(depth).Draw(t, "value")
	}
	return table
}
