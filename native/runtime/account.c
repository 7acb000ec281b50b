/* Accounts: who holds how many bytes. */
#include <stdlib.h>

#include "ndrt_internal.h"

static ndrt_account arrays = {.references = 1};
static _Thread_local ndrt_account *current; /* NULL: `arrays` */

ndrt_account *ndrt_account_arrays(void) { return &arrays; }

ndrt_status ndrt_account_new(ndrt_account **out) {
    ndrt_account *account = ndrt_calloc(1, sizeof *account);
    if (!account) return ndrt_fail(NDRT_NOMEM, "no memory for an account");
    account->references = 1;
    *out = account;
    return NDRT_OK;
}

void ndrt_account_free(ndrt_account *account) {
    if (account && __atomic_sub_fetch(&account->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(account);
}

/* The thread has a reference of its own, as an interrupt may keep a caller from leaving. */
ndrt_account *ndrt_account_enter(ndrt_account *account) {
    ndrt_account *before = current;
    current = ndrt_account_take(account);
    return before;
}

void ndrt_account_leave(ndrt_account *before) {
    ndrt_account_free(current);
    current = before;
}

ndrt_account *ndrt_account_take(ndrt_account *account) {
    if (!account) account = current ? current : &arrays;
    __atomic_add_fetch(&account->references, 1, __ATOMIC_RELAXED);
    return account;
}

void ndrt_account_add(ndrt_account *account, int64_t nbytes) {
    int64_t now = __atomic_add_fetch(&account->live, nbytes, __ATOMIC_RELAXED);
    int64_t seen = __atomic_load_n(&account->peak, __ATOMIC_RELAXED);
    while (now > seen && !__atomic_compare_exchange_n(&account->peak, &seen, now, 0,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

void ndrt_account_reset_peak(ndrt_account *account) {
    __atomic_store_n(&account->peak, __atomic_load_n(&account->live, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
}

void ndrt_account_begin(ndrt_account_block *block) {
    enum { ROOM = sizeof block->outer / sizeof block->outer[0] };
    ndrt_account *before = ndrt_account_enter(block->account);
    if (block->depth < ROOM) block->outer[block->depth] = before;
    block->depth++;
}

int ndrt_account_exit(ndrt_account_block *block, void *keep, void *kind, void *error, void *trace) {
    (void)keep, (void)kind, (void)error, (void)trace;
    enum { ROOM = sizeof block->outer / sizeof block->outer[0] };
    if (block->depth && --block->depth < ROOM) ndrt_account_leave(block->outer[block->depth]);
    return 0;
}
