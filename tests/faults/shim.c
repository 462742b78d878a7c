/* Fails the k-th write or sync of files whose path contains a text, or kills the process at that call. The library is
 * loaded before the C library.
 *
 * FAULT_PATH  the text        FAULT_AT    k, counted from 1
 * FAULT_KIND  enospc, eio, short (writes half, then fails with ENOSPC) or kill
 * FAULT_MARK  a file that is created when the fault happens
 * FAULT_STAYS if set, all calls after the k-th fail too
 * FAULT_WHILE if set, all calls fail with ENOSPC while this file exists, and no other fault happens
 *
 * Stops the process right before it sends bytes to a TCP port, once a file exists. The process that removes the file stops, and
 * writes its ID to a file of the same name with the ending .stopped.
 *
 * FAULT_PORT  the port         FAULT_STOP  the file
 *
 * Steps the wall clock.
 *
 * FAULT_CLOCK a file with the seconds to add, as a number of eight bytes; a change of the number is seen at once
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
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

/* Stops the process if it is about to send to the port. */
static void stop_before_sending(int fd) {
    const char *port = getenv("FAULT_PORT"), *file = getenv("FAULT_STOP");
    if (!port || !file || access(file, F_OK) != 0) return;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 || peer.sin_family != AF_INET) return;
    if (ntohs(peer.sin_port) != atoi(port) || unlink(file) != 0) return;
    char stopped[4096], unnamed[4096], id[32];
    snprintf(stopped, sizeof stopped, "%s.stopped", file);
    snprintf(unnamed, sizeof unnamed, "%s.new", file);
    int mark = open(unnamed, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    int length = snprintf(id, sizeof id, "%d", getpid());
    if (mark < 0 || syscall(SYS_write, mark, id, (size_t)length) != length) abort();
    close(mark);
    if (rename(unnamed, stopped) != 0) abort();
    /* The signal of another thread would let this one go on for a moment. */
    syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), SIGSTOP);
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
    REAL(ssize_t, "send", int, const void *, size_t, int);
    stop_before_sending(fd);
    return real(fd, data, size, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    REAL(ssize_t, "sendmsg", int, const struct msghdr *, int);
    stop_before_sending(fd);
    return real(fd, message, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    stop_before_sending(fd);
    return real(fd, parts, count);
}

/* Returns the seconds by which the wall clock is stepped. */
static time_t wall_step(void) {
    static _Atomic(const volatile int64_t *) step;
    static const int64_t none;
    if (!step) {
        const char *path = getenv("FAULT_CLOCK");
        int file = path ? open(path, O_RDONLY) : -1;
        void *map = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
        if (file >= 0) close(file);
        step = map == MAP_FAILED ? &none : map;
    }
    return (time_t)*step;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += wall_step();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    REAL(int, "gettimeofday", struct timeval *, void *);
    int result = real(time, zone);
    if (result == 0) time->tv_sec += wall_step();
    return result;
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    stop_before_sending(fd);
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
