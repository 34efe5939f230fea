package cause

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestOwnFrame(t *testing.T) {
	for _, c := range []struct{ name, stack, want string }{
		{"Java", `org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception
	at org.springframework.amqp.rabbit.listener.adapter.MessagingMessageListenerAdapter.invoke(MessagingMessageListenerAdapter.java:180)
	at java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.net.SocketTimeoutException: Read timed out
	at java.base/sun.nio.ch.NioSocketImpl.timedRead(NioSocketImpl.java:283)
	at com.example.shop.MailClient.lambda$send$0(MailClient.java:42)
	at com.example.shop.Worker.handle(Worker.java:12)`, "MailClient.send"},
		{
			"Java, a class that Spring generated", "java.lang.IllegalStateException: x\n" +
				"\tat com.example.shop.Mail$$SpringCGLIB$$0.send(<generated>)\n\tat com.example.shop.Worker$1.run(Worker.java:3)",
			"Worker$#.run",
		},
		{
			"Kotlin", "java.lang.IllegalStateException\n\tat kotlin.io.Foo.bar(Foo.kt:1)\n\tat shop.MailKt.send(Mail.kt:12)",
			"MailKt.send",
		},
		{".NET", `System.TimeoutException: smtp gateway
   at System.Net.Http.HttpClient.SendAsync(HttpRequestMessage request, CancellationToken token)
   at Shop.Mail.<Send>d__3.MoveNext() in /src/Shop/Mail.cs:line 42
--- End of stack trace from previous location ---
   at Shop.Worker.Consume(ConsumeContext` + "`1" + ` context) in /src/Shop/Worker.cs:line 12`, "Mail.Send"},
		{
			".NET, Windows", "System.Exception: x\r\n   at MassTransit.Foo.Bar()\r\n   at Shop.Stock.Reserve(Int32 id)\r\n",
			"Stock.Reserve",
		},
		{"Python", `Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/celery/app/trace.py", line 451, in trace_task
    R = retval = fun(*args, **kwargs)
  File "/srv/releases/20260304/shop/tasks.py", line 12, in charge
    gateway.charge(order)
  File "/srv/releases/20260304/shop/gateway.py", line 88, in charge
    raise GatewayError("down")
  File "/usr/lib/python3.11/site-packages/requests/api.py", line 5, in post
    return request()
shop.gateway.GatewayError: down`, "charge in shop/gateway.py"},
		{"PHP", `Shop\MailException: gateway down in /srv/vendor/mailer/Client.php:12
Stack trace:
#0 /srv/vendor/symfony/mailer/Mailer.php(54): Mailer\Client->send(Object(Email))
#1 [internal function]: Symfony\Mailer->send()
#2 /srv/app/src/Invoice.php(42): Symfony\Mailer->send(Object(Email))
#3 {main}`, "src/Invoice.php"},
		{"Ruby", `Net::OpenTimeout: execution expired
/usr/local/bundle/gems/net-http-0.4.1/lib/net/http.rb:1603:in ` + "`initialize'" + `
/app/lib/mail.rb:42:in ` + "`block in send'" + `
/app/workers/mail_worker.rb:12:in ` + "`work'", "send in lib/mail.rb"},
		{"Ruby 3.4", "x (RuntimeError)\n/app/lib/mail.rb:42:in 'Mail#send'\n", "Mail#send in lib/mail.rb"},
		{"Node.js", `TypeError: Cannot read properties of undefined (reading 'email')
    at processTicksAndRejections (node:internal/process/task_queues:95:5)
    at async Object.send (/app/node_modules/mailer/index.js:3:1)
    at async Mailer.send [as handler] (/app/src/mailer.js:42:11)
    at /app/src/worker.js:12:3`, "Mailer.send"},
		{"Node.js, no name", "Error: x\n    at /app/src/worker.js:12:3", "src/worker.js"},
		{"Node.js, a module", "Error: x\n    at <anonymous> (file:///app/src/worker.mjs:12:3)", "src/worker.mjs"},
		{"Go", `panic: runtime error: index out of range [5] with length 3

goroutine 17 [running]:
runtime/debug.Stack()
	/usr/local/go/src/runtime/debug/stack.go:24 +0x5e
github.com/ThreeDotsLabs/watermill/message/router/middleware.Recoverer.func1.1()
	/root/go/pkg/mod/github.com/!three!dots!labs/watermill@v1.3.5/message/router/middleware/recoverer.go:40 +0x65
example.com/shop/mail.(*Sender).Send(0xc000112240, {0xc0001a4000, 0x40})
	/app/mail/sender.go:42 +0x1d
main.main()
	/app/main.go:12 +0x20`, "mail.(*Sender).Send"},
		{"Go, pkg/errors", "mail down\nexample.com/shop/mail.Send\n\t/app/mail/sender.go:42\nruntime.goexit\n" +
			"\t/usr/local/go/src/runtime/asm_amd64.s:1594", "mail.Send"},
		{"Elixir", `** (DBConnection.ConnectionError) connection not available
    (db_connection 2.6.0) lib/db_connection.ex:1063: DBConnection.transaction/3
    (stdlib 4.3) gen_server.erl:1123: :gen_server.try_handle_info/4
    (shop 0.1.0) lib/shop/mail.ex:42: Shop.Mail.send/2`, "Shop.Mail.send/#"},
		{
			"Elixir, a clause", "** (FunctionClauseError) x\n    (shop 0.1.0) lib/shop/mail.ex:42: " +
				"Shop.Mail.send(%{id: 8812}, 3)",
			"Shop.Mail.send",
		},
		{"libraries only", "java.lang.Error: x\n\tat java.base/java.lang.Thread.run(Thread.java:840)", ""},
		{"no trace", "gateway down\nat least it says so (here)", ""},
		{"one line", "at com.example.Mail.send(Mail.java:12)", ""},
		{"nothing", "", ""},
	} {
		assert.Equal(t, ownFrame(c.stack), c.want, "%s", c.name)
	}
}

// A release changes lines and folders, and no cause.
func TestOwnFrameOfAnotherRelease(t *testing.T) {
	const stack = "Traceback (most recent call last):\n" +
		"  File \"/srv/releases/20260304/shop/mail.py\", line 12, in send\nE: x"
	later := strings.NewReplacer("20260304", "20260401", "12", "17").Replace(stack)
	a, b := ownFrame(stack), ownFrame(later)
	assert.That(t, a == b && a != "", "%q became %q", a, b)
}

func TestHeadOf(t *testing.T) {
	for text, want := range map[string]string{
		"one line":                "one line",
		"two\nlines":              "two\nlines",
		"x\n    at a.b(C.java:1)": "x\n",
		"x\nStack trace:\n#0 a":   "x\n",
		"x\r\n   at A.B()":        "x\r\n",
		"E\n[SQL: SELECT 1]\nz":   "E",
	} {
		assert.Equal(t, headOf(text), want, "%q is cut to", text)
	}
}
