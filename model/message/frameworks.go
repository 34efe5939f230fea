package message

// frameworks is the table of what dlxtop knows: one row for each framework and its evidence. When two match a message,
// the upper one wins. docs/frameworks describes each.
var frameworks = []framework{
	{
		name: "Spring AMQP",
		evidence: []evidence{
			{headers: []string{"x-exception-message"}},
			{headers: []string{"x-exception-stacktrace"}},
			{headers: []string{"x-original-exchange", "x-original-routingKey"}},
			{texts: headers("__TypeId__")},
		},
		failures: []failureForm{
			{
				needs: headers("x-exception-message"), kind: headers("x-exception-fqcn", "x-exception-type"),
				message: headers("x-exception-message"), trace: headers("x-exception-stacktrace"),
			},
			// an exception without a message
			{needs: headers("x-exception-stacktrace"), trace: headers("x-exception-stacktrace")},
		},
		task:  headers("__TypeId__"),
		stale: headers("x-exception-*"),
	},
	{
		name:     "MassTransit",
		evidence: []evidence{{prefix: "MT-"}},
		failures: []failureForm{
			{
				needs: headers("MT-Fault-ExceptionType"), kind: headers("MT-Fault-ExceptionType"),
				message: headers("MT-Fault-Message"),
			},
			// a skipped message has only a reason
			{needs: headers("MT-Reason"), kind: headers("MT-Reason")},
		},
		stack:    headers("MT-Fault-StackTrace"),
		failedAt: headers("MT-Fault-Timestamp"),
		task:     headers("MT-Fault-MessageType", "MT-MessageType"),
		tries: []counter{
			{spot: header("MT-Redelivery-Count"), absent: true}, {spot: header("MT-Fault-RetryCount"), absent: true},
		},
		stale: headers("MT-Reason", "MT-Fault-*"),
	},
	{
		name:     "NServiceBus",
		evidence: []evidence{{prefix: "NServiceBus."}},
		failures: []failureForm{{
			needs:   headers("NServiceBus.ExceptionInfo.ExceptionType"),
			kind:    headers("NServiceBus.ExceptionInfo.ExceptionType"),
			message: headers("NServiceBus.ExceptionInfo.Message"),
		}},
		stack:    headers("NServiceBus.ExceptionInfo.StackTrace"),
		failedAt: headers("NServiceBus.TimeOfFailure"),
		task:     headers("NServiceBus.EnclosedMessageTypes"),
		tries: []counter{
			{spot: header("NServiceBus.Retries"), absent: true}, {spot: header("NServiceBus.FLRetries"), absent: true},
		},
		stale: headers("NServiceBus.ExceptionInfo.*", "NServiceBus.FailedQ", "NServiceBus.TimeOfFailure",
			"NServiceBus.Retries.Timestamp"),
	},
	{
		name: "Wolverine",
		evidence: []evidence{
			{texts: headers("exception-type", "exception-message")},
			{headers: []string{"attempts", "conversation-id", "source"}},
		},
		failures: []failureForm{{
			needs: headers("exception-type"), kind: headers("exception-type"), message: headers("exception-message"),
		}},
		stack:    headers("exception-stack"),
		failedAt: headers("failed-at"),
		task:     headers("message-type"),
		tries:    []counter{{spot: header("attempts"), attempts: true}},
		stale:    headers("exception-type", "exception-message", "exception-stack", "failed-at"),
	},
	{
		name:     "Rebus",
		evidence: []evidence{{prefix: "rbs2-"}},
		failures: []failureForm{{needs: headers("rbs2-error-details"), trace: headers("rbs2-error-details")}},
		task:     headers("rbs2-msg-type"),
		tries:    []counter{{spot: header("rbs2-defer-count"), absent: true}},
		stale:    headers("rbs2-error-details", "rbs2-source-queue"),
	},
	{
		name:     "Watermill",
		evidence: []evidence{{headers: []string{"_watermill_message_uuid"}}, {headers: []string{"reason_poisoned"}}},
		failures: []failureForm{{needs: headers("reason_poisoned"), trace: headers("reason_poisoned")}},
		stale:    headers("reason_poisoned", "topic_poisoned", "handler_poisoned", "subscriber_poisoned"),
	},
	{
		name: "Rascal",
		evidence: []evidence{
			{texts: []spot{header("rascal", "originalQueue")}}, {texts: []spot{header("rascal", "error", "message")}},
		},
		failures: []failureForm{{
			needs: []spot{header("rascal", "error", "message")}, kind: []spot{header("rascal", "error", "code")},
			message: []spot{header("rascal", "error", "message")},
		}},
		stack: []spot{header("rascal", "error", "stack")},
		tries: []counter{
			{spot: header("rascal", "recovery", "*", "forwarded")},
			{spot: header("rascal", "recovery", "*", "republished")},
		},
		stale: []spot{header("rascal", "error")},
		// With x-death stripped, the worker cannot see that the nack has happened (SubscriberSession: it removes the mark
		// only when x-death grew), so both are removed, as Rascal itself does. Keeping x-death could lose the message on 3.x.
		recovery: []path{{"rascal", "recovery", "*", "immediateNack"}, {"rascal", "recovery", "*", "xDeath"}},
	},
	{
		name: "Celery",
		evidence: []evidence{
			{texts: headers("task", "id"), headers: []string{"retries", "root_id"}}, // protocol 2
			{begins: jsonObjects, members: []string{"task", "id", "args", "kwargs", "retries", "expires"}},
		},
		failures: []failureForm{{ // of a result
			needs: bodies("task_id", "status", "traceback"),
			kind:  []spot{body("result", "exc_type")}, trace: bodies("traceback"),
		}},
		task:       []spot{header("task"), body("task")},
		tries:      []counter{{spot: header("retries")}, {spot: body("retries")}},
		eta:        []spot{header("eta"), body("eta")},
		expires:    []spot{header("expires"), body("expires")},
		namesReply: true,
	},
	{
		name:     "Symfony Messenger",
		evidence: []evidence{{prefix: symfonyStamp}, {begins: symfonyBodies}},
		stamps:   true,
	},
	{
		name: "Sneakers",
		evidence: []evidence{
			{headers: []string{"retry_info"}},
			{begins: jsonObjects, members: []string{"num_attempts", "failed_at", "payload"}},
		},
		failures: []failureForm{
			{
				needs:   []spot{header("retry_info", "num_attempts")}, // Kicks too: JSON text in one header
				kind:    []spot{header("retry_info", "error_class"), header("retry_info", "error")},
				message: []spot{header("retry_info", "error_message")},
			},
			{ // the envelope of the older handlers, with its payload in base64
				needs: bodies("num_attempts", "failed_at", "payload"), kind: bodies("error_class", "error"),
				message: bodies("error_message"),
			},
		},
		stack:    []spot{header("retry_info", "backtrace"), body("backtrace")},
		failedAt: []spot{header("retry_info", "failed_at"), body("failed_at")},
		tries:    []counter{{spot: header("retry_info", "num_attempts"), attempts: true, absent: true}},
		stale:    headers("retry_info"),
	},
	{
		name:     "EasyNetQ",
		evidence: []evidence{{kind: EasyNetQType}, {begins: jsonObjects, members: easyNetQMembers}},
		failures: []failureForm{{
			needs: bodies("Exception", "RoutingKey", "Exchange", "Message"), trace: bodies("Exception"),
		}},
		failedAt: bodies("DateTime"),
	},
	{
		name:     "Dramatiq",
		evidence: []evidence{{begins: jsonObjects, members: dramatiqMembers}},
		failures: []failureForm{{
			needs: []spot{body("actor_name"), body("options", "traceback")},
			trace: []spot{body("options", "traceback")},
		}},
		task:  bodies("actor_name"),
		tries: []counter{{spot: body("options", "retries"), absent: true}}, // resetting its envelope does it
	},
	{
		name: "Machinery",
		evidence: []evidence{
			{begins: jsonObjects, members: []string{"UUID", "Name", "RoutingKey", "ETA", "RetryCount", "RetryTimeout"}},
		},
		task: bodies("Name"),
		eta:  bodies("ETA"), earlyRun: true,
		left: bodies("RetryCount"),
	},
	{
		name:     "Faktory",
		evidence: []evidence{{begins: jsonObjects, members: []string{"jid", "jobtype", "args"}}},
		failures: []failureForm{{
			needs: []spot{body("jid"), body("failure", "message")}, kind: []spot{body("failure", "errtype")},
			message: []spot{body("failure", "message")},
		}},
		failedAt: []spot{body("failure", "failed_at")},
		task:     bodies("jobtype"),
		tries:    []counter{{spot: body("failure", "retry_count")}},
		stale:    bodies("failure"),
	},
	{
		name: "Brighter",
		evidence: []evidence{
			{headers: []string{"HandledCount", "Topic"}}, {headers: []string{"HandledCount", "MessageType"}},
		},
		task:  headers("Topic"),
		tries: []counter{{spot: header("HandledCount")}},
	},
	{
		name: "Laravel", // by the driver laravel-queue-rabbitmq
		evidence: []evidence{
			{headers: []string{"laravel"}}, {begins: jsonObjects, members: []string{"displayName", "job", "maxTries", "data"}},
		},
		task:  bodies("displayName"),
		tries: []counter{{spot: header("laravel", "attempts")}},
	},
	{name: "Nameko", evidence: []evidence{{prefix: "nameko."}}},
}

// headerPrefixes are all header prefixes that are evidence.
var headerPrefixes = []string{"MT-", "NServiceBus.", "rbs2-", symfonyStamp, "nameko."}

// jsonObjects are the beginnings of JSON objects, as frameworks write them, without a preceding line.
var jsonObjects = []string{"{"}

// symfonyStamp begins the headers in which Symfony's JSON serializer writes one stamp each.
const symfonyStamp = "X-Message-Stamp-"

// symfonyBodies are the beginnings of bodies that Symfony's PHP serializer writes: an envelope with escaped quotes and
// backslashes, in base64 when it is not UTF-8.
var symfonyBodies = []string{
	`O:36:\"Symfony\\Component\\Messenger\\Envelope\":`,
	"TzozNjpcIlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxFbnZlbG9wZVwi",
}
