/* The API of the native shim: all but kernels (ndrt_kernels.h), plans and replays (ndrt_plans.h),
 * and what other libraries get (ndrt_exports.h). cffi reads the parts between the two marks of
 * these files, nothing else.
 *
 * Every function that can fail returns an ndrt_status, stores its result through its last argument,
 * and sets the text of ndrt_last_error(). No function prints or aborts; only those that make and
 * consume capsules call Python. All others may be called from any thread without the GIL. */
#ifndef NDRT_H
#define NDRT_H

#include <stddef.h>
#include <stdint.h>

/* cdef-begin */
enum { NDRT_MAX_DIMS = 12, NDRT_MAX_SPATIAL = 3, NDRT_MAX_POST_OPS = 32 };

typedef enum {
    NDRT_OK = 0,
    NDRT_INVALID = 1,     /* the caller's mistake */
    NDRT_UNSUPPORTED = 2, /* correct, but oneDNN has no implementation */
    NDRT_NOMEM = 3,
    NDRT_INTERNAL = 4,
    NDRT_RANGE = 5, /* a number in an array names no element of another */
    NDRT_VALUE = 6  /* a number in an array means nothing to what reads it */
} ndrt_status;

/* This thread's last failure; valid until its next ndrt_ call that fails. */
const char *ndrt_last_error(void);

/* ---- the CPU ------------------------------------------------------------------------- */
typedef enum {                    /* what kernels may use, a bit each */
               NDRT_HAS_AVX2 = 1, /* with FMA and F16C */
               NDRT_HAS_AVX2_VNNI = 2,
               NDRT_HAS_AVX512 = 4, /* F, BW, CD, DQ and VL */
               NDRT_HAS_AVX512_VNNI = 8,
               NDRT_HAS_AVX512_BF16 = 16,
               NDRT_HAS_AVX512_FP16 = 32,
               NDRT_HAS_AMX = 64
} ndrt_cpu_feature;
/* Once, before the engine is created: `name` is the level that oneDNN and native kernels are
 * limited to, one of avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, avx512_fp16 and amx; "":
 * everything that the machine has. INVALID for another name, UNSUPPORTED for features that the
 * machine lacks. */
ndrt_status ndrt_cpu_choose(const char *name);
/* Limits the features of a machine to those of a level; fails in the same way. */
ndrt_status ndrt_cpu_resolve(int machine, const char *name, int *features);
int ndrt_cpu_features(void);      /* those chosen */
const char *ndrt_cpu_level(void); /* the highest level that they have */

/* ---- engine ------------------------------------------------------------------------- */
ndrt_status ndrt_engine_init(void);
void ndrt_engine_version(int *version /* [3] */);
const char *ndrt_engine_isa(void);
const char *ndrt_engine_library(void); /* file that the mapped oneDNN came from */
/* From OMP_NUM_THREADS, else the number of cores that CPU affinity and the quotas of control groups
 * allow. `root` is prepended to the names of system files: "" except in tests. */
int ndrt_threads_default(const char *root);
int ndrt_threads_get(void);
ndrt_status ndrt_threads_set(int threads);
/* Makes ndrt_threads_get() return this number in this thread, until it is set to 0. */
void ndrt_threads_here(int threads);
/* Whether the threads of a team wait for each other by sleeping: while other processes are seen to
 * use their cores, always, or never. Results do not depend on it. */
typedef enum { NDRT_CROWD_LOOK = 0, NDRT_CROWD_ALWAYS = 1, NDRT_CROWD_NEVER = 2 } ndrt_crowd_mode;
/* Takes effect at the end of the next region. `running`: pretend that so many threads run on the
 * machine, for tests; 0: read it from the system. */
void ndrt_crowd_set(int mode, int running);
int ndrt_crowd_seen(void); /* they do so now */
/* Float32 operations per second, in 1e9, that this many threads reach with multiply-adds in
 * registers only: an upper bound for float32 kernels. Each call measures for some milliseconds.
 * INVALID for less than 1 thread. */
ndrt_status ndrt_peak_measure(int threads, double *gflops);
void ndrt_flush_subnormals_set(int on);
int ndrt_flush_subnormals_get(void);

/* ---- buffers: bytes with one owner --------------------------------------------------- */
typedef struct {
    void *data;
    size_t nbytes;   /* asked for */
    size_t capacity; /* there */
} ndrt_buffer;
typedef struct {
    int64_t live, peak, cached; /* bytes, as capacities */
    int64_t allocations;
} ndrt_memory_stats;
/* An account counts the bytes that one session holds; it lives until its owner and the last buffer
 * charged to it are gone. Buffers are charged to the given account, else to the thread's current
 * one. */
