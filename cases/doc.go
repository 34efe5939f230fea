// Package cases has situations that users reported of their brokers, as a table of tests: what there is (parts), what
// happens (traffic), and what dlxtop must say about it. Each runs in its own vhost on a real node. To add one:
//
//  1. Write a situation into the file of its kind in testdata: its script is that of script_test.go. What no script
//     tells is written in Go beside it (func TestKIND), or in a new test.
//  2. parts are those of build.Text; consumers=1 starts a worker that acknowledges, a step work one that does not.
//  3. traffic publishes and waits until all has happened (w.publish, w.work, w.awaitSeen, w.depth); it never sleeps.
//  4. says has "LEVEL CODE QUEUE: words"; an error that says does not list is a false one, and fails the test.
//  5. See it fail on the old code, on each version: make cases, with DLXTOP_RABBITMQ_SERVER for another one.
package cases
