/* dwarf.data: gcc -g -O2 -fomit-frame-pointer -o inlined inlined.c && perf record -F 250 --call-graph dwarf,1024 -e cpu-clock:u ./inlined */
#include <stdlib.h>
#include <string.h>

static inline __attribute__((always_inline)) unsigned mix(unsigned x) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; return x; }
static inline __attribute__((always_inline)) unsigned twice(unsigned x) { return mix(mix(x)); }
__attribute__((noinline)) unsigned leaf(unsigned n) { unsigned s = n | 1; for (unsigned i = 0; i < 400000; i++) s = twice(s); return s; }
__attribute__((noinline)) unsigned down(unsigned n) {
    char pad[n % 64 + 16];
    memset(pad, (int)n, sizeof pad);
    if (n == 0) return leaf(pad[3] | 1u);
    return down(n - 1) + pad[n % 16];
}
int main(int argc, char **argv) {
    unsigned total = 0, rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 40;
    for (unsigned i = 0; i < rounds; i++) total += down(i % 6);
    return total == 7;
}
