/* For LD_PRELOAD: the files of a program are on a file system that has no files without names, such as NFS or an older overlay;
 * and that has no locks, with NO_LOCKS in the environment. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_named(const char *path, int flags, int mode)
{
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return open_named(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return open_named(path, flags | O_LARGEFILE, mode);
}

int flock(int file, int operation)
{
    if (getenv("NO_LOCKS")) {
        errno = ENOLCK;
        return -1;
    }
    return syscall(SYS_flock, file, operation);
}
