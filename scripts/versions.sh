# versions.sh is sourced, by scripts that run on several versions of RabbitMQ. The script has a function say for what
# there is to say, and runs in the repository's directory.
#
#   4.0 and 4.3   RABBITMQ_4_0 and RABBITMQ_4_3 name their rabbitmq-server scripts; else, as root on Debian and Ubuntu,
#                 they are set up in the user's cache directory, once

cache=${XDG_CACHE_HOME:-$HOME/.cache}/dlxtop/matrix
export TMPDIR=/tmp # the directory that the roots share with this machine: the nodes' files are there

. scripts/debian.sh

# wrapper writes the scripts that enter the root beside them. The mounts are in a namespace of the program's own and end with it.
wrapper() {
	mkdir -p "$1/bin" && cat >"$1/bin/rabbitmq-server" <<-END && chmod 755 "$1/bin/rabbitmq-server" && cp "$1/bin/rabbitmq-server" "$1/bin/rabbitmqctl"
		#!/bin/sh
		# Runs the program of its own name in the root beside it.
		exec $private sh -c 'mount --rbind /tmp "\$0/tmp" && mount --rbind /proc "\$0/proc" && exec chroot "\$0" "\$@"' "\${0%/*}/../root" "/usr/lib/rabbitmq/bin/\${0##*/}" "\$@"
	END
}

# server prints the rabbitmq-server script of a version, which it sets up when it is neither given nor there.
server() {
	local version=$1 variable=RABBITMQ_${1/./_} suite=forky
	[ "$version" != 4.0 ] || suite=trixie
	if [ -n "${!variable:-}" ]; then
		[ -x "${!variable}" ] && { realpath "${!variable}"; return; }
		say "$variable names ${!variable}, which is not a program"
		return 1
	fi
	if ! can_set_up; then
		say "RabbitMQ $version can be set up only by root, on Debian or Ubuntu, where mounting is allowed: give the script of one instead, $variable=/path/to/sbin/rabbitmq-server"
		return 1
	fi
	set_up "$cache/$version" "$suite" rabbitmq-server ", or the script of a RabbitMQ $version, $variable=/path/to/sbin/rabbitmq-server" || return 1
	[ -x "$cache/$version/bin/rabbitmqctl" ] || wrapper "$cache/$version" || return 1
	echo "$cache/$version/bin/rabbitmq-server"
}

# version_of prints the version in a server script's real path, and the name given when there is none. (rabbitmqctl version would tell,
# and leave an epmd running.)
version_of() {
	local script=$1 inside=${1%/*}/../root/usr/lib/rabbitmq/bin/rabbitmq-server
	[ ! -e "$inside" ] || script=$inside
	realpath "$script" | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | tail -n 1 | grep . || echo "$2"
}
