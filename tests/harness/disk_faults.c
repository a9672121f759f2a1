/* A disk that fails on demand, for a process that loads this library before libc (LD_PRELOAD).
 *
 * While a file of that name exists in DISK_FAULTS_CONTROL:
 *   fsync-fails   fsync and fdatasync fail with EIO
 *   read-only     what changes a file fails with EROFS
 *   fsync-hangs   fsync and fdatasync wait until the control file is gone
 *   full          what needs space fails with ENOSPC
 *   slow          fsync and fdatasync take SLOW_FSYNC_US longer, every write SLOW_WRITE_US
 *
 * Files below the directory DISK_FAULTS_BELOW are concerned, or below the one that the control file names, if it names
 * one: several processes may load this library with the same environment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const int SLOW_FSYNC_US = 300000, SLOW_WRITE_US = 20000;

/* Whether the fault is set; copies the directory that it concerns. */
static int is_set(const char *fault, char *below, size_t capacity)
{
    const char *control = getenv("DISK_FAULTS_CONTROL"), *named = getenv("DISK_FAULTS_BELOW");
    char path[4096];
    ssize_t size;
    int file;
    if (!control)
        return 0;
    snprintf(path, sizeof path, "%s/%s", control, fault);
    if (access(path, F_OK) != 0)
        return 0;
    file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    size = syscall(SYS_read, file, below, capacity - 1);
    syscall(SYS_close, file);
    below[size > 0 ? size : 0] = 0;
    if (size <= 0 && named)
        snprintf(below, capacity, "%s", named);
    return below[0] != 0;
}

static int suffers(int descriptor, const char *fault)
{
    char below[4096], link[64], path[4096];
    ssize_t size;
    if (!is_set(fault, below, sizeof below))
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
    if (!suffers(descriptor, fault))
        return 0;
    errno = error;
    return 1;
}

static int cannot_write(int descriptor)
{
    if (suffers(descriptor, "slow"))
        usleep(SLOW_WRITE_US);
    return fails(descriptor, "read-only", EROFS) || fails(descriptor, "full", ENOSPC);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    return cannot_write(descriptor) ? -1 : syscall(SYS_write, descriptor, data, size);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    return cannot_write(descriptor) ? -1 : syscall(SYS_writev, descriptor, parts, count);
}

int fallocate(int descriptor, int mode, off_t offset, off_t size)
{
    return fails(descriptor, "full", ENOSPC) ? -1 : syscall(SYS_fallocate, descriptor, mode, offset, size);
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
    if (suffers(descriptor, "slow"))
        usleep(SLOW_FSYNC_US);
    while (suffers(descriptor, "fsync-hangs"))
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
