/* Threads that wait for one thing each, in known shares. Usage: thread_waits MODE [ARGUMENT...] */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <resolv.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t *semaphore;
static int jobs, ends[2];
static char **arguments;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static void compute(double seconds) {
    double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 2000; i++)
            ;
}
static void *hold_mutex(void *unused) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        usleep(4000);
        compute(0.001);
        pthread_mutex_unlock(&mutex);
        compute(0.0002);
    }
}
static void *take_jobs(void *unused) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!jobs)
            pthread_cond_wait(&condition, &mutex);
        jobs--;
        pthread_mutex_unlock(&mutex);
        compute(0.002);
    }
}
static void *give_jobs(void *unused) {
    for (;;) {
        usleep(10000);
        pthread_mutex_lock(&mutex);
        jobs++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&condition);
    }
}
static void *wait_semaphore(void *unused) {
    for (;;)
        sem_wait(semaphore);
}
static void *compute_and_sleep(void *unused) {
    for (;;) {
        double end = now(CLOCK_MONOTONIC) + 0.010, rest;
        compute(0.003);
        while ((rest = end - now(CLOCK_MONOTONIC)) > 0)
            usleep(rest * 1e6);
    }
}
static void *spin(void *unused) {
    for (;;)
        compute(1);
}
static void *read_direct(void *unused) {
    int fd = open(arguments[2], O_RDONLY | O_DIRECT);
    size_t size = 1 << 20;
    void *block;
    off_t end = lseek(fd, 0, SEEK_END);
    if (fd < 0 || posix_memalign(&block, 4096, size))
        exit(1);
    for (off_t at = 0;; at = (at + size) % end)
        if (pread(fd, block, size, at) < 0)
            exit(1);
}
static void *sync_writes(void *unused) {
    char name[4096], block[4096] = {0};
    snprintf(name, sizeof name, "%s.log", arguments[2]);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int n = 0;; n++)
        if (pwrite(fd, block, sizeof block, (n % 1000) * 4096L) < 0 || fsync(fd))
            exit(1);
}
static void *fault_pages(void *unused) {
    int fd = open(arguments[2], O_RDONLY);
    off_t end = lseek(fd, 0, SEEK_END);
    for (;;) {
        char *at = mmap(0, end, PROT_READ, MAP_PRIVATE, fd, 0);
        madvise(at, end, MADV_RANDOM);
        for (off_t i = 0; i < end; i += 4096)
            *(volatile char *)(at + i);
        munmap(at, end);
        posix_fadvise(fd, 0, end, POSIX_FADV_DONTNEED);
    }
}
static void *ask_peer(void *unused) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[2])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[16];
    if (connect(fd, (struct sockaddr *)&to, sizeof to))
        exit(1);
    for (;;) {
        if (write(fd, "?", 1) != 1)
            exit(1);
        if (arguments[3]) {
            struct pollfd one = {.fd = fd, .events = POLLIN};
            poll(&one, 1, 30000);
        }
        if (recv(fd, answer, sizeof answer, 0) <= 0)
            exit(1);
    }
}
static void *answer_client(void *client) {
    int fd = (int)(long)client;
    char question;
    while (recv(fd, &question, 1, 0) == 1) {
        usleep(50000);
        if (write(fd, "!", 1) != 1)
            break;
    }
    return 0;
}
static void *serve(void *unused) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[2])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 64))
        exit(1);
    for (;;) {
        pthread_t thread;
        pthread_create(&thread, 0, answer_client, (void *)(long)accept(fd, 0, 0));
    }
}
#ifdef __GLIBC__
static void *resolve(void *unused) {
    unsigned char answer[512];
    struct __res_state state = {0};
    res_ninit(&state);
    state.nscount = 1;
    state.retrans = 5;
    state.retry = 2;
    state.nsaddr_list[0] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(53)};
    inet_aton(arguments[2], &state.nsaddr_list[0].sin_addr);
    for (;;)
        res_nquery(&state, "db.internal.example", 1, 1, answer, sizeof answer);
}
#else
#define resolve spin
#endif
static void *ignore_datagrams(void *unused) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(53)};
    char question[512];
    inet_aton(arguments[2], &at.sin_addr);
    if (bind(fd, (struct sockaddr *)&at, sizeof at))
        exit(1);
    for (;;)
        recv(fd, question, sizeof question, 0);
}
static void *read_pipe(void *unused) {
    char byte;
    for (;;)
        if (read(ends[0], &byte, 1) == 1)
            compute(0.003);
}
static void *write_pipe(void *unused) {
    for (;;) {
        usleep(20000);
        if (write(ends[1], "x", 1) != 1)
            exit(1);
    }
}
static void *wait_children(void *unused) {
    for (;;) {
        pid_t child = vfork();
        if (!child)
            execlp("sleep", "sleep", "0.2", (char *)0);
        waitpid(child, 0, 0);
    }
}
static void *lock_file(void *unused) {
    int fd = open(arguments[2], O_RDWR | O_CREAT, 0600);
    for (;;) {
        flock(fd, LOCK_EX);
        usleep(4000);
        compute(0.001);
        flock(fd, LOCK_UN);
    }
}
static void *stat_file(void *unused) {
    struct stat found;
    for (;;)
        stat(arguments[2], &found);
}
static const struct mode {
    const char *name;
    void *(*first)(void *), *(*others)(void *);
    int count;
} modes[] = {
    {"mutex", hold_mutex, hold_mutex, 8}, {"pool", give_jobs, take_jobs, 7}, {"semaphore", wait_semaphore, wait_semaphore, 4},
    {"compute-sleep", compute_and_sleep, compute_and_sleep, 2}, {"spin", spin, spin, 4}, {"direct", read_direct, read_direct, 2},
    {"fsync", sync_writes, sync_writes, 1}, {"faults", fault_pages, fault_pages, 1}, {"ask", ask_peer, ask_peer, 3},
    {"serve", serve, serve, 1}, {"dns", resolve, resolve, 2}, {"silent", ignore_datagrams, ignore_datagrams, 1},
    {"pipe", read_pipe, write_pipe, 2}, {"child", wait_children, wait_children, 1}, {"flock", lock_file, lock_file, 4},
    {"stat", stat_file, stat_file, 2},
};
int main(int count, char **names) {
    pthread_t thread;
    arguments = names;
    semaphore = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(semaphore, 1, 0);
    if (count < 2 || pipe(ends))
        return 2;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, names[1])) {
            for (int n = 1; n < modes[i].count; n++)
                pthread_create(&thread, 0, modes[i].others, 0);
            modes[i].first(0);
        }
    return 2;
}
