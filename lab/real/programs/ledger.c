// The ledger of the loyalty points: accounts in books, each with a lock, and a terminal that confirms an entry.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define ACCOUNTS 65536

struct book {
    pthread_mutex_t mutex;
    unsigned long entries;
};

static struct book *books;
static unsigned book_count;
static long balances[ACCOUNTS];

int ledger_open(unsigned count) {
    book_count = count ? count : 1;
    books = calloc(book_count, sizeof *books);
    for (unsigned i = 0; books && i < book_count; i++)
        pthread_mutex_init(&books[i].mutex, NULL);
    return books ? 0 : -1;
}

// The terminal is a device of its own: it needs no CPU of the host while it confirms.
static void confirm_entry(unsigned microseconds) {
    struct timespec wait = {microseconds / 1000000, (microseconds % 1000000) * 1000L};
    nanosleep(&wait, NULL);
}

long ledger_post(unsigned account, long points, unsigned microseconds) {
    struct book *book = &books[account % book_count];
    account %= ACCOUNTS;
    pthread_mutex_lock(&book->mutex);
    confirm_entry(microseconds);
    balances[account] += points;
    book->entries++;
    long balance = balances[account];
    pthread_mutex_unlock(&book->mutex);
    return balance;
}

long ledger_balance(unsigned account) {
    return balances[account % ACCOUNTS];
}
