/*
 * A small HTTP service in which one option makes one regression.
 *
 *     items port=8080 workers=8 burn_us=400 log=/var/log/access.log ...
 *
 * Every request costs burn_us of CPU, spread over four functions, and what the options below add. A worker
 * thread serves one connection at a time and writes one line per request: epoch_s method path status latency_ms.
 * Compiled with frame pointers and symbols and without inlining, so that stacks name the functions below.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, TEXT = 4096, REPLY = 2 * TEXT + 256, STACK = 128 * 1024 };

static long port = 8080, workers = 8, backlog = 1024;
static long burn_us = 200;     /* CPU per request */
static long hot = 1;           /* count_quoted runs this many times as often as it should */
static long indexers = 0;      /* threads that compute all the time, in addition to the workers */
static long idle_pool = 0;     /* threads that only sleep */
static long osync = 0;         /* 1: the request log is opened with O_SYNC, 2: with O_DSYNC */
static long log_bytes = 0;     /* a line is padded to this length */
static long locked = 0;        /* 1: hold_cpu_us and hold_wait_us are spent inside one mutex */
static long hold_cpu_us = 0, hold_wait_us = 0;
static long touch = 0;         /* random pages of `map`, or of the heap, read per request */
static long heap_mb = 0;       /* anonymous memory that is written once, at the start */
static long scan_bytes = 0, scan_chunk = 65536, scan_seek = 0; /* `scan` is read again on every request */
static long leak_kb = 0;       /* memory that a request never gives back */
static long cache_kb = 0;      /* memory that a request replaces (its size stays the same) */
static long leak_fd_every = 0; /* every n-th connection is never closed */
static long lookups = 0;       /* random blocks of `table` read per request, past the page cache */
static long pool = 0;          /* connections to `upstream` that are held open, in addition to those in use */
static long askers = 0;        /* threads that ask `upstream` for the workers, which wait for them */
static const char *log_path, *log2_path, *map_path, *scan_path, *table_path, *upstream;

static const struct { const char *name; long *number; const char **text; } KNOBS[] = {
    {"port", &port, 0}, {"workers", &workers, 0}, {"backlog", &backlog, 0}, {"burn_us", &burn_us, 0},
    {"hot", &hot, 0}, {"indexers", &indexers, 0}, {"idle_pool", &idle_pool, 0}, {"osync", &osync, 0},
    {"log_bytes", &log_bytes, 0}, {"locked", &locked, 0}, {"hold_cpu_us", &hold_cpu_us, 0},
    {"hold_wait_us", &hold_wait_us, 0}, {"touch", &touch, 0}, {"scan_bytes", &scan_bytes, 0},
    {"scan_chunk", &scan_chunk, 0}, {"scan_seek", &scan_seek, 0}, {"leak_kb", &leak_kb, 0},
    {"cache_kb", &cache_kb, 0}, {"leak_fd_every", &leak_fd_every, 0}, {"log", 0, &log_path},
    {"log2", 0, &log2_path}, {"map", 0, &map_path}, {"scan", 0, &scan_path}, {"upstream", 0, &upstream},
    {"heap_mb", &heap_mb, 0}, {"lookups", &lookups, 0}, {"pool", &pool, 0}, {"table", 0, &table_path},
    {"askers", &askers, 0},
};

typedef struct { unsigned long seed; int peer; char reply[REPLY]; } Worker;

static char text[TEXT];
static double rounds_per_us[4];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int listener, log_fd = -1, log2_fd = -1, table_fd = -1;
static const volatile unsigned char *mapped;
static size_t mapped_pages, table_pages;

static void die(const char *what) { perror(what); exit(1); }

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* -- the four functions that a request spends its time in ------------------------------------------------ */

unsigned count_quoted(const char *from) {
    unsigned inside = 0, count = 0;
    for (int i = 0; i < TEXT; i++) {
        if (from[i] == '"') inside = !inside;
        count += inside;
    }
    return count;
}

unsigned parse_fields(const char *from) {
    unsigned sum = 0, field = 0;
    for (int i = 0; i < TEXT; i++) {
        if (from[i] >= '0' && from[i] <= '9') field = field * 10 + (unsigned)(from[i] - '0');
        else { sum += field; field = 0; }
    }
    return sum;
}

unsigned checksum(const char *from) {
    unsigned hash = 2166136261u;
    for (int i = 0; i < TEXT; i++) hash = (hash ^ (unsigned char)from[i]) * 16777619u;
    return hash;
}

unsigned render_json(const char *from) {
    char out[2 * TEXT];
    unsigned length = 0;
    for (int i = 0; i < TEXT; i++) {
        if (from[i] == '"' || from[i] == '\\') out[length++] = '\\';
        out[length++] = from[i];
    }
    return length + (unsigned char)out[length / 2];
}

static unsigned (*const STEPS[4])(const char *) = {count_quoted, parse_fields, checksum, render_json};
static volatile unsigned sink;

