package cause

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// A text without spaces is no id, whatever its length: its digits are folded, its words stay.
func TestWritingWithoutSpaces(t *testing.T) {
	tests := []struct{ text, want string }{
		{"订单12345在仓库系统中库存不足请联系管理员处理", "订单#在仓库系统中库存不足请联系管理员处理"},
		{"用户12345的账户余额低于最低限额无法完成支付请先充值", "用户#的账户余额低于最低限额无法完成支付请先充值"},
		{"第3行第5列", "第#行第#列"},
		{"第１２行", "第#行"}, // full-width digits
		{"用户ann@example.com，余额5.20元", "用户<email>，余额#元"},
		{"访问http://stock.example.com/v1/items/12，超时（30秒）", "访问http://stock.example.com/v1/items/…，超时（#秒）"},
		{"主机10.1.2.3不可达", "主机<ip>不可达"},
		{"文件/var/数据/12.txt 不存在", "文件<path> 不存在"},
		{"错误码：E11000", "错误码：E11000"},
		{"注文88の在庫", "注文#の在庫"},
		{"주문12345는 없습니다", "주문#는 없습니다"},
		{"заказ12345 не найден", "заказ# не найден"},
		{"Größe5 für Müller fehlt", "Größe# für Müller fehlt"},
		{"nach 5µs und 25°C", "nach # und #"},
	}
	for _, test := range tests {
		assert.Equal(t, Fold(test.text), test.want, "%s\nis", test.text)
	}
}