typedef struct {
    int64_t live, peak; /* bytes, as capacities */
    int64_t references;
} ndrt_account;
ndrt_status ndrt_account_new(ndrt_account **out);
void ndrt_account_free(ndrt_account *account); /* gives one reference back; takes no lock */
ndrt_account *ndrt_account_arrays(void);       /* what no session holds; never freed */
/* Makes an account this thread's current one; returns the previous one, to be restored. */
ndrt_account *ndrt_account_enter(ndrt_account *account);
void ndrt_account_leave(ndrt_account *before);
void ndrt_account_reset_peak(ndrt_account *account);
/* A block of one thread in which buffers are charged to an account; can be nested. Leaving it is
 * one call that accepts and ignores the arguments of Python's __exit__, and does nothing if the
 * block was not entered. */
typedef struct {
    ndrt_account *account;
    int depth;
    ndrt_account *outer[8];
} ndrt_account_block;
void ndrt_account_begin(ndrt_account_block *block);
int ndrt_account_exit(ndrt_account_block *block, void *keep, void *kind, void *error, void *trace);

/* NDRT_SOON: somebody waits while the buffer is filled. Large buffers get huge pages, which are
 * faster to read and mostly to create; but if the system has no free ones, creating them may take
 * ten times as long as small ones. Such a buffer gets huge pages as long as creating them is fast,
 * and small ones for the rest. */
typedef enum { NDRT_ZERO = 1, NDRT_SOON = 2 } ndrt_buffer_flags;
ndrt_status ndrt_buffer_new(size_t nbytes, int flags, ndrt_buffer **out);
ndrt_status ndrt_buffer_new_for(ndrt_account *account, size_t nbytes, int flags, ndrt_buffer **out);
/* Replaces small pages by huge ones, if the system can: it copies the contents, while others may
 * read and write them, and addresses stay the same. */
void ndrt_buffer_take_huge_pages(ndrt_buffer *buffer);
/* For tests: creating a huge page counts as slow from so many nanoseconds of CPU time on; below 0:
 * the usual limit. Forgets slow ones. */
void ndrt_memory_slow_page(int64_t nanoseconds);
void ndrt_buffer_free(ndrt_buffer *buffer); /* queues, takes no lock: safe in a finalizer */
void ndrt_memory_stats_read(ndrt_memory_stats *out);
void ndrt_memory_trim(void);
void ndrt_memory_reset_peak(void);
/* Freed buffers are kept for reuse, the most recently used ones, up to what recent peaks would need
 * again plus 16 MiB, and never more than this limit. */
void ndrt_memory_cache_limit(int64_t nbytes);
/* After n more allocations one fails, once; below 0: none. */
void ndrt_memory_fail_after(int64_t n);

/* ---- chunk state: what C must be able to check ---------------------------------------- */
typedef struct ndrt_reader ndrt_reader;
typedef struct {
    uint64_t id;      /* never used twice */
    uint64_t version; /* bumped when pointer or layout change */
    uint64_t writes;  /* bumped by each write of contents */
    uint64_t exports; /* writable exports that ended: whether they wrote, nobody saw */
    int32_t pins;     /* exports alive: bytes stay where and as they are */
    int32_t writable_pins;
    int32_t packers; /* living plans that keep their layout in it */
    int32_t references;
    union {
        struct {
            int32_t lease; /* > 0 readers, -1 one writer */
            uint32_t era;  /* forks before it was taken: one of an earlier era counts as 0 */
        };
        uint64_t lease_word;
    };
    ndrt_account *account; /* of the session that made it; its memory is charged there */
    void *data;            /* where the bytes are; NULL: not allocated yet */
    int64_t layout;        /* id of the special layout that they are in; 0: the default one */
    ndrt_reader
        *readers; /* biased: they read it now or will again, and are not counted in `lease` */
} ndrt_chunk;
ndrt_status ndrt_chunk_new(ndrt_chunk **out);
/* The fields, for callers that have no pointers. */
uint64_t ndrt_chunk_writes_at(intptr_t chunk);
/* Stores how often each of n chunks was written to; 0: one of them is exported for writing. */
int ndrt_chunks_note(int n, ndrt_chunk *const *chunks, uint64_t *writes);
/* Whether none of them was written to since. */
int ndrt_chunks_unwritten(int n, ndrt_chunk *const *chunks, const uint64_t *writes);
int32_t ndrt_chunk_writable_pins_at(intptr_t chunk);
ndrt_status ndrt_chunk_share(ndrt_chunk *chunk, ndrt_chunk **out);    /* one more owner of it */
void ndrt_chunk_place(ndrt_chunk *chunk, void *data, int64_t layout); /* bumps version */
void ndrt_chunk_free(ndrt_chunk *chunk); /* gives the owner's reference back */
void ndrt_chunk_add_version(ndrt_chunk *chunk);
void ndrt_chunk_add_writes(ndrt_chunk *chunk);
void ndrt_chunk_add_pins(ndrt_chunk *chunk, int pins, int writable);
/* The number of readers, or -1 for a writer: counted in `lease` by this process, and biased ones.
 */
