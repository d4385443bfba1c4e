/*
 * A router of requests: looks a path up in a table of rules, then renders a page.
 *
 *     router ADDRESS:PORT RULES [sorted]
 *
 * "sorted" is the good version (a binary search); without it every lookup compares with one rule after the other,
 * letter by letter without regard to case, and starts once for every part of the path.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LENGTH = 48, PARTS = 40, PAGE_WORK = 60000, THREADS = 6 };

static char (*rules)[LENGTH];
static int count, sorted, listener;
static volatile unsigned sink;

int same_path(const char *one, const char *other) {
    while (*one && tolower(*one) == tolower(*other)) one++, other++;
    return *one == *other;
}

int find_rule_linear(const char *path) {
    for (int i = 0; i < count; i++)
        if (same_path(rules[i], path)) return i;
    return -1;
}

int find_rule_sorted(const char *path) {
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (strcmp(rules[middle], path) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

unsigned render_page(unsigned seed) {
    for (int i = 0; i < PAGE_WORK; i++) seed = seed * 1664525u + 1013904223u;
    return seed;
}

void route_request(unsigned number) {
    for (int part = 0; part < PARTS; part++) {
        const char *path = rules[(number * 7919u + (unsigned)part * 104729u) % (unsigned)count];
        sink += (unsigned)(sorted ? find_rule_sorted(path) : find_rule_linear(path));
    }
    sink += render_page(number);
}

static void *serve(void *unused) {
    static unsigned served;
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nrouted\n";
    char request[2048];
    (void)unused;
    for (;;) {
        int peer = accept(listener, 0, 0);
        if (peer < 0) continue;
        if (recv(peer, request, sizeof request, 0) > 0) {
            route_request(__atomic_add_fetch(&served, 1, __ATOMIC_RELAXED));
            send(peer, reply, sizeof reply - 1, MSG_NOSIGNAL);
        }
        close(peer);
    }
    return 0;
}

int main(int words, char **word) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    int yes = 1;
    if (words < 3) return 2;
    at.sin_port = htons((unsigned short)atoi(strchr(word[1], ':') + 1));
    count = atoi(word[2]);
    sorted = words > 3;
    rules = calloc((size_t)count, LENGTH);
    for (int i = 0; i < count; i++) snprintf(rules[i], LENGTH, "/catalog/department/product/%08d", i);
    signal(SIGPIPE, SIG_IGN);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 1024) < 0) return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, serve, 0)) return 1;
    }
    for (;;) pause();
}
