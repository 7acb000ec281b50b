/* Threads read and write plain integers under lock sets, without Python's lock around them.
 *
 * Built with ThreadSanitizer by .ci/sanitize: it reports each access to an integer that the leases
 * do not order. Also counts what the locks themselves must keep: no writer beside another holder.
 * With an argument, the integers are written without a lease, which has to be reported. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "ndrt_internal.h"
#include "ndrt_leases.h"

enum { CHUNKS = 4, THREADS = 6, SETS = 100, RUNS = 300 };

static ndrt_chunk *chunks[CHUNKS];
static long numbers[CHUNKS][2]; /* equal, but while somebody writes */
static int failed, unlocked;

typedef struct {
    ndrt_chunk *chunks[CHUNKS];
    uint8_t exclusive[CHUNKS];
    int places[CHUNKS], n;
} set_spec;

static set_spec pick(unsigned *seed, int percent_written) {
    set_spec spec = {0};
    for (int i = 0; i < CHUNKS; i++) {
        if (rand_r(seed) % 2) continue;
        spec.places[spec.n] = i;
        spec.chunks[spec.n] = chunks[i];
        spec.exclusive[spec.n++] = rand_r(seed) % 100 < percent_written;
    }
    return spec;
}

static void use(const set_spec *spec) {
    for (int i = 0; i < spec->n; i++) {
        long *pair = numbers[spec->places[i]];
        if (spec->exclusive[i]) pair[0]++;
        if (pair[0] != pair[1] + spec->exclusive[i]) __atomic_store_n(&failed, 1, __ATOMIC_SEQ_CST);
        if (spec->exclusive[i]) pair[1]++;
    }
}

static ndrt_lockset *make(ndrt_lockset_kind kind, const set_spec *spec) {
    ndrt_new_lockset made;
    if (ndrt_lockset_new(kind, spec->n, spec->chunks, spec->exclusive, &made) != NDRT_OK) abort();
    return made.set;
}

/* As a recorded run does: tried by its bias, and waited for when that fails. */
static void replay(unsigned *seed) {
    const set_spec spec = pick(seed, 20);
    ndrt_lockset *set = make(NDRT_LOCKSET_LEASES, &spec);
    if (ndrt_lockset_bias(set) != NDRT_OK) abort();
    for (int i = 0; i < RUNS; i++) {
        if (!ndrt_lockset_try(set)) ndrt_lockset_take(set);
        use(&spec);
        ndrt_lockset_give_back(set);
    }
    ndrt_lockset_free(set);
}

/* As an operator that runs at once does. */
static void take(unsigned *seed) {
    const set_spec spec = pick(seed, 50);
    for (int i = 0; i < RUNS; i++) {
        ndrt_lockset *set = make(NDRT_LOCKSET_LEASES, &spec);
        if (!unlocked) ndrt_lockset_take(set);
        use(&spec);
        ndrt_lockset_free(set);
    }
}

/* A reader that becomes the writer where nobody else reads. */
static void upgrade(unsigned *seed) {
    for (int i = 0; i < RUNS; i++) {
        set_spec spec = {.n = 1, .places = {(int)(rand_r(seed) % CHUNKS)}};
        spec.chunks[0] = chunks[spec.places[0]];
        ndrt_lockset *shared = make(NDRT_LOCKSET_LEASES, &spec);
        ndrt_lockset *sole = make(NDRT_LOCKSET_UPGRADE, &spec);
        ndrt_lockset_take(shared);
        if (ndrt_lockset_take(sole)) {
            spec.exclusive[0] = 1;
            use(&spec);
            ndrt_chunk_add_writes(spec.chunks[0]);
        } else {
            use(&spec);
        }
        ndrt_lockset_free(sole);
        ndrt_lockset_free(shared);
    }
}

static void *work(void *number) {
    void (*const jobs[])(unsigned *) = {replay, take, replay, upgrade};
    const int first = (int)(intptr_t)number;
    unsigned seed = (unsigned)first + 1;
    for (int i = 0; i < SETS; i++) jobs[(first + i) % 4](&seed);
    return NULL;
}

int main(int count, char **arguments) {
    (void)arguments;
    unlocked = count > 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < CHUNKS; i++)
        if (ndrt_chunk_new(&chunks[i]) != NDRT_OK) return 2;
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i)) return 2;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < CHUNKS; i++) {
        if (ndrt_chunk_lease(chunks[i])) failed = 1;
        ndrt_chunk_free(chunks[i]);
    }
    if (failed) fputs("a lease did not exclude another\n", stderr);
    return failed;
}
