// Package cli is dlxtop's command line: the same engine as the dashboard, for scripts and runbooks.
//
// Data goes to standard output and nothing else does; progress, warnings, questions and errors go to standard error.
// The exit statuses are ExitDone to ExitInterrupted. JSON is a contract: keys in snake_case, times in RFC 3339 with
// milliseconds, durations as integers named _ms, and what is unknown is left out.
//
// What takes messages out of queues or publishes them is asked about, made again from the topology of now, run and
// accounted for in one place (doing.go), and shown by report. A tap and a probe are not done there: neither has an
// account. A tap asks nothing, writes each message as it comes and runs until it is stopped; a probe is asked about
// with the same question (ask.go), and tells each stage as it is reached.
package cli
