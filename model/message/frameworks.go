package message

// frameworks is the table of what dlxtop knows: one row, one framework, and its evidence. Where two would read the same
// message the one above does. docs/frameworks describes each.
var frameworks = []framework{
	{
		name: "Spring AMQP",
		evidence: []evidence{
			{headers: []string{"x-exception-message"}},
			{headers: []string{"x-exception-stacktrace"}},
			{headers: []string{"x-original-exchange", "x-original-routingKey"}},
			{texts: []path{{"__TypeId__"}}},
		},
		failures: []failureForm{
			{
				in: inHeaders, needs: []path{{"x-exception-message"}},
				kind:    []path{{"x-exception-fqcn"}, {"x-exception-type"}},
				message: []path{{"x-exception-message"}},
				trace:   []path{{"x-exception-stacktrace"}},
			},
			// an exception without a message
			{in: inHeaders, needs: []path{{"x-exception-stacktrace"}}, trace: []path{{"x-exception-stacktrace"}}},
		},
		task:  []spot{header("__TypeId__")},
		stale: []spot{header("x-exception-*")},
	},
	{
		name:     "MassTransit",
		evidence: []evidence{{prefix: "MT-"}},
		failures: []failureForm{
			{
				in: inHeaders, needs: []path{{"MT-Fault-ExceptionType"}},
				kind: []path{{"MT-Fault-ExceptionType"}}, message: []path{{"MT-Fault-Message"}},
			},
			// a skipped message has only a reason
			{in: inHeaders, needs: []path{{"MT-Reason"}}, kind: []path{{"MT-Reason"}}},
		},
		task: []spot{header("MT-Fault-MessageType"), header("MT-MessageType")},
		tries: []counter{
			{spot: header("MT-Redelivery-Count"), absent: true}, {spot: header("MT-Fault-RetryCount"), absent: true},
		},
		stale: []spot{header("MT-Reason"), header("MT-Fault-*")},
	},
	{
		name:     "NServiceBus",
		evidence: []evidence{{prefix: "NServiceBus."}},
		failures: []failureForm{{
			in: inHeaders, needs: []path{{"NServiceBus.ExceptionInfo.ExceptionType"}},
			kind:    []path{{"NServiceBus.ExceptionInfo.ExceptionType"}},
			message: []path{{"NServiceBus.ExceptionInfo.Message"}},
		}},
		task: []spot{header("NServiceBus.EnclosedMessageTypes")},
		tries: []counter{
			{spot: header("NServiceBus.Retries"), absent: true}, {spot: header("NServiceBus.FLRetries"), absent: true},
		},
		stale: []spot{
			header("NServiceBus.ExceptionInfo.*"), header("NServiceBus.FailedQ"), header("NServiceBus.TimeOfFailure"),
			header("NServiceBus.Retries.Timestamp"),
		},
	},
	{
		name: "Wolverine",
		evidence: []evidence{
			{texts: []path{{"exception-type"}, {"exception-message"}}},
			{headers: []string{"attempts", "conversation-id", "source"}},
		},
		failures: []failureForm{{
			in: inHeaders, needs: []path{{"exception-type"}},
			kind: []path{{"exception-type"}}, message: []path{{"exception-message"}},
		}},
		task:  []spot{header("message-type")},
		tries: []counter{{spot: header("attempts"), attempts: true}},
		stale: []spot{
			header("exception-type"), header("exception-message"), header("exception-stack"), header("failed-at"),
		},
	},
	{
		name:     "Rebus",
		evidence: []evidence{{prefix: "rbs2-"}},
		failures: []failureForm{
			{in: inHeaders, needs: []path{{"rbs2-error-details"}}, trace: []path{{"rbs2-error-details"}}},
		},
		task:  []spot{header("rbs2-msg-type")},
		tries: []counter{{spot: header("rbs2-defer-count"), absent: true}},
		stale: []spot{header("rbs2-error-details"), header("rbs2-source-queue")},
	},
	{
		name:     "Watermill",
		evidence: []evidence{{headers: []string{"_watermill_message_uuid"}}, {headers: []string{"reason_poisoned"}}},
		failures: []failureForm{{in: inHeaders, needs: []path{{"reason_poisoned"}}, trace: []path{{"reason_poisoned"}}}},
		stale: []spot{
			header("reason_poisoned"), header("topic_poisoned"), header("handler_poisoned"), header("subscriber_poisoned"),
		},
	},
	{
		name: "Rascal",
		evidence: []evidence{
			{texts: []path{{"rascal", "originalQueue"}}}, {texts: []path{{"rascal", "error", "message"}}},
		},
		failures: []failureForm{{
			in: inHeaders, needs: []path{{"rascal", "error", "message"}},
			kind: []path{{"rascal", "error", "code"}}, message: []path{{"rascal", "error", "message"}},
		}},
		tries: []counter{
			{spot: header("rascal", "recovery", "*", "forwarded")},
			{spot: header("rascal", "recovery", "*", "republished")},
		},
		stale: []spot{header("rascal", "error")},
		// With x-death stripped, nothing tells its worker that the nack has been (SubscriberSession: the mark goes only when
		// x-death grew), so both go, as Rascal itself takes them off. Kept, x-death could lose the message on 3.x.
		recovery: []path{{"rascal", "recovery", "*", "immediateNack"}, {"rascal", "recovery", "*", "xDeath"}},
	},
	{
		name: "Celery",
		evidence: []evidence{
			{texts: []path{{"task"}, {"id"}}, headers: []string{"retries", "root_id"}}, // protocol 2
			{begins: jsonObjects, members: []string{"task", "id", "args", "kwargs", "retries", "expires"}},
			{begins: []string{"\x80"}, words: []string{"task", "kwargs", "retries", "expires"}},
		},
		failures: []failureForm{{ // of a result, in JSON or pickled
			in: inBody, needs: []path{{"task_id"}, {"status"}, {"traceback"}},
			kind: []path{{"result", "exc_type"}, {"result", "$class"}}, trace: []path{{"traceback"}},
		}},
		task:       []spot{header("task"), body("task")},
		tries:      []counter{{spot: header("retries")}, {spot: body("retries")}},
		eta:        []spot{header("eta"), body("eta")},
		expires:    []spot{header("expires"), body("expires")},
		namesReply: true,
	},
	{
		name: "Symfony Messenger",
		evidence: []evidence{
			{prefix: symfonyStamp},
			{begins: symfonyBodies},
		},
		stamps: true,
	},
	{
		name: "Sneakers",
		evidence: []evidence{
			{headers: []string{"retry_info"}},
			{begins: jsonObjects, members: []string{"num_attempts", "failed_at", "payload"}},
		},
		failures: []failureForm{
			{
				in: inHeaders, needs: []path{{"retry_info", "num_attempts"}}, // Kicks too: JSON text in one header
				kind:    []path{{"retry_info", "error_class"}, {"retry_info", "error"}},
				message: []path{{"retry_info", "error_message"}},
			},
			{
				in:      inBody, // the envelope of the older handlers, its payload in base64
				needs:   []path{{"num_attempts"}, {"failed_at"}, {"payload"}},
				kind:    []path{{"error_class"}, {"error"}},
				message: []path{{"error_message"}},
			},
		},
		tries: []counter{{spot: header("retry_info", "num_attempts"), attempts: true, absent: true}},
		stale: []spot{header("retry_info")},
	},
	{
		name: "EasyNetQ",
		evidence: []evidence{
			{kind: EasyNetQType},
			{begins: jsonObjects, members: easyNetQMembers},
		},
		failures: []failureForm{{
			in: inBody, needs: []path{{"Exception"}, {"RoutingKey"}, {"Exchange"}, {"Message"}},
			trace: []path{{"Exception"}},
		}},
	},
	{
		name: "Dramatiq",
		evidence: []evidence{
			{begins: jsonObjects, members: dramatiqMembers},
		},
		failures: []failureForm{{
			in: inBody, needs: []path{{"actor_name"}, {"options", "traceback"}},
			trace: []path{{"options", "traceback"}},
		}},
		task:  []spot{body("actor_name")},
		tries: []counter{{spot: body("options", "retries"), absent: true}}, // its envelope resets it
	},
	{
		name: "Machinery",
		evidence: []evidence{
			{begins: jsonObjects, members: []string{"UUID", "Name", "RoutingKey", "ETA", "RetryCount", "RetryTimeout"}},
		},
		task: []spot{body("Name")},
		eta:  []spot{body("ETA")}, earlyRun: true,
		left: []spot{body("RetryCount")},
	},
	{
		name: "Faktory",
		evidence: []evidence{
			{begins: jsonObjects, members: []string{"jid", "jobtype", "args"}},
		},
		failures: []failureForm{{
			in: inBody, needs: []path{{"jid"}, {"failure", "message"}},
			kind: []path{{"failure", "errtype"}}, message: []path{{"failure", "message"}},
		}},
		task:  []spot{body("jobtype")},
		tries: []counter{{spot: body("failure", "retry_count")}},
		stale: []spot{body("failure")},
	},
	{
		name: "Brighter",
		evidence: []evidence{
			{headers: []string{"HandledCount", "Topic"}}, {headers: []string{"HandledCount", "MessageType"}},
		},
		task:  []spot{header("Topic")},
		tries: []counter{{spot: header("HandledCount")}},
	},
	{
		name: "Laravel", // by the driver laravel-queue-rabbitmq
		evidence: []evidence{
			{headers: []string{"laravel"}},
			{begins: jsonObjects, members: []string{"displayName", "job", "maxTries", "data"}},
		},
		task:  []spot{body("displayName")},
		tries: []counter{{spot: header("laravel", "attempts")}},
	},
	{
		name:     "Nameko",
		evidence: []evidence{{prefix: "nameko."}},
	},
}

// headerPrefixes are all prefixes of headers that are evidence.
var headerPrefixes = []string{"MT-", "NServiceBus.", "rbs2-", symfonyStamp, "nameko."}

// jsonObjects are how JSON objects begin: as frameworks write them, without a line before.
var jsonObjects = []string{"{"}

// symfonyStamp begins the headers in which Symfony's serializer for JSON writes a stamp each.
const symfonyStamp = "X-Message-Stamp-"

// symfonyBodies are how the body begins that Symfony's PHP serializer writes: an envelope with slashes before its
// quotes and backslashes, in base64 when it is no UTF-8.
var symfonyBodies = []string{
	`O:36:\"Symfony\\Component\\Messenger\\Envelope\":`,
	"TzozNjpcIlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxFbnZlbG9wZVwi",
}