int ndrt_chunk_lease(ndrt_chunk *chunk);

/* Copies bytes between two chunks in the default layout, given by address; counts the write. 0:
 * nothing was done, because one of them has no memory or another layout, they are the same, or a
 * lease conflicts. */
int ndrt_chunk_copy(intptr_t to, size_t to_offset, intptr_t from, size_t from_offset,
                    size_t nbytes);

/* A lock set: leases on several chunks, acquired and released as a unit, together with whether they
 * are held. Releasing a set that is not held does nothing, and freeing a set releases it. Not
 * thread-safe. A chunk named more than once counts once, as exclusive if it is so once. */
typedef enum {
    NDRT_LOCKSET_LEASES = 1,  /* shared or exclusive ones, taken all at once or waited for */
    NDRT_LOCKSET_UPGRADE = 2, /* one chunk: an exclusive lease in place of the caller's shared one,
                              or, where `exclusive` is set, of none; got only when nobody else has
                              any, never waited for */
    NDRT_LOCKSET_PACKED = 3   /* counts as a packer */
} ndrt_lockset_kind;
typedef struct ndrt_lockset ndrt_lockset;
typedef struct {
    ndrt_lockset *set;
    intptr_t address; /* the same, for callers that have no pointers */
} ndrt_new_lockset;
ndrt_status ndrt_lockset_new(ndrt_lockset_kind kind, int n, ndrt_chunk *const *chunks,
                             const uint8_t *exclusive /* NULL: none */, ndrt_new_lockset *out);
/* 1: acquired; 0: it was held already, or an upgrade was not possible. */
int ndrt_lockset_take(ndrt_lockset *set);
/* For frequent readers of the same chunks: shared leases of this set are biased from now on. */
ndrt_status ndrt_lockset_bias(ndrt_lockset *set);
/* Acquires a biased lock set, or returns 0 instead of waiting. As long as nobody changes the chunks
 * that are read, hundreds of them cost as much as one. Chunks that change often are counted in the
 * usual way for the next thousand times. */
int ndrt_lockset_try(ndrt_lockset *set);
/* While the set is held this way: a number that stays the same until a biased lease is revoked,
 * because its chunk is written, or changes its version, writes, or writable exports. Else 0. */
uint64_t ndrt_lockset_unrevoked(const ndrt_lockset *set);
int ndrt_lockset_is_biased(const ndrt_lockset *set, const ndrt_chunk *chunk);
void ndrt_lockset_give_back(ndrt_lockset *set);
/* 0: this thread does not hold `held`; 1: it does; 2: it does, and acquiring `wanted` would wait
 * for that. Both are leases. */
int ndrt_lockset_meets(const ndrt_lockset *held, const ndrt_lockset *wanted);
/* Releases; accepts and ignores the arguments of Python's __exit__. */
int ndrt_lockset_exit(ndrt_lockset *set, void *keep, void *kind, void *error, void *trace);
void ndrt_lockset_free(ndrt_lockset *set);

