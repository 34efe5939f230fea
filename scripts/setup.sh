#!/bin/sh
# setup.sh makes sure that there is a RabbitMQ which the demo and the tests can start nodes of.
#
#   scripts/setup.sh          installs rabbitmq-server on Debian and Ubuntu when none is found
#   scripts/setup.sh --check  only says whether one is found
#   scripts/setup.sh --find   prints the path of its server script
#
# Exit status: 0 there is one; 1 there is none and this script cannot install it: what to do is on standard error.
set -eu

# find_server prints the path of a rabbitmq-server script. The places are those of demo/find.go: keep both alike.
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
	export DEBIAN_FRONTEND=noninteractive
	erlang=$(command -v erl || true) # one that was there before keeps its settings
	say "reading the package lists (apt-get update)"
	quietly apt-get -o DPkg::Lock::Timeout=300 update -qq
	say "installing the package rabbitmq-server and what it depends on (Erlang); a minute or so"
	quietly apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends rabbitmq-server
	if command -v systemctl >/dev/null 2>&1; then
		systemctl disable rabbitmq-server.service >/dev/null 2>&1 || true
		[ -n "$erlang" ] || systemctl disable epmd.service epmd.socket >/dev/null 2>&1 || true
		say "its system-wide service stays off; to use it: systemctl enable --now rabbitmq-server"
	fi
}

# ask_sudo lets a person give a password; without a terminal there is nobody to ask.
ask_sudo() {
	[ -t 0 ] || return 1
	say "no RabbitMQ found; installing the package rabbitmq-server needs root, so sudo may ask for your password"
	sudo -v
}

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
	if [ "$(id -u)" = 0 ]; then
		sh "$0" --install-debian
	elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || ask_sudo; }; then
		sudo -- sh "$0" --install-debian
	else
		docker_works && exit 0
		refuse "no RabbitMQ found, and installing one needs root or sudo, which $(id -un) does not have"
	fi
	find_server >/dev/null || refuse "the package rabbitmq-server is installed, but its server script was not found"
	exit 0
fi
docker_works || refuse "no RabbitMQ found, and this is not a Debian or Ubuntu system"
