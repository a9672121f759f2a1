/* A disk that fails on demand, for a process that loads this library before libc (LD_PRELOAD).
 *
 * Files below the directory DISK_FAULTS_BELOW are concerned. While a file of that name exists in DISK_FAULTS_CONTROL:
 *   fsync-fails   fsync and fdatasync fail with EIO
 *   read-only     what changes a file fails with EROFS
 *   fsync-hangs   fsync and fdatasync wait until the control file is gone
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_set(const char *fault)
{
    const char *control = getenv("DISK_FAULTS_CONTROL");
    char path[4096];
    if (!control)
        return 0;
    snprintf(path, sizeof path, "%s/%s", control, fault);
    return access(path, F_OK) == 0;
}

static int is_below(int descriptor)
{
    const char *below = getenv("DISK_FAULTS_BELOW");
    char link[64], path[4096];
    ssize_t size;
    if (!below)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    size = readlink(link, path, sizeof path - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    return strncmp(path, below, strlen(below)) == 0;
}

static int fails(int descriptor, const char *fault, int error)
{
    if (!is_set(fault) || !is_below(descriptor))
        return 0;
    errno = error;
    return 1;
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    return fails(descriptor, "read-only", EROFS) ? -1 : syscall(SYS_write, descriptor, data, size);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    return fails(descriptor, "read-only", EROFS) ? -1 : syscall(SYS_writev, descriptor, parts, count);
}

int ftruncate(int descriptor, off_t size)
{
    return fails(descriptor, "read-only", EROFS) ? -1 : syscall(SYS_ftruncate, descriptor, size);
}

int ftruncate64(int descriptor, off_t size)
{
    return ftruncate(descriptor, size);
}

static void hang(int descriptor)
{
    while (is_set("fsync-hangs") && is_below(descriptor))
        usleep(20000);
}

int fsync(int descriptor)
{
    hang(descriptor);
    return fails(descriptor, "fsync-fails", EIO) ? -1 : syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor)
{
    hang(descriptor);
    return fails(descriptor, "fsync-fails", EIO) ? -1 : syscall(SYS_fdatasync, descriptor);
}
