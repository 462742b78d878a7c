/* Fails the k-th write or sync of files whose path contains a text, or kills the process at that call. The library is
 * loaded before the C library.
 *
 * FAULT_PATH  the text        FAULT_AT    k, counted from 1
 * FAULT_KIND  enospc, eio, short (writes half, then fails with ENOSPC) or kill
 * FAULT_MARK  a file that is created when the fault happens
 * FAULT_STAYS if set, all calls after the k-th fail too
 * FAULT_WHILE if set, all calls fail with ENOSPC while this file exists, and no other fault happens
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static int is_watched(int fd) {
    const char *text = getenv("FAULT_PATH");
    char link[64], path[4096];
    if (!text) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strstr(path, text) != NULL;
}

/* Returns 0 to continue, 1 to fail with the errno that is set, 2 to write half. */
static int next_fault(int fd) {
    if (!is_watched(fd)) return 0;
    const char *file = getenv("FAULT_WHILE");
    if (file) {
        if (access(file, F_OK) != 0) return 0;
        errno = ENOSPC;
        return 1;
    }
    const char *kind = getenv("FAULT_KIND"), *mark = getenv("FAULT_MARK");
    long at = atol(getenv("FAULT_AT")), call = atomic_fetch_add(&calls, 1) + 1;
    int is_short = strcmp(kind, "short") == 0;
    int is_due = call == at || (is_short && call == at + 1) || (call > at && getenv("FAULT_STAYS"));
    if (!is_due) return 0;
    int marker = open(mark, O_CREAT | O_WRONLY, 0600);
    if (marker >= 0) close(marker);
    if (strcmp(kind, "kill") == 0) kill(getpid(), SIGKILL);
    if (is_short && call == at) return 2;
    errno = strcmp(kind, "eio") == 0 ? EIO : ENOSPC;
    return 1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    int result = next_fault(fd);
    return result == 1 ? -1 : real(fd, data, result == 2 ? (size + 1) / 2 : size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    int result = next_fault(fd);
    return result == 1 ? -1 : real(fd, data, result == 2 ? (size + 1) / 2 : size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    int result = next_fault(fd);
    return result == 1 ? -1 : real(fd, data, result == 2 ? (size + 1) / 2 : size, offset);
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    return next_fault(fd) == 1 ? -1 : real(fd);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return next_fault(fd) == 1 ? -1 : real(fd);
}

int ftruncate(int fd, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    return next_fault(fd) == 1 ? -1 : real(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    REAL(int, "ftruncate64", int, off64_t);
    return next_fault(fd) == 1 ? -1 : real(fd, size);
}
