// Package cli is dlxtop's command line: the same engine as the dashboard, for scripts and runbooks.
//
// Data goes to standard output and nothing else does; progress, warnings, questions and errors go to standard error. The
// exit statuses are ExitDone to ExitInterrupted. JSON is a contract: keys in snake_case, times in RFC 3339 with milliseconds,
// durations as integers named _ms, and what is unknown is left out.
package cli