static void calibrate(void) {
    for (int i = 0; i < TEXT; i++) text[i] = "id=4711;name=\"a b\";n=23 "[i % 24];
    for (int step = 0; step < 4; step++) {
        double start = now(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < 1000; i++) sink += STEPS[step](text);
        rounds_per_us[step] = 1000 / ((now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6);
    }
}

static void burn(long cpu_us) {
    for (int step = 0; step < 4; step++) {
        long rounds = (long)((double)cpu_us / 4 * rounds_per_us[step]) * (step == 0 ? hot : 1);
        for (long i = 0; i < rounds; i++) sink += STEPS[step](text);
    }
}

/* -- what the knobs add ---------------------------------------------------------------------------------- */

static void do_exclusive_work(void) {
    if (locked) pthread_mutex_lock(&order);
    burn(hold_cpu_us);
    if (hold_wait_us) usleep((useconds_t)hold_wait_us);
    if (locked) pthread_mutex_unlock(&order);
}

static unsigned long draw(Worker *self) {
    self->seed ^= self->seed << 13, self->seed ^= self->seed >> 7, self->seed ^= self->seed << 17;
    return self->seed;
}

static unsigned read_index(Worker *self) {
    unsigned sum = 0;
    for (long i = 0; i < touch; i++) sum += mapped[(draw(self) % mapped_pages) * PAGE];
    return sum;
}

/* False when a block cannot be read. */
static int read_table(Worker *self) {
    char *block = aligned_alloc(PAGE, PAGE);
    int whole = 1;
    for (long i = 0; i < lookups && whole; i++) {
        whole = pread(table_fd, block, PAGE, (off_t)(draw(self) % table_pages) * PAGE) == PAGE;
        if (whole) sink += block[0];
    }
    free(block);
    return whole;
}

static void scan_archive(void) {
    int fd = open(scan_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    char *chunk = malloc((size_t)scan_chunk);
    for (long at = 0; at < scan_bytes; at += scan_chunk) {
        if (scan_seek) lseek(fd, at, SEEK_SET);
        if (read(fd, chunk, (size_t)scan_chunk) <= 0) break;
    }
    free(chunk);
    close(fd);
}

static void hold_memory(void) {
    static char *kept;
    if (leak_kb) memset(malloc((size_t)leak_kb * 1024), 1, (size_t)leak_kb * 1024);
    if (!cache_kb) return;
    pthread_mutex_lock(&order);
    free(kept);
    kept = malloc((size_t)cache_kb * 1024);
    memset(kept, 1, (size_t)cache_kb * 1024);
    pthread_mutex_unlock(&order);
}

/* A connection to the upstream, which gives up after 1.8 seconds of silence; -1 when there is none. */
static int connect_upstream(void) {
    char host[64];
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct timeval timeout = {1, 800000};
    const char *colon = strchr(upstream, ':');
    snprintf(host, sizeof host, "%.*s", (int)(colon - upstream), upstream);
    to.sin_port = htons((unsigned short)atoi(colon + 1));
    inet_pton(AF_INET, host, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

/* Send PING to a Redis server; return 0 without a reply. */
static int ask_upstream(Worker *self) {
    char word[64];
    if (self->peer < 0 && (self->peer = connect_upstream()) < 0) return 0;
    if (send(self->peer, "PING\r\n", 6, MSG_NOSIGNAL) == 6 && recv(self->peer, word, sizeof word, 0) > 0) return 1;
    close(self->peer);
    self->peer = -1;
    return 0;
}

typedef struct Question {
    int answered, good;
    pthread_cond_t done;
    struct Question *next;
} Question;
static Question *first_question, **free_end = &first_question;
static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed_over = PTHREAD_COND_INITIALIZER;

/* As clients with a pool of their own do: the worker waits for a thread, and that one for the upstream. */
static int have_asked(void) {
    Question mine = {.done = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&desk);
    *free_end = &mine, free_end = &mine.next;
    pthread_cond_signal(&handed_over);
    while (!mine.answered) pthread_cond_wait(&mine.done, &desk);
    pthread_mutex_unlock(&desk);
    return mine.good;
}

static void *ask_for_others(void *argument) {
    Worker *self = argument;
    pthread_mutex_lock(&desk);
    for (;;) {
        while (!first_question) pthread_cond_wait(&handed_over, &desk);
        Question *one = first_question;
        if (!(first_question = one->next)) free_end = &first_question;
        pthread_mutex_unlock(&desk);
        int good = ask_upstream(self);
        pthread_mutex_lock(&desk);
        one->good = good, one->answered = 1;
        pthread_cond_signal(&one->done);
    }
    return 0;
}

static void write_log(int status, double start) {
    char line[4096];
    double latency_ms = (now(CLOCK_MONOTONIC) - start) * 1e3;
    int length = snprintf(line, sizeof line, "%.3f GET /items %d %.3f", now(CLOCK_REALTIME), status, latency_ms);
    while (length < log_bytes && length < (int)sizeof line - 1) line[length++] = ' ';
    line[length++] = '\n';
    if (log_fd >= 0 && write(log_fd, line, (size_t)length) < 0) return;
    if (log2_fd >= 0 && write(log2_fd, line, (size_t)length) < 0) return;
}

/* -- serving --------------------------------------------------------------------------------------------- */

static void handle_request(Worker *self, int fd) {
    char request[2048];
    size_t have = 0;
    while (have < sizeof request - 1) {
        ssize_t got = recv(fd, request + have, sizeof request - 1 - have, 0);
        if (got <= 0) return;
        have += (size_t)got;
        request[have] = 0;
        if (strstr(request, "\r\n\r\n")) break;
    }
    double start = now(CLOCK_MONOTONIC);
    burn(burn_us);
    if (hold_cpu_us || hold_wait_us) do_exclusive_work();
    if (touch) sink += read_index(self);
    int status = lookups && !read_table(self) ? 500 : 200;
    if (scan_path) scan_archive();
    if (leak_kb || cache_kb) hold_memory();
    if (upstream && !(askers ? have_asked() : ask_upstream(self))) status = 504;
    if (log_fd >= 0) write_log(status, start);
    int length = snprintf(self->reply, sizeof self->reply, "HTTP/1.1 %d %s\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n",
                          status, status == 200 ? "OK" : status == 500 ? "Internal Server Error" : "Gateway Timeout");
    send(fd, self->reply, (size_t)length, MSG_NOSIGNAL);
}

static void *serve(void *argument) {
    static long served;
    Worker *self = argument;
    for (;;) {
        int fd = accept4(listener, 0, 0, SOCK_CLOEXEC);
        if (fd < 0) { usleep(10000); continue; } /* no descriptors left, for example */
        handle_request(self, fd);
        long number = __atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
        if (!leak_fd_every || number % leak_fd_every) close(fd);
    }
    return 0;
}

static void *rebuild_index(void *unused) {
    (void)unused;
    for (;;) burn(1000);
    return 0;
}

static void *wait_for_jobs(void *unused) {
    (void)unused;
    for (;;) pause();
    return 0;
}

static void start_threads(long count, void *(*run)(void *)) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        Worker *worker = 0;
        if (run == serve || run == ask_for_others) {
            worker = calloc(1, sizeof *worker);
            worker->seed = 88172645463325252ul + (unsigned long)i * 7919;
            worker->peer = -1;
        }
        if (pthread_create(&thread, &small, run, worker)) die("pthread_create");
    }
}

static void listen_on(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int yes = 1;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0) die("bind");
    if (listen(listener, (int)backlog) < 0) die("listen");
}

static void read_knobs(int count, char **words) {
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '=');
        size_t knob = 0, all = sizeof KNOBS / sizeof *KNOBS;
        while (value && knob < all && (strlen(KNOBS[knob].name) != (size_t)(value - words[i]) ||
                                       strncmp(KNOBS[knob].name, words[i], (size_t)(value - words[i])))) knob++;
        if (!value || knob == all) { fprintf(stderr, "unknown knob %s\n", words[i]); exit(2); }
        if (KNOBS[knob].number) *KNOBS[knob].number = atol(value + 1);
        else *KNOBS[knob].text = value + 1;
    }
}

