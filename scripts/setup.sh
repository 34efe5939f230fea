#!/bin/sh
# setup.sh makes sure that there is a RabbitMQ which the demo and the tests can start nodes of.
#
#   scripts/setup.sh          installs rabbitmq-server on Debian and Ubuntu when none is found
#   scripts/setup.sh --check  only says whether one is found
#   scripts/setup.sh --find   prints the path of its server script
#   scripts/setup.sh --pika   installs python3-pika on Debian and Ubuntu when it is not there: one of the two applications
#                             of `make race` is written with it. Elsewhere the test says what is missing
#
# Exit status: 0 there is one; 1 there is none and this script cannot install it: what to do is on standard error.
set -eu

# find_server prints the path of a rabbitmq-server script. The places are those of demo/installed.go: keep both alike.
find_server() {
	for server in \
		"${DLXTOP_RABBITMQ_SERVER:-}" \
		${RABBITMQ_HOME:+"$RABBITMQ_HOME/sbin/rabbitmq-server"} \
		/usr/lib/rabbitmq/bin/rabbitmq-server \
		/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server \
		/opt/rabbitmq/sbin/rabbitmq-server \
		/opt/homebrew/opt/rabbitmq/sbin/rabbitmq-server \
		/usr/local/opt/rabbitmq/sbin/rabbitmq-server \
		/home/linuxbrew/.linuxbrew/opt/rabbitmq/sbin/rabbitmq-server \
		"$(command -v rabbitmq-server || true)"; do
		case $server in
		'') ;;
		# Debian's wrapper insists on running as the user rabbitmq; the real script is in the list above it.
		/usr/sbin/rabbitmq-server) ;;
		*) [ -x "$server" ] && [ ! -d "$server" ] && { echo "$server"; return 0; } ;;
		esac
	done
	return 1
}

docker_works() {
	command -v docker >/dev/null 2>&1 && docker info >/dev/null 2>&1
}

is_debian() {
	[ -r /etc/os-release ] && command -v apt-get >/dev/null 2>&1 &&
		grep -Eq '^(ID|ID_LIKE)=.*(debian|ubuntu)' /etc/os-release
}

say() { echo "setup: $*" >&2; }

# quietly runs a command and shows its output only when it fails.
quietly() {
	log=$(mktemp)
	if "$@" >"$log" 2>&1 </dev/null; then
		rm -f "$log"
	else
		status=$?
		cat "$log" >&2
		rm -f "$log"
		say "\"$*\" failed with status $status"
		return "$status"
	fi
}

# install_package runs as root.
install_package() {
	export DEBIAN_FRONTEND=noninteractive
	say "reading the package lists (apt-get update)"
	quietly apt-get -o DPkg::Lock::Timeout=300 update -qq
	say "installing the package $1 and what it depends on; a minute or so"
	quietly apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$1"
}

# install_debian runs as root. The package would start a broker for the whole machine, now (which policy-rc.d forbids) and
# at every boot (which disabling it forbids); the demo and the tests only want its files.
install_debian() {
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		# Removed whatever happens, an interrupt included: left behind it would keep every later package's service from starting.
		trap 'rm -f "$policy"' EXIT
		trap 'exit 130' INT TERM HUP
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	fi
	erlang=$(command -v erl || true) # one that was there before keeps its settings
	install_package rabbitmq-server
	if command -v systemctl >/dev/null 2>&1; then
		systemctl disable rabbitmq-server.service >/dev/null 2>&1 || true
		[ -n "$erlang" ] || systemctl disable epmd.service epmd.socket >/dev/null 2>&1 || true
		say "its system-wide service stays off; to use it: systemctl enable --now rabbitmq-server"
	fi
}

# may_install reports whether this user can install a package: is root, or becomes it by sudo, to which a person may have
# to give a password. Without a terminal there is nobody to ask.
may_install() {
	[ "$(id -u)" = 0 ] && return 0
	command -v sudo >/dev/null 2>&1 || return 1
	sudo -n true 2>/dev/null && return 0
	[ -t 0 ] || return 1
	say "installing the package $1 needs root, so sudo may ask for your password"
	sudo -v
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -- "$@"; fi; }

refuse() {
	say "$1"
	cat >&2 <<'END'
dlxtop needs a RabbitMQ of which the demo and the tests start throwaway nodes. Install one, as it suits this system:
    Debian, Ubuntu:  apt-get install rabbitmq-server   (as root)
    macOS:           brew install rabbitmq
    any:             Docker, running: the demo then starts the image rabbitmq:4-management itself
or name the rabbitmq-server script of an unpacked RabbitMQ: DLXTOP_RABBITMQ_SERVER=/path/to/sbin/rabbitmq-server
END
	exit 1
}

if [ "${1:-}" = --install-debian ]; then # how this script calls itself as root
	install_debian
	exit 0
fi
if [ "${1:-}" = --install-pika ]; then
	install_package python3-pika
	exit 0
fi
if [ "${1:-}" = --pika ]; then
	if is_debian && ! /usr/bin/python3 -c 'import pika' 2>/dev/null; then
		may_install python3-pika && as_root sh "$0" --install-pika || say "python3-pika is not installed; the test that needs it fails"
	fi
	exit 0
fi
if [ -n "${DLXTOP_RABBITMQ_SERVER:-}" ] && [ ! -x "$DLXTOP_RABBITMQ_SERVER" ]; then
	say "DLXTOP_RABBITMQ_SERVER names $DLXTOP_RABBITMQ_SERVER, which is not a program"
	exit 1
fi
if [ "${1:-}" = --find ]; then
	find_server
	exit
fi
if find_server >/dev/null; then
	exit 0
fi
if [ "${1:-}" = --check ]; then
	docker_works || refuse "no RabbitMQ found"
	exit 0
fi
if is_debian; then
	if may_install rabbitmq-server; then
		as_root sh "$0" --install-debian
	else
		docker_works && exit 0
		refuse "no RabbitMQ found, and installing one needs root or sudo, which $(id -un) does not have"
	fi
	find_server >/dev/null || refuse "the package rabbitmq-server is installed, but its server script was not found"
	exit 0
fi
docker_works || refuse "no RabbitMQ found, and this is not a Debian or Ubuntu system"
