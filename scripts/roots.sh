# SPDX-License-Identifier: BSD-2-Clause
# roots.sh - throw-away Debian roots: made by debootstrap, entered in name spaces of their own, so
# that mounts and processes inside end with the script, however it ends. Sourced after common.sh.

qv_cache=${XDG_CACHE_HOME:-/var/cache}/quiver

# Exit status 77: ctest shows a test that cannot run here as skipped.
roots_needed()
{
	if [ "$(id -u)" -ne 0 ]; then
		echo "$qv_name: making a Debian root needs root: not run"
		exit 77
	fi
	if ! unshare --mount --pid --fork true 2>/dev/null; then
		echo "$qv_name: no mount name space can be had here: not run"
		exit 77
	fi
	need_packages debootstrap
}

# The mirror this machine takes Debian from.
debian_mirror()
{
	local uri
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' \
		2>/dev/null | head -n 1)
	uri=${uri%/}
	printf '%s\n' "${uri:-http://deb.debian.org/debian}"
}

# make_root SUITE DIR: a minimal system in DIR. Its packages are fetched once and kept.
make_root()
{
	local tarball=$qv_cache/$1.tgz mirror proxy
	mirror=$(debian_mirror)
	mkdir -p "$qv_cache/archives-$1/partial"
	if [ ! -s "$tarball" ]; then
		rm -rf "$2.fetch"
		debootstrap --variant=minbase --make-tarball="$tarball.new" "$1" "$2.fetch" "$mirror"
		mv "$tarball.new" "$tarball"
	fi
	debootstrap --variant=minbase --unpack-tarball="$tarball" "$1" "$2" "$mirror"
	cp -L /etc/resolv.conf /etc/hosts "$2/etc/"
	proxy=$(apt-config shell p Acquire::http::Proxy)
	if [ -n "$proxy" ]; then
		eval "$proxy"
		echo "Acquire::http::Proxy \"$p\";" >"$2/etc/apt/apt.conf.d/90proxy"
	fi
	# A mirror may hold a state of sid that is older than its lists say they are valid for; they are
	# signed all the same.
	if [ "$1" = sid ]; then
		echo 'Acquire::Check-Valid-Until "false";' >"$2/etc/apt/apt.conf.d/90valid"
	fi
	# debootstrap of one release under another may leave packages half configured.
	in_root "$2" "$1" apt-get -q update
	in_root "$2" "$1" apt-get -y -q -f install
}

# in_root DIR SUITE COMMAND...: run it there, with /proc, /sys, /dev/shm and the kept packages.
in_root()
{
	enter_root "" '' "$@"
}

# in_emulating_root FORMAT DIR SUITE COMMAND...: the same, in a user name space of its own, where the
# kernel runs programs of another architecture by an emulator. FORMAT is what binfmt_misc is told;
# nothing outside is. Users have the same numbers there as here.
in_emulating_root()
{
	enter_root --user "$@"
}

# same_users PIPE: a line of PIPE names a process; once it is in a user name space of its own, users
# and groups get the numbers that they have here. Only a process outside can say so for all of them.
same_users()
{
	local pid
	read -r pid <"$1"
	rm "$1"
	until [ "$(readlink "/proc/$pid/ns/user")" != "$(readlink /proc/self/ns/user)" ]; do
		sleep 0.01
	done
	echo "0 0 4294967295" | tee "/proc/$pid/uid_map" >"/proc/$pid/gid_map"
}

# Can the kernel do that?
emulation_needed()
{
	unshare --user --map-root-user --mount --pid --fork sh -c '
		mount -t proc proc /proc && mount -t binfmt_misc binfmt /proc/sys/fs/binfmt_misc' 2>/dev/null || {
		echo "$qv_name: no user name space with a binfmt_misc of its own (Linux 6.7) can be had here: not run"
		exit 77
	}
}

# enter_root USER FORMAT DIR SUITE COMMAND...: USER is --user or nothing.
enter_root()
{
	local user=$1 format=$2 dir=$3 suite=$4 away=(unshare)
	shift 4
	if [ -n "$user" ]; then
		rm -f "$dir.pipe"
		mkfifo "$dir.pipe"
		same_users "$dir.pipe" &
		away=(sh -c 'echo $$ >"$0"; exec unshare --user "$@"' "$dir.pipe")
	fi
	DEBIAN_FRONTEND=noninteractive "${away[@]}" --mount \
		--propagation private --pid --fork --kill-child bash -e -c '
		dir=$1 archives=$2 format=$3
		shift 3
		until grep -q . /proc/self/uid_map; do sleep 0.01; done # see same_users
		mkdir -p "$dir/dev/shm" "$dir/var/cache/apt/archives"
		mount --bind "$dir" "$dir" # a root that is a mount can be unshared again
		mount -t proc proc "$dir/proc"
		if [ -n "$format" ]; then
			mount --rbind /sys "$dir/sys"
			mount -t binfmt_misc binfmt "$dir/proc/sys/fs/binfmt_misc"
			printf "%s" "$format" >"$dir/proc/sys/fs/binfmt_misc/register"
		else
			mount -t sysfs -o ro sysfs "$dir/sys"
		fi
		mount -t tmpfs -o mode=1777 shm "$dir/dev/shm"
		mount --bind "$archives" "$dir/var/cache/apt/archives"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive chroot "$dir" "$@"
		' in_root "$dir" "$qv_cache/archives-$suite" "$format" "$@" </dev/null
}

# copy_tree DIR: the source tree, without what git ignores, to the same path below DIR.
copy_tree()
{
	mkdir -p "$1$qv_root"
	if [ -e "$qv_root/.git" ]; then
		git -C "$qv_root" -c safe.directory='*' ls-files -z -co --exclude-standard |
			(cd "$qv_root" && xargs -0 ls -d 2>/dev/null || true) |
			tar -C "$qv_root" -c --no-recursion -T - | tar -x -C "$1$qv_root"
	else
		tar -C "$qv_root" -c --exclude=./build . | tar -x -C "$1$qv_root"
	fi
}
