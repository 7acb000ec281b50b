/* Where the bytes of a plan live: one arena shared by lifetimes, one block of packed weights, one
 * scratchpad. */
#include <stdlib.h>

#include "plan.h"
#include "prim.h"
#include "util.h"

/* The runtime aligns its large buffers so, too: both meet the same conflicts in the caches. */
enum { ALIGN = 4096 };

static size_t aligned(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static plan_tensor *root_of(plan *p, int tensor) { return &p->tensors[p->tensors[tensor].root]; }

static void find_lifetimes(plan *p) {
    for (int i = 0; i < p->n_steps; i++) {
        for (int a = 0; a < p->steps[i].n_args; a++) {
            plan_tensor *t = root_of(p, p->steps[i].args[a].tensor);
            if (t->first > i) t->first = i;
            t->last = i;
        }
    }
    /* Read after the run. */
    if (p->logits != NET_NONE) root_of(p, p->logits)->last = p->n_steps;
}

static bool in_arena(const plan *p, int tensor) {
    const plan_tensor *t = &p->tensors[tensor];
    return t->root == tensor && t->home == HOME_ARENA && t->last >= 0;
}

/* Puts `t` at the lowest offset where no placed tensor alive at the same time is. `placed` is in
 * order of offset. */
static size_t lowest_offset(const plan *p, const plan_tensor *t, const int *placed, int n_placed) {
    size_t offset = 0;
    for (int i = 0; i < n_placed; i++) {
        const plan_tensor *other = &p->tensors[placed[i]];
        if (other->last < t->first || t->last < other->first) continue;
        if (offset + t->bytes <= other->offset) break;
        size_t end = aligned(other->offset + other->bytes);
        if (end > offset) offset = end;
    }
    return offset;
}

/* Largest first: the small ones fit into the gaps. */
static void place_arena(plan *p) {
    int *todo = checked_calloc((size_t)p->n_tensors, sizeof *todo);
    int *placed = checked_calloc((size_t)p->n_tensors, sizeof *placed);
    int n_todo = 0;
    for (int t = 0; t < p->n_tensors; t++) {
        if (!in_arena(p, t)) continue;
        int k = n_todo++;
        for (; k > 0 && p->tensors[todo[k - 1]].bytes < p->tensors[t].bytes; k--)
            todo[k] = todo[k - 1];
        todo[k] = t;
    }
    for (int i = 0; i < n_todo; i++) {
        plan_tensor *t = &p->tensors[todo[i]];
        t->offset = lowest_offset(p, t, placed, i);
        if (t->offset + t->bytes > p->arena_bytes) p->arena_bytes = t->offset + t->bytes;
        int k = i;
        for (; k > 0 && p->tensors[placed[k - 1]].offset > t->offset; k--)
            placed[k] = placed[k - 1];
        placed[k] = todo[i];
    }
    p->arena = big_alloc(p->arena_bytes);
    for (int i = 0; i < n_todo; i++)
        p->tensors[todo[i]].data = p->arena + p->tensors[todo[i]].offset;
    free(todo);
    free(placed);
}

static dnnl_memory_t memory_at(const_dnnl_memory_desc_t md, void *data) {
    dnnl_memory_t memory;
    CHECK(dnnl_memory_create(&memory, md, prim_engine(), data));
    return memory;
}

static void pack(plan *p, const plan_tensor *t) {
    dnnl_primitive_desc_t pd = pd_reorder(t->values_md, t->md);
    dnnl_primitive_t reorder;
    CHECK(dnnl_primitive_create(&reorder, pd));
    const_dnnl_memory_desc_t scratch_md = pd_md(pd, dnnl_query_scratchpad_md);
    size_t scratch_bytes = scratch_md ? dnnl_memory_desc_get_size(scratch_md) : 0;
    void *scratch = scratch_bytes ? big_alloc(scratch_bytes) : NULL;
    dnnl_exec_arg_t args[3] = {{DNNL_ARG_FROM, memory_at(t->values_md, (void *)t->values)},
                               {DNNL_ARG_TO, memory_at(t->md, t->data)}};
    int n_args = 2;
    if (scratch)
        args[n_args++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, memory_at(scratch_md, scratch)};
    CHECK(dnnl_primitive_execute(reorder, p->stream, n_args, args));
    CHECK(dnnl_stream_wait(p->stream));
    for (int i = 0; i < n_args; i++) CHECK(dnnl_memory_destroy(args[i].memory));
    CHECK(dnnl_primitive_destroy(reorder));
    CHECK(dnnl_primitive_desc_destroy(pd));
    free(scratch);
}

static void place_weights(plan *p) {
    for (int i = 0; i < p->n_tensors; i++) {
        plan_tensor *t = &p->tensors[i];
        if (t->home != HOME_WEIGHTS) continue;
        t->offset = p->weight_bytes;
        p->weight_bytes = aligned(p->weight_bytes + t->bytes);
    }
    p->weights = big_alloc(p->weight_bytes);
    for (int i = 0; i < p->n_tensors; i++) {
        plan_tensor *t = &p->tensors[i];
        if (t->home != HOME_WEIGHTS) continue;
        t->data = p->weights + t->offset;
        pack(p, t);
    }
}

static void bind_steps(plan *p) {
    for (int i = 0; i < p->n_steps; i++) {
        const_dnnl_memory_desc_t md = pd_md(p->steps[i].pd, dnnl_query_scratchpad_md);
        size_t bytes = md ? dnnl_memory_desc_get_size(md) : 0;
        if (bytes > p->scratchpad_bytes) p->scratchpad_bytes = bytes;
    }
    p->scratchpad = big_alloc(p->scratchpad_bytes);
    for (int i = 0; i < p->n_steps; i++) {
        plan_step *s = &p->steps[i];
        for (int a = 0; a < s->n_args; a++) {
            const plan_tensor *t = &p->tensors[s->args[a].tensor];
            s->exec[s->n_exec++] = (dnnl_exec_arg_t){
                s->args[a].name, memory_at(t->md, root_of(p, s->args[a].tensor)->data)};
        }
        const_dnnl_memory_desc_t md = pd_md(s->pd, dnnl_query_scratchpad_md);
        if (md && dnnl_memory_desc_get_size(md))
            s->exec[s->n_exec++] =
                (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, memory_at(md, p->scratchpad)};
    }
}

void plan_bind(plan *p) {
    find_lifetimes(p);
    place_arena(p);
    place_weights(p);
    bind_steps(p);
}

plan *plan_new(const net *n, const plan_options *options, float *input) {
    plan *p = checked_calloc(1, sizeof *p);
    p->net = n;
    p->options = *options;
    CHECK(dnnl_stream_create(&p->stream, prim_engine(), dnnl_stream_default_flags));
    plan_lower(p, input);
    plan_bind(p);
    return p;
}

void plan_free(plan *p) {
    for (int i = 0; i < p->n_steps; i++) {
        plan_step *s = &p->steps[i];
        for (int a = 0; a < s->n_exec; a++) CHECK(dnnl_memory_destroy(s->exec[a].memory));
        CHECK(dnnl_primitive_destroy(s->primitive));
    }
    for (int i = 0; i < p->n_kept; i++) CHECK(dnnl_memory_desc_destroy(p->kept[i]));
    CHECK(dnnl_stream_destroy(p->stream));
    free(p->arena);
    free(p->weights);
    free(p->scratchpad);
    free(p);
}
