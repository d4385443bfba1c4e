/* The workload of the recorded example: a small shop that has too much to do on too few CPUs.
 *
 * Threads take orders, price them under one lock, sort and checksum a catalog, write a journal with fsync, and
 * answer over loopback. Build: cc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread shopd.c
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t total;

static NOINLINE uint64_t checksum(const unsigned char *data, size_t n) {
  uint64_t sum = 1469598103934665603ULL;
  for (size_t i = 0; i < n; i++) sum = (sum ^ data[i]) * 1099511628211ULL;
  return sum;
}
static int by_price(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}
static NOINLINE void sort_catalog(uint32_t *rows, size_t n) { qsort(rows, n, sizeof *rows, by_price); }
static NOINLINE uint64_t load_catalog(unsigned seed) {
  size_t n = 6000;
  uint32_t *rows = malloc(n * sizeof *rows);
  for (size_t i = 0; i < n; i++) rows[i] = seed = seed * 1664525u + 1013904223u;
  sort_catalog(rows, n);
  uint64_t sum = checksum((unsigned char *)rows, n * sizeof *rows);
  free(rows);
  return sum;
}
static NOINLINE int parse_order(const char *text, int *quantity) {
  int fields = 0;
  for (const char *at = text; *at; at++) {
    if (*at == '=') *quantity = atoi(at + 1);
    fields += *at == '&';
  }
  return fields;
}
static NOINLINE double tax(double price, int rounds) {
  for (int i = 0; i < rounds; i++) price = price * 1.0000001 + 0.0000003;
  return price;
}
static NOINLINE void book(double price) {
  pthread_mutex_lock(&ledger);
  total += (uint64_t)tax(price, 4000);
  pthread_mutex_unlock(&ledger);
}
static NOINLINE void handle_order(unsigned number) {
  char text[256];
  int quantity = 0;
  snprintf(text, sizeof text, "id=%u&item=%u&quantity=%u&note=please", number, number % 97, number % 7);
  parse_order(text, &quantity);
  book(quantity * 9.99 + checksum((unsigned char *)text, strlen(text)) % 5);
}
static void *orders(void *at) {
  pthread_setname_np(pthread_self(), "orders");
  for (unsigned i = (unsigned)(uintptr_t)at;; i++) handle_order(i);
}
static void *catalog(void *at) {
  pthread_setname_np(pthread_self(), "catalog");
  for (unsigned i = (unsigned)(uintptr_t)at;; i++) total += load_catalog(i), usleep(500);
}
static NOINLINE void append_journal(int file, const char *row, size_t n) {
  if (write(file, row, n) != (ssize_t)n) abort();
  fsync(file);
}
static void *journal(void *path) {
  char row[8192];
  pthread_setname_np(pthread_self(), "journal");
  memset(row, 'j', sizeof row);
  int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  for (unsigned i = 0;; i++) {
    append_journal(file, row, sizeof row);
    if (i % 256 == 255 && ftruncate(file, 0) == 0) lseek(file, 0, SEEK_SET);
  }
}
static struct sockaddr_in door = {.sin_family = AF_INET};
static NOINLINE void answer(int client) {
  char page[16384];
  memset(page, 'p', sizeof page);
  if (read(client, page, 64) > 0) (void)!write(client, page, sizeof page);
  close(client);
}
static void *web(void *listener) {
  pthread_setname_np(pthread_self(), "web");
  for (;;) answer(accept((int)(intptr_t)listener, NULL, NULL));
}
static NOINLINE void visit(void) {
  char page[4096];
  int door_handle = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(door_handle, (struct sockaddr *)&door, sizeof door) == 0 && write(door_handle, "GET /\n", 6) == 6)
    while (read(door_handle, page, sizeof page) > 0) continue;
  close(door_handle);
}
static void *visitors(void *unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "visitors");
  for (;;) visit(), usleep(200);
}

int main(int argc, char **argv) {
  pthread_t thread;
  int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  signal(SIGPIPE, SIG_IGN);
  door.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  door.sin_port = htons(18080);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (argc != 3 || bind(listener, (struct sockaddr *)&door, sizeof door) || listen(listener, 64)) return 1;
  for (intptr_t i = 0; i < 4; i++) pthread_create(&thread, NULL, orders, (void *)(i * 1000000));
  for (intptr_t i = 0; i < 2; i++) pthread_create(&thread, NULL, catalog, (void *)i);
  pthread_create(&thread, NULL, journal, argv[1]);
  pthread_create(&thread, NULL, web, (void *)(intptr_t)listener);
  for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, visitors, NULL);
  sleep((unsigned)atoi(argv[2]));
  return 0;
}
