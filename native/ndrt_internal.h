/* What the files in native/ share and nobody else sees. */
#ifndef NDRT_INTERNAL_H
#define NDRT_INTERNAL_H

#include "kernels/ndrt_levels.h"
#include "ndrt_exports.h"
#include "ndrt_plans.h"
#include "oneapi/dnnl/dnnl.h"

#define TRY(expression)                                                                            \
    do {                                                                                           \
        ndrt_status try_status = (expression);                                                     \
        if (try_status != NDRT_OK) return try_status;                                              \
    } while (0)

/* Keeps the text for ndrt_last_error() and gives `status` back. */
__attribute__((format(printf, 2, 3))) ndrt_status ndrt_fail(ndrt_status status, const char *format,
                                                            ...);
/* NDRT_OK, or the failure of an oneDNN call named by `what`. */
ndrt_status ndrt_check(dnnl_status_t status, const char *what);

int ndrt_cpu_has(ndrt_cpu_feature feature);

dnnl_engine_t ndrt_engine(void);
ndrt_status ndrt_stream(dnnl_stream_t *out); /* this thread's own */

/* Around everything that runs oneDNN or OpenMP: a fork waits until all have left, and new ones wait
 * for the fork. Nobody enters with a lock held. */
void ndrt_gate_enter(void);
void ndrt_gate_leave(void);
ndrt_status ndrt_fork_prepare(void); /* once in a process and its children */

/* What each file that has locks does: takes them before a fork, and gives them back after it on
 * both sides; in the child it also forgets the threads that are not there. */
typedef enum { NDRT_BEFORE_FORK, NDRT_FORK_PARENT, NDRT_FORK_CHILD } ndrt_fork_moment;
void ndrt_primitive_at_fork(ndrt_fork_moment moment);
void ndrt_desc_at_fork(ndrt_fork_moment moment);
void ndrt_engine_at_fork(ndrt_fork_moment moment);
void ndrt_memory_at_fork(ndrt_fork_moment moment);
void ndrt_chunk_at_fork(ndrt_fork_moment moment);
void ndrt_readers_at_fork(ndrt_fork_moment moment);
void ndrt_crowd_at_fork(ndrt_fork_moment moment);

/* Floating-point mode and OpenMP team of native code, entered and left around each call, inside of
 * the gate. */
typedef struct {
    unsigned mxcsr;
    int threads;
} ndrt_native_state;
ndrt_status ndrt_enter(ndrt_native_state *state, int nthreads); /* failed: nothing to leave */
void ndrt_leave(const ndrt_native_state *state);
ndrt_status ndrt_use_threads(int threads); /* between the two: from now on this many */
void ndrt_signal_stack_ready(void);        /* in each thread before it runs generated code */
/* Inside of the gate, behind a region of so many threads: are there others on their cores? */
void ndrt_crowd_look(int threads);
void ndrt_crowd_prepare(void); /* once in a process, before the first look */

/* May an allocation go on? Counts for ndrt_memory_fail_after. */
int ndrt_allocation_allowed(void);
void *ndrt_malloc(size_t nbytes);
void *ndrt_calloc(size_t count, size_t nbytes);

/* A lack of memory is found before oneDNN or OpenMP would meet it. NDRT_NOMEM: nothing was done.
 * These look whether so much is to be had, and give it back; none counts as an allocation. */
ndrt_status ndrt_reserve_space(size_t nbytes, const char *what); /* of addresses: microseconds */
ndrt_status ndrt_reserve_heap(void); /* for the small things of a call: some nanoseconds */
ndrt_status ndrt_reserve_creation(const ndrt_spec *spec); /* with the creation lock */
ndrt_status ndrt_reserve_team(int threads);
/* What must be free before a run of a primitive, 0 where ndrt_reserve_heap is enough; `nelems`: of
 * its largest operand. */
size_t ndrt_reserve_of(const ndrt_spec *spec, const char *impl, int64_t nelems);
/* With the creation lock: what oneDNN's gemm generates at its first use is there from now on, if
 * the implementation needs it. */
ndrt_status ndrt_gemm_ready(const ndrt_spec *spec, const char *impl);
ndrt_status ndrt_primitive_create(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd);

/* native/onednn/kept.c, with the creation lock. Does such a primitive rest when its last user has
 * gone? If so: the one that was made of the same spec before, or a new one. */
typedef struct ndrt_kept ndrt_kept;
int ndrt_is_kept(const ndrt_spec *spec, const char *impl);
ndrt_status ndrt_kept_take(const ndrt_spec *spec, int nthreads, const char *impl,
                           const_dnnl_primitive_desc_t pd, ndrt_kept **out);
dnnl_primitive_t ndrt_kept_primitive(const ndrt_kept *kept);
void ndrt_kept_give_back(ndrt_kept *kept);
int64_t ndrt_kept_rest_set(int64_t most);

/* What is known to be wrong with an implementation; NULL: nothing. */
const char *ndrt_fault_of(const ndrt_spec *spec, const_dnnl_primitive_desc_t pd, const char *impl);

/* A reference on an account, NULL for the thread's current one. */
ndrt_account *ndrt_account_take(ndrt_account *account);
void ndrt_account_add(ndrt_account *account, int64_t nbytes);

