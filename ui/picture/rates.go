package picture

import (
	"strconv"

	"github.com/dlxtop/dlxtop/model"
)

// perSecond writes a rate: "38.2/s", "1,204/s".
func perSecond(rate float64) string {
	if rate >= 100 {
		return model.Count(int64(rate+0.5)) + "/s"
	}
	return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
}