/* ---- layout descriptors: interned, equal layouts are one pointer ----------------------- */
typedef enum {
    NDRT_F16 = 1,
    NDRT_BF16 = 2,
    NDRT_F32 = 3,
    NDRT_S32 = 4,
    NDRT_S8 = 5,
    NDRT_U8 = 6,
    NDRT_F64 = 7
} ndrt_dtype;
typedef enum { NDRT_FORMAT_ANY = 1, NDRT_FORMAT_BLOCKED = 2, NDRT_FORMAT_OPAQUE = 3 } ndrt_format;
typedef struct ndrt_desc ndrt_desc;
typedef struct {
    int64_t id;      /* equal layouts have one id; never used twice */
    int64_t same_as; /* id of the same bytes with the strides of size-1 dims put in order */
    int64_t nbytes;  /* from the first byte touched to the last, padding included */
    int64_t nelems;  /* padding not included */
    int32_t dtype;   /* ndrt_dtype */
    int32_t format;  /* ndrt_format */
    int32_t ndims;
    int32_t is_default; /* dense row-major for these dims, dims of size 1 ignored */
    int32_t is_padded;
    int32_t is_plain; /* strides alone say where an element lies: no blocks, padding or extras */
    int32_t inner_nblks;
    int64_t offset0;
    int64_t dims[12];
    int64_t padded_dims[12];
    int64_t strides[12];
    int64_t inner_blks[12];
    int64_t inner_idxs[12];
} ndrt_desc_info;
ndrt_status ndrt_desc_strided(int dtype, int ndims, const int64_t *dims, const int64_t *strides,
                              ndrt_desc **out); /* strides NULL: row-major */
ndrt_status ndrt_desc_tagged(int dtype, int ndims, const int64_t *dims, const char *tag,
                             ndrt_desc **out); /* oneDNN's letters: "any", "acdb", "aBcd16b" */
/* As in numpy.transpose: dim i of the result is dim axes[i] of `desc`. */
ndrt_status ndrt_desc_permuted(const ndrt_desc *desc, const int *axes, ndrt_desc **out);
ndrt_status ndrt_desc_reshaped(const ndrt_desc *desc, int ndims, const int64_t *dims,
                               ndrt_desc **out); /* UNSUPPORTED when bytes would have to move */
const ndrt_desc_info *ndrt_desc_read(const ndrt_desc *desc);
void ndrt_desc_free(ndrt_desc *desc); /* gives one reference back; queues, takes no lock */
int64_t ndrt_desc_count(void);

/* ---- primitives ------------------------------------------------------------------------ */
typedef enum {
    NDRT_CONVOLUTION = 1,
    NDRT_DECONVOLUTION = 2,
    NDRT_INNER_PRODUCT = 3,
    NDRT_MATMUL = 4,
    NDRT_POOLING = 5,
    NDRT_BATCH_NORM = 6,
    NDRT_LRN = 7,
    NDRT_ELTWISE = 8,
    NDRT_BINARY = 9,
    NDRT_PRELU = 10,
    NDRT_SOFTMAX = 11,
    NDRT_CONCAT = 12,
    NDRT_SUM = 13,
    NDRT_REDUCTION = 14,
    NDRT_REORDER = 15,
    NDRT_LAYER_NORM = 16,
    NDRT_VANILLA_RNN = 17,
    NDRT_LSTM = 18,
    NDRT_LBR_GRU = 19 /* the reset gate comes after the matrix product */
} ndrt_kind;
typedef enum {
    NDRT_FORWARD_TRAINING = 1,
    NDRT_FORWARD_INFERENCE = 2,
    NDRT_BACKWARD = 3, /* data and, where there are some, weights in one primitive */
    NDRT_BACKWARD_DATA = 4,
    NDRT_BACKWARD_WEIGHTS = 5
} ndrt_direction;
/* The numbers are oneDNN's own. */
typedef enum {
    NDRT_ALG_NONE = 0,
    NDRT_ELTWISE_RELU = 0x20,
    NDRT_ELTWISE_TANH = 0x21,
    NDRT_ELTWISE_ELU = 0x22,
    NDRT_ELTWISE_SQUARE = 0x23,
    NDRT_ELTWISE_ABS = 0x24,
    NDRT_ELTWISE_SQRT = 0x25,
    NDRT_ELTWISE_LINEAR = 0x26,
    NDRT_ELTWISE_SOFT_RELU = 0x27,
    NDRT_ELTWISE_HARDSIGMOID = 0x28,
    NDRT_ELTWISE_LOGISTIC = 0x29,
    NDRT_ELTWISE_EXP = 0x2a,
    NDRT_ELTWISE_GELU_TANH = 0x2b,
    NDRT_ELTWISE_SWISH = 0x2c,
    NDRT_ELTWISE_LOG = 0x2d,
    NDRT_ELTWISE_CLIP = 0x2e,
    NDRT_ELTWISE_CLIP_V2 = 0x2f,
    NDRT_ELTWISE_POW = 0x30,
    NDRT_ELTWISE_GELU_ERF = 0x31,
    NDRT_ELTWISE_ROUND = 0x32,
    NDRT_ELTWISE_MISH = 0x33,
    NDRT_ELTWISE_HARDSWISH = 0x34,
    NDRT_ELTWISE_TANH_FROM_DST = 0x101,
    NDRT_ELTWISE_LOGISTIC_FROM_DST = 0x104,
    NDRT_POOLING_MAX = 0x1ff,
    NDRT_POOLING_AVG_INCLUDE_PADDING = 0x2ff,
    NDRT_POOLING_AVG_EXCLUDE_PADDING = 0x3ff,
    NDRT_LRN_ACROSS_CHANNELS = 0xaff,
    NDRT_BINARY_ADD = 0x1fff0,
    NDRT_BINARY_MUL = 0x1fff1,
    NDRT_BINARY_MAX = 0x1fff2,
    NDRT_BINARY_MIN = 0x1fff3,
    NDRT_BINARY_DIV = 0x1fff4,
    NDRT_BINARY_SUB = 0x1fff5,
    NDRT_BINARY_GE = 0x1fff6,
    NDRT_BINARY_GT = 0x1fff7,
    NDRT_BINARY_LE = 0x1fff8,
    NDRT_BINARY_LT = 0x1fff9,
    NDRT_BINARY_EQ = 0x1fffa,
    NDRT_BINARY_NE = 0x1fffb,
    NDRT_REDUCTION_MAX = 0x2fff2,
    NDRT_REDUCTION_MIN = 0x2fff3,
    NDRT_REDUCTION_SUM = 0x2fff4,
    NDRT_REDUCTION_MEAN = 0x2fff6,
    NDRT_SOFTMAX_ACCURATE = 0x30000,
    NDRT_SOFTMAX_LOG = 0x30001
} ndrt_alg;
/* Flags of NDRT_BATCH_NORM and NDRT_LAYER_NORM; oneDNN's own numbers. */
typedef enum { NDRT_USE_GLOBAL_STATS = 1, NDRT_USE_SCALE = 2, NDRT_USE_SHIFT = 4 } ndrt_norm_flag;

