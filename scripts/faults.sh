#!/usr/bin/env bash
# faults.sh strikes a node of a cluster while dlxtop acts on 10,000 messages, again and again: DLXTOP_FULL commands on
# RabbitMQ 4.3, a fifth as many on 4.0 and on the installed one (scripts/versions.sh says where they are from).
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "faults: $*" >&2; }

. scripts/versions.sh

run() {
	say "$2 commands on $1"
	DLXTOP_RABBITMQ_SERVER=$1 DLXTOP_FULL=$2 \
		go test -tags faults -count=1 -run 'TestClusterEnds$' -v -parallel 32 -timeout 180m ./e2e
}

installed=$(sh scripts/setup.sh --find)
server40=$(server 4.0)
server43=$(server 4.3)
run "$server43" "$DLXTOP_FULL"
run "$server40" "$(((DLXTOP_FULL + 4) / 5))"
run "$installed" "$(((DLXTOP_FULL + 4) / 5))"
