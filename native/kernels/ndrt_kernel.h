/* What kernels share, and those who run them know of them. */
#ifndef NDRT_KERNEL_H
#define NDRT_KERNEL_H

#include "kernels/ndrt_levels.h"
#include "ndrt_internal.h"

/* Where arguments that are constants make one function several. */
#define INLINED static inline __attribute__((always_inline))

ndrt_status ndrt_kernel_check(const ndrt_kernel_call *call);
int ndrt_kernel_threads(const ndrt_kernel_call *call);
ndrt_status ndrt_kernel_execute(const ndrt_kernel_call *call, int nthreads);
/* a * b * c; -1 where that is more than can be, or where one of them was so already. */
static inline int64_t ndrt_product(int64_t a, int64_t b, int64_t c) {
    int64_t n;
    if (a < 0 || b < 0 || c < 0) return -1;
    return __builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) ? -1 : n;
}
/* Counts from `least` on, of which an int holds also one more. */
static inline int ndrt_is_count(int64_t n, int64_t least) { return n >= least && n < INT32_MAX; }
static inline int ndrt_are_counts(const int64_t pair[2], int64_t least) {
    return ndrt_is_count(pair[0], least) && ndrt_is_count(pair[1], least);
}
/* The nearest int. */
static inline int ndrt_int_of(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int)x;
}
/* INVALID where one of the first `count` arrays of a call is not there. */
ndrt_status ndrt_need_arrays(const ndrt_kernel_call *call, int count);
/* The threads of a kernel's call that does so much work. */
int ndrt_team_for(const ndrt_kernel_call *call, int64_t work);

/* Kernels element by element do those from `from` up to `to`; `from` is a multiple of 64. */
typedef void (*ndrt_range_kernel)(const ndrt_kernel_call *call, int64_t from, int64_t to);
/* Shares n elements out among the threads. */
void ndrt_share_out(ndrt_range_kernel range, const ndrt_kernel_call *call, int64_t n, int nthreads);
/* Of the best k of n: so few are put in their places one by one, and how many candidates are kept
 * before they are chosen. */
enum { NDRT_TOPK_FEW = 64 };
int64_t ndrt_topk_candidates(int64_t n, int64_t k);
/* A multiply-add takes 4 or 5 cycles and a core begins two in each: that many chains that do not
 * wait for one another keep both units busy, and all of them stay in registers. */
enum { NDRT_CHAINS = 12 };

#endif
