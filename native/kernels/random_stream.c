/* Streams of random words: where the next draw begins.
 *
 * A stream's position lies in memory, and a kernel moves it when it runs: a plan that runs again
 * draws the next numbers. Each draw takes whole blocks of four words. */
#include "kernels/ndrt_kernel.h"

/* Key and position change together, by one instruction (every CPU with AVX2 has it): nobody sees
 * the key of one stream with the position of another, no lock can be left behind by a fork. */
__extension__ typedef unsigned __int128 pair;
typedef union {
    ndrt_random random;
    pair bits;
} stream_state;

__attribute__((target("cx16"))) static int replace(ndrt_random *stream, stream_state *seen,
                                                   stream_state next) {
    pair found = __sync_val_compare_and_swap((pair *)(void *)stream, seen->bits, next.bits);
    int same = found == seen->bits;
    seen->bits = found;
    return same;
}

void ndrt_random_set(ndrt_random *stream, uint64_t key, uint64_t counter) {
    stream_state seen = {.bits = 0}, next = {.random = {key, counter}};
    while (!replace(stream, &seen, next)) continue;
}

void ndrt_random_draw(ndrt_random *stream, int64_t words, ndrt_random *out) {
    stream_state seen = {.bits = 0}, next;
    do {
        next = seen;
        next.random.counter += (uint64_t)(words + 3) / 4;
    } while (!replace(stream, &seen, next));
    *out = seen.random;
}
