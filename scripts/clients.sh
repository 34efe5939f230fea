#!/usr/bin/env bash
# clients.sh runs dlxtop on the applications in clients/apps, which stand on real client frameworks, and prints a table of
# what it did right: framework x check. Linux only.
#
# What the applications need is installed where it can be: Debian's packages as root, npm's into the user's cache, and
# there, too, a newer Celery in a minimal root of Debian's trixie, 300 MB. What cannot be had is a row "not run: why", and
# the exit status is not 0.
#
#   scripts/clients.sh [go test flags]   -run 'TestClients/Celery': that one
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(
	php-cli php-xml php-amqp php-amqplib php-symfony-messenger php-symfony-amqp-messenger php-symfony-event-dispatcher
	php-symfony-serializer php-symfony-property-access python3-celery python3-pika python3-qpid-proton ruby-bunny
	libanyevent-rabbitmq-perl default-jdk-headless librabbitmq-client-java libslf4j-java amqp-tools
)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dlxtop/clients
trixie=${XDG_CACHE_HOME:-$HOME/.cache}/dlxtop/debian/trixie

say() { echo "clients: $*" >&2; }
. scripts/debian.sh

# wrapper writes the script that runs Python in the root beside it, in the directory where it is called.
wrapper() {
	mkdir -p "$1/bin" && cat >"$1/bin/trixie-python3" <<-END && chmod 755 "$1/bin/trixie-python3"
		#!/bin/sh
		exec $private sh -c 'mount --rbind /proc "\$0/proc" && mount --bind . "\$0/mnt" && exec chroot "\$0" env -C /mnt python3 "\$@"' "\${0%/*}/../root" "\$@"
	END
}

missing=()
if command -v dpkg-query >/dev/null; then
	for package in "${packages[@]}"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	command -v npm >/dev/null || missing+=(nodejs npm)
fi
if [ ${#missing[@]} != 0 ] && [ "$(id -u)" = 0 ]; then
	say "installing the packages ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -o DPkg::Lock::Timeout=300 update -qq >&2 &&
		apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${missing[@]}" >&2 ||
		say "they could not all be installed"
elif [ ${#missing[@]} != 0 ]; then
	say "not root, so these packages are not installed: ${missing[*]}"
fi

# The modules are not in the tree: some have Go files in them.
if command -v npm >/dev/null && ! cmp -s clients/apps/node/package-lock.json "$cache/package-lock.json"; then
	say "installing the npm modules into $cache"
	rm -rf "$cache" && mkdir -p "$cache"
	cp clients/apps/node/package.json clients/apps/node/package-lock.json "$cache/"
	(cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund >&2) || { rm -rf "$cache" && say "npm ci failed"; }
fi
if can_set_up; then
	set_up "$trixie" trixie python3-celery "" && wrapper "$trixie" && PATH=$PATH:$trixie/bin || true
else
	say "only root, on Debian or Ubuntu, where mounting is allowed, can set up a newer Celery"
fi
export DLXTOP_CLIENTS_NODE=$cache/node_modules
exec go test -race -tags clients -run 'TestClients$' -v -count=1 -parallel 3 -timeout 40m "$@" ./clients
