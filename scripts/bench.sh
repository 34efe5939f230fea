#!/usr/bin/env bash
# bench.sh measures everything on the installed RabbitMQ, and whole commands and the large brokers on 4.3, too: as a
# user has them, one after the other, on a machine that should do nothing else. An hour or so.
#
#   scripts/bench.sh Commands   only the benchmarks whose name matches
#
# RABBITMQ_4_3 names the rabbitmq-server script of a 4.3; without it, it is set up as for `make matrix`.
# Exit status: 0 measured; 1 a benchmark failed; 3 there is no 4.3: what was measured is printed.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "bench: $*" >&2; }

. scripts/versions.sh

only=${1:-.}
bench() { go test -run '^$' -bench "$1" -benchtime 1x -timeout 90m -v "${@:2}"; }

bench "$only" ./...
newest=$(server 4.3) || exit 3
export DLXTOP_RABBITMQ_SERVER=$newest
if [ "$only" = . ]; then bench 'Commands|Large' ./bench; else bench "$only" ./bench; fi
