/* What the files in native/onednn/ share, and offer to those above them. */
#ifndef NDRT_ONEDNN_H
#define NDRT_ONEDNN_H

#include "ndrt_internal.h"

/* ---- layouts -------------------------------------------------------------------------------- */

const_dnnl_memory_desc_t ndrt_desc_md(const ndrt_desc *desc); /* NULL for NULL */
ndrt_status ndrt_desc_intern(const_dnnl_memory_desc_t md, ndrt_desc **out);
uint64_t ndrt_desc_hash(const ndrt_desc *desc); /* equal for equal layouts; 0 for NULL */
void ndrt_desc_hold(const ndrt_desc *desc);     /* one more reference; NULL has none */

/* Layouts in words, and the text of the last failure with a spec's layouts behind it. */
void ndrt_describe(const ndrt_desc *desc, char *to, size_t room);
ndrt_status ndrt_blame_spec(ndrt_status status, const ndrt_spec *spec);

void ndrt_desc_at_fork(ndrt_fork_moment moment);

/* ---- creation -------------------------------------------------------------------------------- */

ndrt_status ndrt_reserve_creation(const ndrt_spec *spec); /* with the creation lock */
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

/* ---- primitives ------------------------------------------------------------------------------ */

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

/* In elements as NDRT_SMALL_WORK counts them: what a primitive does (a recurrent layer, between two
 * meetings of its team), and what a product of so many multiplications does that reads so many
 * elements. */
int64_t ndrt_spec_work(const ndrt_spec *spec);
int64_t ndrt_product_work(int64_t multiplications, int64_t elements);
int64_t ndrt_biggest_of(const ndrt_spec *spec); /* elements of its largest operand */

/* ---- kinds of primitives, native/onednn/kinds.c ------------------------------------------------
 */

const char *ndrt_kind_name(int kind); /* NULL: there is no such kind */
int ndrt_is_forward(int direction);
int ndrt_is_recurrent(int kind);
ndrt_status ndrt_need(const char *kind, const char *field, const ndrt_desc *desc);
/* oneDNN's first choice for a spec of a kind that there is. A backward leaves the forward that is
 * its hint in *hint, to be destroyed once one no longer walks on from *pd. */
ndrt_status ndrt_pd_create(const ndrt_spec *spec, const_dnnl_primitive_attr_t attr,
                           dnnl_primitive_desc_t *hint, dnnl_primitive_desc_t *pd);

#endif
