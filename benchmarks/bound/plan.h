/* A net turned into a flat list of oneDNN primitives with fixed arguments.
 *
 *   lower.c  which primitives, in which layouts        (plan_lower)
 *   memory.c where their bytes live, weights packed    (plan_bind)
 *   run.c    running and timing them
 *   stem.c   how the first convolution is best done
 */
#ifndef BOUND_PLAN_H
#define BOUND_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "net.h"
#include "oneapi/dnnl/dnnl.h"

enum {
    PLAN_MAX_STEPS = 1536,
    PLAN_MAX_TENSORS = 4096,
    PLAN_MAX_COPIES = 4, /* of one value, in different layouts */
    PLAN_MAX_ARGS = NET_MAX_INPUTS + 4
};

typedef enum { MODE_UNFUSED, MODE_FUSED, MODE_NAIVE, MODE_COUNT } plan_mode;
typedef enum { LAYOUT_NHWC, LAYOUT_BLOCKED, LAYOUT_ANY, LAYOUT_COUNT } plan_layout;

/* How the first convolution, which has too few channels for the layout of the others, is done. */
typedef struct {
    dnnl_format_tag_t src, dst;
    int skip; /* implementations of oneDNN's list to leave out */
} stem_choice;

typedef struct {
    plan_mode mode;
    plan_layout layout;
    const stem_choice *stem; /* NULL: like every other convolution */
    int n_nodes;             /* lower only that many, 0 for all */
} plan_options;

typedef enum { HOME_ARENA, HOME_CALLER, HOME_WEIGHTS } plan_home;

typedef struct {
    const_dnnl_memory_desc_t md;
    plan_home home;
    /* Tensor that has the bytes: itself, or the one it was made from in place or by renaming.
     * Everything below is only true of such a root. */
    int root;
    int first, last; /* steps between which the bytes are needed */
    size_t bytes, offset;
    char *data;
    const float *values; /* HOME_WEIGHTS: what to pack, laid out as values_md says */
    const_dnnl_memory_desc_t values_md;
} plan_tensor;

typedef struct {
    const net_node *node;
    bool is_reorder; /* a change of layout between operators, not the node itself */
    dnnl_primitive_t primitive;
    const_dnnl_primitive_desc_t pd; /* the primitive's own */
    int n_args;
    struct {
        int name, tensor;
    } args[PLAN_MAX_ARGS];
    dnnl_exec_arg_t exec[PLAN_MAX_ARGS + 1]; /* one more for the scratchpad */
    int n_exec;
    double best_ms; /* filled by plan_profile */
} plan_step;

typedef struct {
    const net *net;
    plan_options options;
    dnnl_stream_t stream;
    int n_steps, n_tensors, n_kept;
    plan_step steps[PLAN_MAX_STEPS];
    plan_tensor tensors[PLAN_MAX_TENSORS];
    dnnl_memory_desc_t kept[PLAN_MAX_TENSORS]; /* destroyed with the plan */
    struct {
        int count, tensors[PLAN_MAX_COPIES];
    } copies[NET_MAX_VALUES];
    int logits; /* tensor with the logits in plain layout, NET_NONE in a part of a net */
    char *arena, *weights, *scratchpad;
    size_t arena_bytes, weight_bytes, scratchpad_bytes;
} plan;

/* `input` is read by each run and must outlive the plan. */
plan *plan_new(const net *n, const plan_options *options, float *input);
void plan_free(plan *p);

void plan_lower(plan *p, float *input); /* the two halves of plan_new */
void plan_bind(plan *p);

void plan_run(plan *p);
const float *plan_logits(const plan *p);
/* Milliseconds of `rounds` runs, after `warmup` runs that do not count. */
void plan_time(plan *p, int warmup, int rounds, double *ms);
/* Runs with a clock round each step; leaves the smallest time of each in best_ms. */
void plan_profile(plan *p, int rounds);

int plan_count_reorders(const plan *p);
int plan_count_reference(const plan *p);
double plan_reorder_ms(const plan *p);
/* The first convolution in words: layouts and implementation. */
void plan_describe_stem(const plan *p, char *text, size_t size);
void plan_print_steps(const plan *p, FILE *to);

/* Tries what oneDNN offers for the first convolution, each inside the start of the net, and keeps
 * the fastest; says what it saw if `report` is not NULL. False if the net or the layout policy
 * leaves nothing to choose. */
bool stem_find(const net *n, const plan_options *options, float *input, stem_choice *best,
               FILE *report);

#endif
