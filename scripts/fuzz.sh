#!/usr/bin/env bash
# fuzz.sh runs every fuzz target of the repository, one after another, and prints a table.
#
#   DLXTOP_FUZZ        how long each target runs: 10m by default
#   DLXTOP_FUZZ_ONLY   a regular expression: only the targets whose name matches
#   DLXTOP_FUZZ_FLAGS  further flags of the test binaries, such as -test.parallel=1
#
# A finding is written into testdata/fuzz/TARGET beside the target, and is one of its ordinary tests from then on. Inputs that
# reach new code stay in Go's cache: the next run begins with them.
# Exit status: 0 nothing was found; 1 a finding, or a target that cannot run.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${DLXTOP_FUZZ:-10m}
read -ra flags <<<"${DLXTOP_FUZZ_FLAGS:-}"
built=$(mktemp -d) && trap 'rm -rf "$built"' EXIT
log=$built/log

# last prints the last number behind some words in the log.
last() { sed -n "s/.*$1: \([0-9]*\).*/\1/p" "$log" | tail -1; }

# outcome is what became of the target whose output is in the log. Go 1.26 can end a run that found nothing with the error of its
# own deadline (go.dev/issue/75804): that is none.
outcome() {
	local finding
	finding=$(sed -n 's/.*Failing input written to //p' "$log" | tail -1)
	if [ "$1" = 0 ]; then
		echo ok
	elif [ -n "$finding" ]; then
		echo "FOUND $2/$finding"
	elif grep -q '^    context deadline exceeded$' "$log" && ! grep -qE '^panic|seed#|_test.go:' "$log"; then
		echo ok
	else
		echo FAILED
	fi
}

status=0
rows=()
# Each package that has a target is compiled once, with what the fuzzer needs to see which code an input reaches.
for dir in $(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n 1 dirname | sort -u); do
	binary=$built/${dir//\//_}.test
	go test -c -fuzz . -o "$binary" "$dir"
	cache=$(go env GOCACHE)/fuzz/$(go list "$dir")
	for target in $(cd "$dir" && "$binary" -test.list '^Fuzz' | grep '^Fuzz' | grep -E "${DLXTOP_FUZZ_ONLY:-.}" || true); do
		echo "fuzz: $target in $dir, $time" >&2
		code=0
		# By default the fuzzer minimizes each new input for up to a minute, which is nearly all that it then does with large ones.
		(cd "$dir" && exec "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 5s \
			-test.fuzzcachedir "$cache" ${flags[@]+"${flags[@]}"}) >"$log" 2>&1 </dev/null || code=$?
		result=$(outcome $code "$dir")
		[ "$result" = ok ] || { cat "$log" >&2; status=1; }
		executions=$(last execs) new=$(last 'new interesting')
		rows+=("$(printf '%-28s %-10s %12s %12s   %s' "$target" "$dir" "${executions:--}" "${new:--}" "$result")")
	done
done

[ ${#rows[@]} -gt 0 ] || { echo "fuzz: there is no such target" >&2; exit 1; }
printf '\n%-28s %-10s %12s %12s   %s\n' target package executions 'new inputs' result
printf '%s\n' "${rows[@]}"
exit $status
