#!/usr/bin/env bash
# matrix.sh runs the tests on real RabbitMQ nodes of three versions and prints a table, test group x version.
#
#   the installed one (3.10 on Debian 12)   as `make test` finds it: DLXTOP_RABBITMQ_SERVER names another
#   4.0 and 4.3                             RABBITMQ_4_0 and RABBITMQ_4_3 name their rabbitmq-server scripts; else, as root on
#                                           Debian and Ubuntu, they are set up in the user's cache directory, once
#
# They run in full size: DLXTOP_FULL=N is how often to repeat what is random, 2 by default; 0 is each test with the sizes of a sample,
# on 4.0 and 4.3 at once.
# The applications of `make clients` are part of it, but not of a sample: some of their checks are by the clock.
# MATRIX_SKIP_INSTALLED=1 leaves the installed one out: `make race` has just run on it.
# DEBIAN_MIRROR names the mirror for that; by default it is the one in the machine's own apt sources.
# Exit status: 0 everything ran and passed; 1 a test failed; 3 what ran passed, but a version could not be had.
set -euo pipefail
cd "$(dirname "$0")/.."

groups=(
	'broker                       ./broker/...'
	'routing, settings, findings  ./mgmt'
	'situations                   ./cases'
	'end to end                   ./e2e'
	'scenarios                    ./demo'
	'screens on a broker          ./ui/...'
	'commands                     ./cli/...'
)

say() { echo "matrix: $*" >&2; }

. scripts/versions.sh

servers=() versions=() status=0
add() {
	servers+=("$1")
	if [ -n "$1" ]; then versions+=("$(version_of "$1" "$2")"); else versions+=("$2") status=3; fi
}
add "$(sh scripts/setup.sh --find || true)" installed
add "$(server 4.0 || true)" 4.0
add "$(server 4.3 || true)" 4.3

row() { printf '%-30s' "$1" && shift && printf '%-20s' "$@" && echo; }
logs=$(mktemp -d) # I.G is the output of group G on version I, I.G.cell its cell of the table
cell() { cat "$logs/$1.$2.cell" 2>/dev/null || echo 'not run'; }
table() {
	echo
	row '' "${versions[@]}"
	for g in "${!groups[@]}"; do
		row "${groups[g]%%  *}" "$(cell 0 "$g")" "$(cell 1 "$g")" "$(cell 2 "$g")"
	done
}

trap 'table; rm -rf "$logs"' EXIT # of an interrupted run, too, what it saw
trap 'exit 130' INT TERM HUP

export DLXTOP_FULL=${DLXTOP_FULL:-2} # what `make test` does a sample of
if [ "$DLXTOP_FULL" = 0 ]; then groups+=('two applications             ./clients'); else groups+=('real applications            clients'); fi
run() {
	local -x DLXTOP_RABBITMQ_SERVER=${servers[$1]}
	case $2 in
	clients) bash scripts/clients.sh ;;
	*) bash scripts/test.sh -count=1 "$2" ;;
	esac
}

# all I runs all groups on one version, one after the other.
all() {
	local g began result
	for g in "${!groups[@]}"; do
		began=$SECONDS result=ok
		run "$1" "${groups[g]##* }" >"$logs/$1.$g" 2>&1 || { result=FAIL; cat "$logs/$1.$g"; }
		echo "$result $((SECONDS - began)) s" >"$logs/$1.$g.cell"
		say "${versions[$1]}, ${groups[g]%%  *}: $(cell "$1" "$g")"
	done
}

# The installed one is the last: `make test` runs on it, with less. A sample of the others runs side by side, because tests
# wait more than they compute; the full size has checks by the clock, and installs applications.
for i in 2 1; do
	[ -n "${servers[i]}" ] || continue
	all "$i" &
	[ "$DLXTOP_FULL" = 0 ] || wait
done
wait
[ -z "${servers[0]}" ] || [ -n "${MATRIX_SKIP_INSTALLED:-}" ] || all 0

! grep -q FAIL "$logs"/*.cell || status=1
exit "$status"
