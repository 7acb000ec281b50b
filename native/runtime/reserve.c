/* Checks whether memory is available by allocating and freeing it, before oneDNN or OpenMP would
 * fail for lack of it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ndrt_internal.h"

enum {
    HEAP = 96 << 10
}; /* pieces that oneDNN takes in a run are smaller, but for large products */

int ndrt_has_space(size_t nbytes) {
    void *start = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start != MAP_FAILED && munmap(start, nbytes) == 0;
}

static int has_heap(void) {
    void *piece = malloc(HEAP);
    __asm__ volatile("" : "+r"(piece)); /* keeps the compiler from removing the allocation */
    free(piece);
    return piece != NULL;
}

/* the pool may hold what is missing */
static __attribute__((noinline)) int after_trim(size_t nbytes) {
    ndrt_memory_trim();
    return nbytes ? ndrt_has_space(nbytes) : has_heap();
}

ndrt_status ndrt_reserve_space(size_t nbytes, const char *what) {
    if (ndrt_has_space(nbytes) || after_trim(nbytes)) return NDRT_OK;
    return ndrt_fail(NDRT_NOMEM, "no memory for %s: %zu MiB of address space must be free", what,
                     nbytes >> 20);
}

ndrt_status ndrt_reserve_heap(void) {
    if (has_heap() || after_trim(0)) return NDRT_OK;
    return ndrt_fail(NDRT_NOMEM, "no memory for oneDNN: %d KiB must be free", HEAP >> 10);
}

ndrt_status ndrt_reserve_team(int threads) {
    pthread_attr_t attr;
    size_t stack = 8 << 20;
    if (pthread_getattr_default_np(&attr) == 0) {
        pthread_attr_getstacksize(&attr, &stack);
        pthread_attr_destroy(&attr);
    }
    return ndrt_reserve_space((size_t)(threads - 1) * stack + HEAP, "the threads of OpenMP");
}
