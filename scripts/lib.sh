# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the build scripts and the VM runner: where things live, progress by
# stage, locks, publishing a finished directory, and Debian packages.
# Source it; it needs bash and sets TOP, BUILD, CACHE and JOBS.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$TOP/build}
CACHE=${TRAINIUM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trainium}
JOBS=${JOBS:-$(nproc)}

# --- progress and errors ---------------------------------------------------

# Elapsed time counts from the command the user typed, also across sub-makes.
export TRAINIUM_T0=${TRAINIUM_T0:-$EPOCHSECONDS}

say()
{
	local t=$((EPOCHSECONDS - TRAINIUM_T0))

	printf '[%d:%02d] %s\n' $((t / 60)) $((t % 60)) "$*" >&2
}

die()
{
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# run_logged LOG CMD...: CMD's output goes to LOG; its tail is shown on failure.
run_logged()
{
	local log=$1 rc=0
	shift

	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	if [ $rc -ne 0 ]; then
		tail -n 30 "$log" | sed 's/^/    /' >&2
		printf '    (whole log: %s)\n' "$log" >&2
	fi
	return $rc
}

# --- locks and atomic results ----------------------------------------------

# with_lock NAME CMD...: one at a time per cache; says so when it has to wait.
with_lock()
{
	local name=$1 fd
	shift

	mkdir -p "$CACHE/locks"
	exec {fd}>"$CACHE/locks/$name"
	if ! flock -n "$fd"; then
		say "waiting for another run that holds $name"
		flock -w 3600 "$fd" || die "$name is still locked after an hour"
	fi
	"$@"
	local rc=$?
	exec {fd}>&-
	return $rc
}

# new_tmp: a directory beside its final place; removed when the script ends.
TMPDIRS=()
new_tmp()
{
	mkdir -p "$CACHE/tmp"
	# What a killed run could not remove.
	find "$CACHE/tmp" -mindepth 1 -maxdepth 1 -mmin +1440 -exec rm -rf {} + 2>/dev/null
	NEW_TMP=$(mktemp -d "$CACHE/tmp/XXXXXX") || die "cannot write to $CACHE"
	TMPDIRS+=("$NEW_TMP")
}

clean_tmp()
{
	local d

	for d in "${TMPDIRS[@]}"; do
		rm -rf "$d"
	done
}
trap clean_tmp EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# publish TMP DEST: a directory appears whole or not at all.
publish()
{
	mkdir -p "$(dirname "$2")"
	rm -rf "$2"
	mv -T "$1" "$2"
}

# link TARGET NAME: replaces a symlink in one step.
link()
{
	mkdir -p "$(dirname "$2")"
	ln -sfn "$1" "$2.new.$$"
	mv -Tf "$2.new.$$" "$2"
}

# --- Debian -----------------------------------------------------------------

on_debian()
{
	local ID='' VERSION_ID=''

	[ -r /etc/os-release ] || return 1
	. /etc/os-release
	[ "$ID" = debian ] && case $VERSION_ID in 12|13) true ;; *) false ;; esac
}

require_debian()
{
	on_debian && return
	cat >&2 <<-EOF
	error: automatic set-up works on Debian 12 and 13 only. Elsewhere provide these
	and name them in the environment (or on make's command line):

	  QEMU=FILE    a qemu-system-x86_64 with the model in it (qemu-device/build --help
	               tells how to build one; wants gcc, meson >= 1.5, ninja, glib-2.56,
	               zlib, libattr)
	  KERNEL=FILE  a Linux 6.12 or newer bzImage, its modules in ../lib/modules/ or
	               /lib/modules/, with CONFIG_DRM_ACCEL, 9P_FS and VIRTIO
	  KDIR=DIR     build directory (headers) of that kernel
	  KSELFTEST_INC=DIR  tools/testing/selftests of a Linux 6.12 source tree
	  BUSYBOX=FILE a static busybox

	and gcc, make, meson, ninja, pkg-config, libdrm headers, cpio, kmod, flock in PATH.
	EOF
	exit 1
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "installing packages wants root or sudo; as root run: apt-get install ${APT_MISSING[*]}"
	fi
}

pkg_installed()
{
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# A private apt for another suite: own lists, own sources file, nothing of the
# user's configuration is touched. The mirror is the one the machine uses.
apt_mirror()
{
	local f uri=

	for f in /etc/apt/sources.list.d/*.sources; do
		[ -r "$f" ] || continue
		uri=$(awk 'BEGIN { IGNORECASE = 1 }
			/^#/ { next }
			/^$/ { if (deb && u) exit; deb = 0; u = "" }
			tolower($1) == "types:" && / deb( |$)/ { deb = 1 }
			tolower($1) == "uris:" { u = $2 }
			tolower($1) == "suites:" { s = $0 }
			tolower($1) == "enabled:" && tolower($2) == "no" { deb = 0 }
			END { if (deb && u && s !~ /security/) print u }' "$f")
		case $uri in */debian|*/debian/) break ;; *) uri= ;; esac
	done
	if [ -z "$uri" ]; then
		uri=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
			sed -n 's/^deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?\([^[:space:]]*\/debian\/\?\)[[:space:]].*/\2/p' |
			head -n 1)
	fi
	[ -n "$uri" ] || die "no Debian mirror found in /etc/apt/sources.list or /etc/apt/sources.list.d"
	printf '%s\n' "$uri"
}

# apt_private SUITE: sets APT_OPTS for that suite and fetches its lists.
apt_private()
{
	local suite=$1 dir=$CACHE/apt/$1 key=/usr/share/keyrings/debian-archive-keyring.gpg

	[ -r $key ] || die "the package debian-archive-keyring is missing"
	mkdir -p "$dir"/{etc,lists/partial,cache/archives/partial}
	cat >"$dir/etc/$suite.sources" <<-EOF
	Types: deb deb-src
	URIs: $(apt_mirror)
	Suites: $suite
	Components: main
	Signed-By: $key
	EOF
	APT_OPTS=(-q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$dir/etc"
		-o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache"
		-o APT::Architectures=amd64 -o APT::Sandbox::User=root
		-o Acquire::Retries=3 -o Acquire::Languages=none)
	run_logged "$CACHE/logs/apt-$suite.log" apt-get "${APT_OPTS[@]}" update ||
		die "the package lists of Debian $suite could not be fetched"
}

APT_UPDATED=
apt_update()
{
	[ -n "$APT_UPDATED" ] && return
	as_root apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 update \
		>"$CACHE/logs/apt-update.log" 2>&1 </dev/null ||
		say "apt-get update failed; going on with the lists at hand"
	APT_UPDATED=1
}

# need_pkgs PKG...: installs what is missing, after saying what.
need_pkgs()
{
	local p

	APT_MISSING=()
	for p; do
		pkg_installed "$p" || APT_MISSING+=("$p")
	done
	[ ${#APT_MISSING[@]} -eq 0 ] && return
	require_debian
	say "installing with apt: ${APT_MISSING[*]}"
	mkdir -p "$CACHE/logs"
	apt_update
	run_logged "$CACHE/logs/apt-install.log" as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
		-o Acquire::Retries=3 install "${APT_MISSING[@]}" ||
		die "apt could not install: ${APT_MISSING[*]}"
}
