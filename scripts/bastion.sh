#!/usr/bin/env bash
# bastion.sh runs a released binary where nothing else is: in a root with only the program, as a user without a home and
# without rights, and in further roots if named. Root on Linux; a RabbitMQ at 127.0.0.1 for DLXTOP_URL.
#   scripts/bastion.sh BINARY [ROOT…]
set -euo pipefail
binary=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
export DLXTOP_URL=${DLXTOP_URL:-amqp://guest:guest@127.0.0.1:5672/%2f}
unset HOME
for root in "$work" "$@"; do
	install -m 755 "$binary" "$root/dlxtop"
	for user in 0:0 65534:65534; do
		for args in version 'explain dlx-missing' flows 'peek nowhere' journal; do
			status=0
			out=$(chroot --userspec="$user" "$root" /dlxtop $args </dev/null 2>&1) || status=$?
			printf '%-28s %-12s %-40s %s %s\n' "${root/#$work/nothing else}" "$user" "$args" "$status" "$(head -c 60 <<<"$out" | head -1)"
		done
	done
	rm "$root/dlxtop"
done
