/* An alternate stack for signal handlers in each thread that runs oneDNN.
 *
 * Some of oneDNN's generated code, such as its sgemm with many columns, points the stack pointer at
 * a buffer on the heap. A handler on the ordinary stack would then run below that buffer and
 * overwrite whatever the heap has there. Python's handlers use the alternate stack (SA_ONSTACK) if
 * there is one. */
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "ndrt_internal.h"

enum { ROOM = 64 << 10, PAGE = 4096 };

static _Thread_local int is_ready;
static pthread_key_t key;
static int has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Room for the registers of the widest instruction set and for handlers in C. */
static size_t stack_size(void) {
#ifdef AT_MINSIGSTKSZ
    size_t least = getauxval(AT_MINSIGSTKSZ);
#else
    size_t least = 0;
#endif
    return (least + ROOM + PAGE - 1) / PAGE * PAGE;
}

static void give_up(void *stack) {
    stack_t now;
    if (sigaltstack(NULL, &now)) return;
    if (now.ss_sp == stack) {
        const stack_t none = {.ss_flags = SS_DISABLE};
        if (sigaltstack(&none, NULL)) return;
    }
    munmap(stack, stack_size());
}

static void make_key(void) { has_key = pthread_key_create(&key, give_up) == 0; }

static __attribute__((noinline)) void install(void) {
    is_ready = 1;
    stack_t now;
    pthread_once(&once, make_key);
    /* whoever brought one needs it */
    if (!has_key || sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE)) return;
    size_t size = stack_size();
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) {
        is_ready = 0; /* the next call tries again */
        return;
    }
    const stack_t own = {.ss_sp = stack, .ss_size = size};
    if (pthread_setspecific(key, stack) || sigaltstack(&own, NULL)) {
        pthread_setspecific(key, NULL);
        munmap(stack, size);
    }
}

void ndrt_signal_stack_ready(void) {
    if (!is_ready) install();
}