static void fill_heap(void) {
    size_t bytes = (size_t)heap_mb << 20;
    void *heap = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (heap == MAP_FAILED) die("mmap");
    madvise(heap, bytes, MADV_NOHUGEPAGE); /* a swapped page is one page */
    mapped = memset(heap, 1, bytes);
    mapped_pages = bytes / PAGE;
}

static void open_files(void) {
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
    if (log_path) log_fd = open(log_path, flags | (osync == 1 ? O_SYNC : osync == 2 ? O_DSYNC : 0), 0644);
    if (log2_path) log2_fd = open(log2_path, flags, 0644);
    if ((log_path && log_fd < 0) || (log2_path && log2_fd < 0)) die("log");
    struct stat about;
    if (table_path && ((table_fd = open(table_path, O_RDONLY | O_DIRECT | O_CLOEXEC)) < 0 || fstat(table_fd, &about) < 0)) die(table_path);
    if (table_path) table_pages = (size_t)about.st_size / PAGE;
    if (heap_mb) fill_heap();
    if (!map_path) return;
    int fd = open(map_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) < 0) die(map_path);
    mapped_pages = (size_t)about.st_size / PAGE;
    mapped = mmap(0, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) die("mmap");
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    read_knobs(count, words);
    calibrate();
    open_files();
    listen_on();
    start_threads(askers, ask_for_others);
    start_threads(workers, serve);
    start_threads(indexers, rebuild_index);
    start_threads(idle_pool, wait_for_jobs);
    for (long i = 0; i < pool; i++) connect_upstream();
    for (;;) pause();
}
