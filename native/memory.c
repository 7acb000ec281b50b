/* Buffers, the pool of free ones behind them, and the hook that makes allocations fail. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ndrt_internal.h"

enum { LINE = 64, PAGE = 4096, HUGE_PAGE = 2 << 20, SMALL = 512, NCLASSES = 8 + 8 * 55 };

typedef struct block {
    ndrt_buffer buffer; /* first, so that the caller's pointer is the block's */
    struct block *newer, *older;
    int size_class;
} block;

typedef struct {
    block *newest, *oldest;
} shelf;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static shelf shelves[NCLASSES];
static int highest_class; /* no shelf above it has ever held anything */
static int64_t cached;    /* bytes on the shelves */
#ifdef __SANITIZE_ADDRESS__
static int64_t cache_limit = 0; /* a buffer that is given out again hides its use after free */
#else
static int64_t cache_limit = 256 << 20;
#endif

static block *returned; /* stack of freed blocks, linked by `older` */
static int64_t live, peak, allocations;
static int64_t fail_after = -1;

/* ---- failing on purpose ------------------------------------------------------------------ */

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

/* Multiples of a cache line up to SMALL, then eight steps to each power of two, so that at most
 * an eighth is wasted. */
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

static void *huge_new(size_t capacity) {
    size_t span = capacity + HUGE_PAGE;
    char *start = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    char *data = (char *)(((uintptr_t)start + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    if (data != start) munmap(start, (size_t)(data - start));
    /* Capacities from HUGE_PAGE up are whole pages, so both ends are too. */
    if (data + capacity != start + span)
        munmap(data + capacity, (size_t)(start + span - data) - capacity);
    madvise(data, capacity, MADV_HUGEPAGE); /* a wish: without it the buffer is as good, slower */
    return data;
}

static block *block_new(size_t capacity, int size_class) {
    block *made = malloc(sizeof *made);
    if (!made) return NULL;
    void *data = NULL;
    if (capacity >= HUGE_PAGE)
        data = huge_new(capacity);
    else if (posix_memalign(&data, capacity >= PAGE ? PAGE : LINE, capacity))
        data = NULL;
    if (!data) {
        free(made);
        return NULL;
    }
    *made = (block){.buffer = {.data = data, .capacity = capacity}, .size_class = size_class};
    return made;
}

static void block_destroy(block *b) {
    if (b->buffer.capacity >= HUGE_PAGE)
        munmap(b->buffer.data, b->buffer.capacity);
    else
        free(b->buffer.data);
    free(b);
}

/* ---- shelves; the lock is held ------------------------------------------------------------ */

static void shelf_put(block *b) {
    shelf *s = &shelves[b->size_class];
    b->newer = NULL;
    b->older = s->newest;
    if (s->newest) s->newest->newer = b;
    s->newest = b;
    if (!s->oldest) s->oldest = b;
    if (b->size_class > highest_class) highest_class = b->size_class;
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

/* The biggest leave first, the oldest of a size before the others. */
static void shelves_shrink(int64_t limit) {
    for (int c = highest_class; c >= 0 && cached > limit; c--)
        while (shelves[c].oldest && cached > limit) {
            block *b = shelves[c].oldest;
            shelf_remove(b);
            block_destroy(b);
        }
}

static void returned_drain(void) {
    block *b = __atomic_exchange_n(&returned, NULL, __ATOMIC_ACQUIRE);
    while (b) {
        block *next = b->older;
        shelf_put(b);
        b = next;
    }
    shelves_shrink(cache_limit);
}

/* ---- buffers ----------------------------------------------------------------------------- */

static void count_live(int64_t nbytes) {
    int64_t now = __atomic_add_fetch(&live, nbytes, __ATOMIC_RELAXED);
    int64_t seen = __atomic_load_n(&peak, __ATOMIC_RELAXED);
    while (now > seen &&
           !__atomic_compare_exchange_n(&peak, &seen, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

ndrt_status ndrt_buffer_new(size_t nbytes, int zero, ndrt_buffer **out) {
    if (nbytes > (size_t)1 << 46)
        return ndrt_fail(NDRT_NOMEM, "a buffer of %zu bytes: more than an address space", nbytes);
    if (!ndrt_allocation_allowed())
        return ndrt_fail(NDRT_NOMEM, "no memory for a buffer of %zu bytes", nbytes);
    size_t capacity;
    int size_class = class_of(nbytes, &capacity);

    pthread_mutex_lock(&pool_lock);
    returned_drain();
    block *b = shelves[size_class].newest;
    if (b) shelf_remove(b);
    pthread_mutex_unlock(&pool_lock);

    int fresh = !b && capacity >= HUGE_PAGE;
    if (!b) b = block_new(capacity, size_class);
    if (!b) {
        ndrt_memory_trim();
        b = block_new(capacity, size_class);
    }
    if (!b) return ndrt_fail(NDRT_NOMEM, "no memory for a buffer of %zu bytes", nbytes);

    b->buffer.nbytes = nbytes;
    if (zero && !fresh) memset(b->buffer.data, 0, nbytes); /* fresh pages are zero already */
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    count_live((int64_t)capacity);
    *out = &b->buffer;
    return NDRT_OK;
}

void ndrt_buffer_free(ndrt_buffer *buffer) {
    if (!buffer) return;
    block *b = (block *)buffer;
    int big = b->buffer.capacity >= HUGE_PAGE;
    count_live(-(int64_t)b->buffer.capacity);
    b->older = __atomic_load_n(&returned, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&returned, &b->older, b, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    /* Much memory should not wait for the next allocation; but a finalizer never waits either. */
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