typedef enum { NDRT_POST_ELTWISE = 1, NDRT_POST_SUM = 2, NDRT_POST_BINARY = 3 } ndrt_post_kind;
typedef struct {
    int kind;              /* ndrt_post_kind */
    int alg;               /* eltwise or binary */
    float alpha, beta;     /* eltwise; alpha is the scale of a sum */
    const ndrt_desc *desc; /* second operand of a binary */
} ndrt_post_op;

/* What a primitive is made from; a field that its kind does not use is left 0. A backward
 * primitive makes its forward hint itself, from the same fields (a missing src, weights, bias or
 * dst is taken from its diff_ field).
 *
 * kind             reads                                      backward reads
 * convolution,     src weights bias dst, the window           DATA: diff_src weights diff_dst
 * deconvolution                                               WEIGHTS: src diff_weights diff_bias
 *                                                             diff_dst
 * inner product    src weights bias dst                       the same
 * matmul           src weights bias dst                       none
 * pooling          src dst alg, the window                    diff_src diff_dst
 * batch norm       src dst epsilon flags                      src diff_src diff_dst
 * lrn              src dst alg local_size alpha beta k        src diff_src diff_dst
 * layer norm       src dst epsilon flags                      src diff_src diff_dst
 * eltwise          src dst alg alpha beta                     src (dst for ..._FROM_DST) diff_src
 *                                                             diff_dst
 * binary           srcs[2], or src and weights; dst alg       none
 * prelu            src weights dst                            src weights diff_src diff_weights
 *                                                             diff_dst
 * softmax          src dst alg axis                           dst diff_src diff_dst
 * concat           srcs dst axis                              none
 * sum              srcs scales dst                            none
 * reduction        src dst alg, alpha (p), epsilon            none
 * reorder          src dst                                    none
 * vanilla rnn,     src weights bias dst, their ..._iter and   the same; the diff_ ones have these
 * lstm, lbr gru    ..._iter_c, weights_projection, alg        layouts too
 *
 * The window is nspatial, strides, dilates, pad_l, pad_r, for pooling kernel too. bias may be
 * NULL. dst may be NULL where src's layout will do, and for concat and sum. */
