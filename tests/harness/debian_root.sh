#!/bin/sh
# Makes a copy of a Debian system that costs nothing and is gone with its last process, and becomes COMMAND in it:
#     debian_root.sh SYSTEM WORK [FROM:TO...] -- COMMAND...
# To be run as root in mount and pid namespaces of its own (`unshare`); WORK is an empty directory. Each TO is where the
# host's file or directory FROM is seen.
set -eu
system=$1 work=$2
shift 2

# Nothing of this reaches the host.
mount --make-rprivate /
mount -t tmpfs -o mode=755 none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay -o "lowerdir=$system,upperdir=$work/upper,workdir=$work/work" none "$work/root"
cd "$work/root"

while [ "$1" != -- ]; do
  from=${1%%:*} to=./${1#*:}
  mkdir -p "$(dirname "$to")"
  if [ -d "$from" ]; then mkdir -p "$to"; else touch "$to"; fi
  mount --bind "$from" "$to"
  shift
done
shift

cp -L /etc/resolv.conf etc/resolv.conf
mount -t proc none proc
mount -t tmpfs -o mode=755 none run
mount -t tmpfs -o mode=1777 none tmp
mount -t tmpfs -o mode=755 none dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/shm dev/pts
mount -t tmpfs -o mode=1777 none dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 none dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t sysfs none sys
mount -t cgroup2 none sys/fs/cgroup

mkdir host
pivot_root . host
umount -l /host
rmdir /host
exec "$@"
