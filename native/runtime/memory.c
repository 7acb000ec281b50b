/* Buffers, the pool of free ones, and fault injection for allocations. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "ndrt_internal.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1; older ones refuse it */
#endif

enum { LINE = 64, PAGE = 4096, HUGE_PAGE = 2 << 20, SMALL = 512 };
enum { NCLASSES = 8 + 8 * 55, SLACK = 16 << 20, WINDOW = 1 << 14 };

typedef struct block {
    ndrt_buffer buffer; /* first, so that the caller's pointer is the block's */
    struct block *newer, *older;
    ndrt_account *account;
    uint64_t shelved; /* when, counted in blocks put on shelves */
    int size_class;
} block;

typedef struct {
    block *newest, *oldest;
} shelf;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static shelf shelves[NCLASSES];
static int highest_class; /* no shelf above it has ever held anything */
static int64_t cached;    /* bytes on the shelves */
static uint64_t shelvings;
/* Buffers from this capacity on have mappings of their own: once freed their memory is returned to
 * the system, whatever is next to them. */
#ifdef __SANITIZE_ADDRESS__
static const size_t MAPPED = SIZE_MAX; /* the sanitizer sees errors around malloc's blocks only */
static int64_t cache_limit = 0; /* a buffer that is given out again hides its use after free */
#else
static const size_t MAPPED = 64 << 10;
static int64_t cache_limit = 1 << 30;
#endif
/* Peaks of live bytes in this window of allocations and in the one before. */
static int64_t window_peak, last_window_peak, window_left = WINDOW;

static block *returned; /* stack of freed blocks, linked by `older` */
static int64_t live, peak, allocations;
static int64_t fail_after = -1;

/* Nanoseconds: more than 512 small pages take, and how long slow huge pages prevent further ones.
 * One slow page among fast ones costs little, two in a row announce many. */
enum { USUAL_SLOW = 1000000, SLOW_FOR = 1000000000, SLOW_IN_A_ROW = 2 };
static int64_t slow_page = USUAL_SLOW, slow_until;
static int slow_pages; /* in a row */

/* ---- fault injection ---------------------------------------------------------------------- */

void ndrt_memory_fail_after(int64_t n) {
    __atomic_store_n(&fail_after, n < 0 ? -1 : n, __ATOMIC_SEQ_CST);
}