/* A call reads at most so many arrays. */
enum { NDRT_CALL_INPUTS = 64 };
/* From the next run on step `at` has its argument here. */
void ndrt_plan_bind(ndrt_plan *plan, int64_t at, int argument, void *data);
/* From the next run on the kernel of step `at` has this number there. */
void ndrt_plan_renumber(ndrt_plan *plan, int64_t at, int scalar, double value);

const_dnnl_memory_desc_t ndrt_desc_md(const ndrt_desc *desc); /* NULL for NULL */
ndrt_status ndrt_desc_intern(const_dnnl_memory_desc_t md, ndrt_desc **out);
uint64_t ndrt_desc_hash(const ndrt_desc *desc); /* equal for equal layouts; 0 for NULL */
void ndrt_desc_hold(const ndrt_desc *desc);     /* one more reference; NULL has none */

/* Work below this many elements is done by one thread: a fork and join costs more. A team is as
 * large as the setting says, never something in between: libgomp ends the threads that a smaller
 * one leaves over, and makes them anew for the next larger one. */
enum { NDRT_SMALL_WORK = 16384 };
/* In such elements: what a primitive does (a recurrent layer, between two meetings of its team),
 * and what a product of so many multiplications does that reads so many elements. */
int64_t ndrt_spec_work(const ndrt_spec *spec);
int64_t ndrt_product_work(int64_t multiplications, int64_t elements);
int64_t ndrt_biggest_of(const ndrt_spec *spec); /* elements of its largest operand */

/* Layouts in words, and the text of the last failure with a spec's layouts behind it. */
void ndrt_describe(const ndrt_desc *desc, char *to, size_t room);
ndrt_status ndrt_blame_spec(ndrt_status status, const ndrt_spec *spec);

/* What a primitive reads or writes under one argument number. */
typedef struct {
    int arg;
    int optional; /* oneDNN knows a layout for it but does not touch it */
    ndrt_desc *desc;
} ndrt_expected;

struct ndrt_prim {
    const char *kind; /* for error texts */
    int nexpected;
    ndrt_expected *expected;
    dnnl_primitive_t primitive;
    const_dnnl_primitive_desc_t pd; /* the primitive's own */
    const char *impl;
    const char *fault; /* that is known of it */
    int64_t scratchpad;
    int64_t reorders; /* bytes that a run writes when this is a reorder, else -1 */
    size_t reserve;   /* address space that must be free before a run */
    int nthreads;
    ndrt_kept *kept; /* whose the primitive is then */
    ndrt_prim *next_given_back;
};

/* Arguments of a primitive: checked, turned into memory objects, used, destroyed. */
ndrt_status ndrt_args_check(const ndrt_prim *prim, int nargs, const ndrt_arg *args);
ndrt_status ndrt_args_make(int nargs, const ndrt_arg *args, dnnl_exec_arg_t *made);
void ndrt_args_destroy(int nargs, dnnl_exec_arg_t *made);
void ndrt_count_reorder(int64_t nbytes);
/* Inside ndrt_enter and ndrt_leave. */
ndrt_status ndrt_prim_execute(const ndrt_prim *prim, int nargs, const dnnl_exec_arg_t *args);
ndrt_status ndrt_kernel_check(const ndrt_kernel_call *call);
int ndrt_kernel_threads(const ndrt_kernel_call *call);
ndrt_status ndrt_kernel_execute(const ndrt_kernel_call *call, int nthreads);
/* a * b * c; -1 where that is more than can be, or where one of them was so already. */
static inline int64_t ndrt_product(int64_t a, int64_t b, int64_t c) {
    int64_t n;
    if (a < 0 || b < 0 || c < 0) return -1;
    return __builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) ? -1 : n;
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

/* What the makers share. */
typedef struct {
    dnnl_dims_t kernel, strides, dilates, pad_l, pad_r;
} ndrt_window;
ndrt_status ndrt_window_read(const char *kind, const ndrt_spec *spec, const ndrt_desc *src,
                             ndrt_window *window);
ndrt_status ndrt_need(const char *kind, const char *field, const ndrt_desc *desc);
ndrt_status ndrt_no_direction(const char *kind, int direction);
dnnl_prop_kind_t ndrt_prop(int direction);
int ndrt_is_forward(int direction);
int ndrt_is_recurrent(int kind);

/* The makers stand in the files native/onednn/make_<family>.c; each fills *pd or fails. */
typedef struct {
    const ndrt_spec *spec;
    dnnl_engine_t engine;
    const_dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t *hint; /* a backward leaves its forward here, to be destroyed later */
} ndrt_make;
ndrt_status ndrt_make_convolution(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_deconvolution(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_inner_product(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_matmul(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_pooling(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_batch_norm(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_layer_norm(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_lrn(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_eltwise(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_binary(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_prelu(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_softmax(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_concat(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_sum(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_reduction(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_vanilla_rnn(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_lstm(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_lbr_gru(const ndrt_make *make, dnnl_primitive_desc_t *pd);
ndrt_status ndrt_make_reorder(const ndrt_make *make, dnnl_primitive_desc_t *pd);

#endif
