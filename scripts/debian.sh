# debian.sh is sourced, by scripts that need packages of another Debian than this machine's: it makes minimal roots of
# them with debootstrap, as root on Debian and Ubuntu. The script has a function say for what there is to say.
#
# DEBIAN_MIRROR names the mirror; by default it is the one in the machine's own apt sources.

# private is how a mount namespace of one's own is made: in a chroot, whose root is no mount, its propagation has to stay
# as it is.
private='unshare -m'
$private true 2>/dev/null || private='unshare -m --propagation unchanged'

# can_set_up reports whether this machine can make such roots.
can_set_up() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && $private true 2>/dev/null; }

# mirror prints where this Debian's apt gets its main component from.
mirror() {
	[ -z "${DEBIAN_MIRROR:-}" ] || { echo "$DEBIAN_MIRROR"; return; }
	(
		. /etc/os-release
		[ "$ID" != debian ] || apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(RELEASE) $(CODENAME)' |
			awk -v own="${VERSION_CODENAME:-}" '$2 == "main" && ($3 == own || $4 == own) && !seen++ { print $1 }'
	)
}

install_debootstrap() {
	say "installing the package debootstrap"
	apt-get -o DPkg::Lock::Timeout=300 update -qq
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends debootstrap debian-archive-keyring
}

# make_root makes a minimal Debian with a package in a new directory. Its own mount namespace leaves nothing mounted,
# interrupted or not; the new name tells that it is whole.
make_root() {
	local dir=$1 suite=$2 package=$3 mirror=$4 half=$1.half
	say "setting up $package of Debian's $suite (300 to 400 MB) in $dir, once; a minute or so"
	rm -rf --one-file-system "$half" && mkdir -p "$half" || return 1
	if ! $private debootstrap --variant=minbase --include="$package" "$suite" "$half/root" "$mirror" sid >"$half/log" 2>&1 </dev/null; then
		tail -n 20 "$half/log" >&2
		say "debootstrap failed; its whole log is $half/log"
		return 1
	fi
	rm -f "$half"/root/var/cache/apt/archives/*.deb
	# Without this the node waits long for its own name; not every suite writes it.
	grep -qs localhost "$half/root/etc/hosts" || echo '127.0.0.1 localhost' >>"$half/root/etc/hosts" || return 1
	mv "$half" "$dir"
}

# set_up makes such a root unless it is there. instead says what can be given when it cannot be made.
set_up() (
	dir=$1 suite=$2 package=$3 instead=$4
	mkdir -p "${dir%/*}" && exec 9>"${dir%/*}/lock" && flock 9 || exit 1 # two at once would make the same root
	[ ! -d "$dir" ] || exit 0
	from=$(mirror) || from=
	if [ -z "$from" ]; then
		say "this machine's apt sources name no mirror of Debian: give one, DEBIAN_MIRROR=URL$instead"
		exit 1
	fi
	command -v debootstrap >/dev/null || install_debootstrap >&2 || {
		say "debootstrap is missing and could not be installed: install it$instead"
		exit 1
	}
	make_root "$dir" "$suite" "$package" "$from"
)