int ndrt_allocation_allowed(void) {
    int64_t left = __atomic_load_n(&fail_after, __ATOMIC_RELAXED);
    while (left >= 0) {
        if (__atomic_compare_exchange_n(&fail_after, &left, left - 1, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return left != 0;
    }
    return 1;
}

void *ndrt_malloc(size_t nbytes) {
    return ndrt_allocation_allowed() ? malloc(nbytes ? nbytes : 1) : NULL;
}

void *ndrt_calloc(size_t count, size_t nbytes) {
    return ndrt_allocation_allowed() ? calloc(count ? count : 1, nbytes ? nbytes : 1) : NULL;
}

/* ---- size classes ------------------------------------------------------------------------ */

/* Multiples of a cache line up to SMALL, then eight steps per power of two, so that at most an
 * eighth is wasted. */
static int class_of(size_t nbytes, size_t *capacity) {
    if (nbytes <= SMALL) {
        size_t lines = nbytes ? (nbytes + LINE - 1) / LINE : 1;
        *capacity = lines * LINE;
        return (int)lines - 1;
    }
    int log2 = 63 - __builtin_clzll(nbytes - 1);
    size_t step = (size_t)1 << (log2 - 3);
    size_t steps = (nbytes + step - 1) >> (log2 - 3); /* 9 to 16 */
    *capacity = steps * step;
    return 8 + 8 * (log2 - 9) + (int)steps - 9;
}

/* ---- bytes ------------------------------------------------------------------------------- */

static void *mapped_new(size_t capacity) {
    void *data = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? NULL : data;
}

/* Optional: without huge pages a buffer is only slower. */
static void wish_huge(char *data, size_t nbytes, int is_wished) {
    if (nbytes) madvise(data, nbytes, is_wished ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* Populates the pages of a fresh buffer, with huge ones as long as none was slow lately. */
static void make_pages(char *data, size_t capacity) {
    int64_t limit = __atomic_load_n(&slow_page, __ATOMIC_RELAXED), now = clock_ns(CLOCK_MONOTONIC);
    size_t done = 0;
    if (now < __atomic_load_n(&slow_until, __ATOMIC_RELAXED)) {
        wish_huge(data, capacity, 0);
        return;
    }
    wish_huge(data, capacity, 1);
    for (int64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), after; done < capacity;
         before = after) {
        *(volatile char *)(data + done) = 0;
        done += HUGE_PAGE;
        after = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (after - before < limit) {
            __atomic_store_n(&slow_pages, 0, __ATOMIC_RELAXED);
        } else if (__atomic_add_fetch(&slow_pages, 1, __ATOMIC_RELAXED) >= SLOW_IN_A_ROW) {
            __atomic_store_n(&slow_pages, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&slow_until, now + SLOW_FOR, __ATOMIC_RELAXED);
            break;
        }
    }
    if (done < capacity) wish_huge(data + done, capacity - done, 0);
}

static void *huge_new(size_t capacity, int flags) {
    size_t span = capacity + HUGE_PAGE;
    char *start = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    char *data = (char *)(((uintptr_t)start + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    if (data != start) munmap(start, (size_t)(data - start));
    /* Capacities from HUGE_PAGE up are whole pages, so both ends are too. */
    if (data + capacity != start + span)
        munmap(data + capacity, (size_t)(start + span - data) - capacity);
    if (flags & NDRT_SOON)
        make_pages(data, capacity);
    else
        wish_huge(data, capacity, 1);
    return data;
}

static size_t alignment_of(size_t capacity) {
    return capacity >= HUGE_PAGE ? HUGE_PAGE : capacity >= PAGE ? PAGE : LINE;
}

static block *block_new(size_t capacity, int size_class, int flags) {
    block *made = malloc(sizeof *made);
    if (!made) return NULL;
    void *data = NULL;
    if (capacity >= MAPPED)
        data = capacity >= HUGE_PAGE ? huge_new(capacity, flags) : mapped_new(capacity);
    else if (posix_memalign(&data, alignment_of(capacity), capacity))
        data = NULL;
    if (!data) {
        free(made);
        return NULL;
    }
    *made = (block){.buffer = {.data = data, .capacity = capacity}, .size_class = size_class};
    return made;
}

static void block_destroy(block *b) {
    if (b->buffer.capacity >= MAPPED)
        munmap(b->buffer.data, b->buffer.capacity);
    else
        free(b->buffer.data);
    free(b);
}

/* ---- free lists by size ("shelves"); the caller holds the lock ----------------------------- */

static void shelf_put(block *b) {
    shelf *s = &shelves[b->size_class];
    b->newer = NULL;
    b->older = s->newest;
    if (s->newest) s->newest->newer = b;
    s->newest = b;
    if (!s->oldest) s->oldest = b;
    if (b->size_class > highest_class) highest_class = b->size_class;
    b->shelved = ++shelvings;
    cached += (int64_t)b->buffer.capacity;
}

static void shelf_remove(block *b) {
    shelf *s = &shelves[b->size_class];
    if (b->newer)
        b->newer->older = b->older;
    else
        s->newest = b->older;
    if (b->older)
        b->older->newer = b->newer;
    else
        s->oldest = b->newer;
    cached -= (int64_t)b->buffer.capacity;
}

/* A free buffer of the class, or of the next larger one: fresh memory costs more than some wasted
 * bytes, and shapes that change with every step would fill the pool with unused sizes. */
static block *shelf_take(int size_class, size_t capacity) {
    block *b = shelves[size_class].newest;
    if (!b && capacity >= MAPPED && size_class + 1 < NCLASSES) b = shelves[size_class + 1].newest;
    if (b) shelf_remove(b);
    return b;
}

static block *longest_shelved(void) {
    block *found = NULL;
    for (int c = 0; c <= highest_class; c++) {
        block *b = shelves[c].oldest;
        if (b && (!found || b->shelved < found->shelved)) found = b;
    }
    return found;
}

static void shelves_shrink(int64_t limit) {
    while (cached > limit) {
        block *b = longest_shelved();
        shelf_remove(b);
        block_destroy(b);
    }
}

/* What recent peaks would need again, so that a loop finds its memory, and a process never holds
 * much more than it once needed. */
static int64_t worth_keeping(void) {
    int64_t highest = window_peak > last_window_peak ? window_peak : last_window_peak;
    int64_t below = highest - __atomic_load_n(&live, __ATOMIC_RELAXED);
    int64_t keep = (below > 0 ? below : 0) + SLACK;
    return keep < cache_limit ? keep : cache_limit;
}

static void window_note(int64_t now) {
    if (window_left-- <= 0) {
        last_window_peak = window_peak;
        window_peak = 0;
        window_left = WINDOW;
    }
    if (now > window_peak) window_peak = now;
}

static void returned_drain(void) {
    block *last = __atomic_exchange_n(&returned, NULL, __ATOMIC_ACQUIRE), *first = NULL;
    while (last) { /* in the order in which they were freed */
        block *next = last->older;
        last->older = first;
        first = last;
        last = next;
    }
    while (first) {
        block *next = first->older;
        shelf_put(first);
        first = next;
    }
    shelves_shrink(worth_keeping());
}

/* ---- buffers ----------------------------------------------------------------------------- */

static void count_live(int64_t nbytes) {
    int64_t now = __atomic_add_fetch(&live, nbytes, __ATOMIC_RELAXED);
    int64_t seen = __atomic_load_n(&peak, __ATOMIC_RELAXED);
    while (now > seen &&
           !__atomic_compare_exchange_n(&peak, &seen, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

ndrt_status ndrt_buffer_new(size_t nbytes, int flags, ndrt_buffer **out) {
    return ndrt_buffer_new_for(NULL, nbytes, flags, out);
}

ndrt_status ndrt_buffer_new_for(ndrt_account *account, size_t nbytes, int flags,
                                ndrt_buffer **out) {
    if (nbytes > (size_t)1 << 46)
        return ndrt_fail(NDRT_NOMEM, "a buffer of %zu bytes: more than an address space", nbytes);
    if (!ndrt_allocation_allowed())
        return ndrt_fail(NDRT_NOMEM, "no memory for a buffer of %zu bytes", nbytes);
    size_t capacity;
    int size_class = class_of(nbytes, &capacity);

    pthread_mutex_lock(&pool_lock);
    returned_drain();
    window_note(__atomic_load_n(&live, __ATOMIC_RELAXED) + (int64_t)capacity);
    block *b = shelf_take(size_class, capacity);
    pthread_mutex_unlock(&pool_lock);

    int fresh = !b && capacity >= MAPPED;
    if (!b) b = block_new(capacity, size_class, flags);
    if (!b) {
        ndrt_memory_trim();
        b = block_new(capacity, size_class, flags);
    }
    if (!b) return ndrt_fail(NDRT_NOMEM, "no memory for a buffer of %zu bytes", nbytes);

    capacity = b->buffer.capacity;
    b->buffer.nbytes = nbytes;
    if (flags & NDRT_ZERO && !fresh)
        memset(b->buffer.data, 0, nbytes); /* fresh pages are zero already */
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    count_live((int64_t)capacity);
    b->account = ndrt_account_take(account);
    ndrt_account_add(b->account, (int64_t)capacity);
    *out = &b->buffer;
    return NDRT_OK;
}

void ndrt_buffer_take_huge_pages(ndrt_buffer *buffer) {
    if (buffer->capacity < MAPPED || buffer->capacity < HUGE_PAGE) return;
    wish_huge(buffer->data, buffer->capacity, 1);
    madvise(buffer->data, buffer->capacity, MADV_COLLAPSE);
}

void ndrt_memory_slow_page(int64_t nanoseconds) {
    __atomic_store_n(&slow_page, nanoseconds < 0 ? USUAL_SLOW : nanoseconds, __ATOMIC_RELAXED);
    __atomic_store_n(&slow_until, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slow_pages, 0, __ATOMIC_RELAXED);
}

void ndrt_buffer_free(ndrt_buffer *buffer) {
    if (!buffer) return;
    block *b = (block *)buffer;
    int big = b->buffer.capacity >= HUGE_PAGE;
    count_live(-(int64_t)b->buffer.capacity);
    ndrt_account_add(b->account, -(int64_t)b->buffer.capacity);
    ndrt_account_free(b->account);
    b->older = __atomic_load_n(&returned, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&returned, &b->older, b, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    /* much memory should not wait for the next allocation, but a finalizer must not block */
    if (big && pthread_mutex_trylock(&pool_lock) == 0) {
        returned_drain();
        pthread_mutex_unlock(&pool_lock);
    }
}

void ndrt_memory_stats_read(ndrt_memory_stats *out) {
    pthread_mutex_lock(&pool_lock);
    returned_drain();
    out->cached = cached;
    pthread_mutex_unlock(&pool_lock);
    out->live = __atomic_load_n(&live, __ATOMIC_RELAXED);
    out->peak = __atomic_load_n(&peak, __ATOMIC_RELAXED);
    out->allocations = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
}

void ndrt_memory_trim(void) {
    pthread_mutex_lock(&pool_lock);
    returned_drain();
    shelves_shrink(0);
    pthread_mutex_unlock(&pool_lock);
    malloc_trim(0); /* what lay between blocks that live on */
}

void ndrt_memory_reset_peak(void) {
    __atomic_store_n(&peak, __atomic_load_n(&live, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void ndrt_memory_cache_limit(int64_t nbytes) {
    pthread_mutex_lock(&pool_lock);
    cache_limit = nbytes > 0 ? nbytes : 0;
    returned_drain();
    pthread_mutex_unlock(&pool_lock);
}

void ndrt_memory_at_fork(ndrt_fork_moment moment) {
    if (moment == NDRT_BEFORE_FORK)
        pthread_mutex_lock(&pool_lock);
    else
        pthread_mutex_unlock(&pool_lock);
}
