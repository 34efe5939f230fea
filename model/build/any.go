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
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 17
		if depth == 0 {
			kinds = 15
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int8().Draw(t, "int8")
		case 3:
			return rapid.Uint8().Draw(t, "uint8")
		case 4:
			return rapid.Int16().Draw(t, "int16")
		case 5:
			return rapid.Uint16().Draw(t, "uint16")
		case 6:
			return rapid.Int32().Draw(t, "int32")
		case 7:
			return rapid.Uint32().Draw(t, "uint32")
		case 8:
			return rapid.Int64().Draw(t, "int64")
		case 9:
			return rapid.Uint64().Draw(t, "uint64")
		case 10:
			return math.Float32frombits(rapid.Uint32().Draw(t, "float32"))
		case 11:
			return math.Float64frombits(rapid.Uint64().Draw(t, "float64"))
		case 12:
			return AnyText(t, "text")
		case 13:
			switch rapid.IntRange(0, 2).Draw(t, "other") {
			case 0:
				return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			case 1:
				return time.Unix(rapid.Int64().Draw(t, "time"), 0)
			}
			return model.Decimal{Scale: rapid.Uint8().Draw(t, "scale"), Value: rapid.Int32().Draw(t, "decimal")}
		case 14:
			return model.RawValue{Type: rapid.Byte().Draw(t, "letter"), Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "raw")}
		case 15:
			list := rapid.SliceOfN(AnyValue(depth-1), 0, 4).Draw(t, "list")
			if rapid.Bool().Draw(t, "repeated") {
				return model.Repeated(list)
			}
			return list
		}
		return AnyTable(t, depth-1)
	})
}

// AnyTable draws a table of up to five headers, with nested tables and lists down to a depth.
func AnyTable(t *rapid.T, depth int) model.Table {
	table := model.Table{}
	for range rapid.IntRange(0, 5).Draw(t, "size") {
		table[AnyText(t, "key")] = AnyValue(depth).Draw(t, "value")
	}
	return table
}