typedef struct {
    int kind, direction, alg;
    int impl_index;     /* 0: oneDNN's first choice, 1: its second, ... */
    const char *prefer; /* how the name of a better implementation begins; may be NULL */
    int any_kernel;     /* also one that is known to be wrong: for the check of oneDNN */
    int nthreads;       /* 0: the current setting; small work takes 1 anyhow */
    int low_products;   /* float32 numbers may be rounded to bfloat16 before they are multiplied */
    const ndrt_desc *src, *weights, *bias, *dst;
    const ndrt_desc *diff_src, *diff_weights, *diff_bias, *diff_dst;
    /* recurrent layers; two directions where dims[1] of weights is 2 */
    const ndrt_desc *src_iter, *src_iter_c, *weights_iter, *weights_projection;
    const ndrt_desc *dst_iter, *dst_iter_c;
    int nsrcs; /* concat, sum, binary */
    const ndrt_desc *const *srcs;
    const float *scales;
    int nspatial, axis;
    int64_t kernel[3], strides[3], pad_l[3], pad_r[3];
    int64_t dilates[3]; /* oneDNN's: 0 is dense, one less than MXNet's */
    int64_t local_size;
    float alpha, beta, k, epsilon;
    unsigned flags;
    int npost_ops;
    const ndrt_post_op *post_ops;
} ndrt_spec;
typedef struct ndrt_prim ndrt_prim;
ndrt_status ndrt_prim_new(const ndrt_spec *spec, ndrt_prim **out);
void ndrt_prim_free(ndrt_prim *prim);               /* never waits: safe in a finalizer */
const char *ndrt_prim_impl(const ndrt_prim *prim);  /* oneDNN's name of the implementation */
const char *ndrt_prim_fault(const ndrt_prim *prim); /* what is known to be wrong with it, or NULL */
int ndrt_prim_threads(const ndrt_prim *prim);
int64_t ndrt_prim_scratchpad(const ndrt_prim *prim); /* bytes */
int64_t ndrt_prim_count(void);
int64_t ndrt_kept_count(void);        /* those of oneDNN that are used or rest */
int64_t ndrt_kept_most(int64_t most); /* may rest, gives the bound of before; for tests */
/* Reorders run by anybody, including replayed plans, and the bytes that they wrote. */
void ndrt_reorders_read(int64_t *count, int64_t *nbytes);
void ndrt_reorders_reset(void);

/* The numbers are oneDNN's own; a query by one of them gives the layout wanted there. */
typedef enum {
    NDRT_ARG_SRC = 1,
    NDRT_ARG_SRC_1 = 2,
    NDRT_ARG_SRC_ITER = 2,
    NDRT_ARG_SRC_ITER_C = 3,
    NDRT_ARG_DST = 17,
    NDRT_ARG_DST_ITER = 18,
    NDRT_ARG_DST_ITER_C = 19,
    NDRT_ARG_WEIGHTS = 33,
    NDRT_ARG_WEIGHTS_ITER = 34,
    NDRT_ARG_WEIGHTS_PROJECTION = 36,
    NDRT_ARG_BIAS = 41,
    NDRT_ARG_MEAN = 49,
    NDRT_ARG_VARIANCE = 50,
    NDRT_ARG_SCALE = 51,
    NDRT_ARG_SHIFT = 52,
    NDRT_ARG_WORKSPACE = 64,
    NDRT_ARG_SCRATCHPAD = 80,
    NDRT_ARG_DIFF_SRC = 129,
    NDRT_ARG_DIFF_SRC_ITER = 130,
    NDRT_ARG_DIFF_SRC_ITER_C = 131,
    NDRT_ARG_DIFF_DST = 145,
    NDRT_ARG_DIFF_DST_ITER = 146,
    NDRT_ARG_DIFF_DST_ITER_C = 147,
    NDRT_ARG_DIFF_WEIGHTS = 161,
    NDRT_ARG_DIFF_WEIGHTS_ITER = 162,
    NDRT_ARG_DIFF_WEIGHTS_PROJECTION = 164,
    NDRT_ARG_DIFF_BIAS = 169,
    NDRT_ARG_DIFF_SCALE = 255,
    NDRT_ARG_DIFF_SHIFT = 256,
    NDRT_ARG_MULTIPLE_SRC = 1024,
    NDRT_ARG_POST_OP = 32768 /* * (index + 1) + NDRT_ARG_SRC_1 */
} ndrt_arg_id;
ndrt_status ndrt_prim_desc(const ndrt_prim *prim, int arg, ndrt_desc **out); /* NULL: none */

typedef struct {
    int arg;
    const ndrt_desc *desc;
    void *data;
} ndrt_arg;
ndrt_status ndrt_prim_run(const ndrt_prim *prim, int nargs, const ndrt_arg *args);
/* cdef-end */

#endif
