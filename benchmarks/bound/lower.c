/* Which primitives run a net, and in which layouts: nodes become steps, values become tensors. */
#include <limits.h>

#include "plan.h"
#include "prim.h"
#include "util.h"

/* ---- small parts ---- */
static const_dnnl_memory_desc_t keep(plan *p, dnnl_memory_desc_t md) {
    if (p->n_kept == PLAN_MAX_TENSORS) die("more than %d descriptors", PLAN_MAX_TENSORS);
    return p->kept[p->n_kept++] = md;
}

static int new_tensor(plan *p, const_dnnl_memory_desc_t md) {
    if (p->n_tensors == PLAN_MAX_TENSORS) die("more than %d tensors", PLAN_MAX_TENSORS);
    int t = p->n_tensors++;
    p->tensors[t] = (plan_tensor){
        .md = md, .root = t, .first = INT_MAX, .last = -1, .bytes = dnnl_memory_desc_get_size(md)};
    return t;
}

/* The same bytes under another descriptor, or written over by the step that makes it. */
static int tensor_over(plan *p, int below, const_dnnl_memory_desc_t md) {
    int t = new_tensor(p, md);
    p->tensors[t].root = p->tensors[below].root;
    return t;
}

static int weights_tensor(plan *p, int param, int ndims, const int64_t *dims,
                          const_dnnl_memory_desc_t packed) {
    int t = new_tensor(p, packed);
    p->tensors[t].home = HOME_WEIGHTS;
    p->tensors[t].values = p->net->params[param].data;
    p->tensors[t].values_md = keep(p, md_plain(ndims, dims));
    return t;
}

static plan_step *new_step(plan *p, const net_node *node, dnnl_primitive_desc_t pd) {
    if (p->n_steps == PLAN_MAX_STEPS) die("more than %d steps", PLAN_MAX_STEPS);
    plan_step *s = &p->steps[p->n_steps++];
    *s = (plan_step){.node = node};
    CHECK(dnnl_primitive_create(&s->primitive, pd));
    CHECK(dnnl_primitive_desc_destroy(pd));
    CHECK(dnnl_primitive_get_primitive_desc(s->primitive, &s->pd));
    return s;
}

static void add_arg(plan_step *s, int name, int tensor) {
    if (s->n_args == PLAN_MAX_ARGS) die("%s: too many arguments", s->node->name.text);
    s->args[s->n_args].name = name;
    s->args[s->n_args++].tensor = tensor;
}

static int reorder_to(plan *p, const net_node *node, int from, const_dnnl_memory_desc_t md) {
    plan_step *s = new_step(p, node, pd_reorder(p->tensors[from].md, md));
    s->is_reorder = true;
    int to = new_tensor(p, pd_md(s->pd, dnnl_query_dst_md));
    add_arg(s, DNNL_ARG_FROM, from);
    add_arg(s, DNNL_ARG_TO, to);
    return to;
}

/* ---- values and their copies ---- */
static void add_copy(plan *p, int value, int tensor) {
    if (p->copies[value].count == PLAN_MAX_COPIES) die("value %d: too many layouts", value);
    p->copies[value].tensors[p->copies[value].count++] = tensor;
}

/* The value as its producer left it. */
static int as_made(const plan *p, int value) { return p->copies[value].tensors[0]; }

/* The value in this layout: a copy that exists, or a new one by a reorder. The naive mode forgets
 * what it converted, as a runtime does that converts around each operator. */
static int fetch(plan *p, const net_node *node, int value, const_dnnl_memory_desc_t md) {
    for (int i = 0; i < p->copies[value].count; i++) {
        int t = p->copies[value].tensors[i];
        if (dnnl_memory_desc_equal(p->tensors[t].md, md)) return t;
        if (md_same_bytes(p->tensors[t].md, md)) return tensor_over(p, t, md);
    }
    int t = reorder_to(p, node, as_made(p, value), md);
    if (p->options.mode != MODE_NAIVE) add_copy(p, value, t);
    return t;
}

/* Gives the node's result to its readers, in the naive mode always in plain layout. */
static void publish(plan *p, const net_node *node, int tensor) {
    if (p->options.mode == MODE_NAIVE) {
        const net_value *v = &p->net->values[node->out];
        const_dnnl_memory_desc_t plain = keep(p, md_plain(v->ndims, v->dims));
        tensor = md_same_bytes(p->tensors[tensor].md, plain) ? tensor_over(p, tensor, plain)
                                                             : reorder_to(p, node, tensor, plain);
    }
    add_copy(p, node->out, tensor);
}

/* May this node write its result over `tensor`, which holds `value`? Yes if the bytes are ours and
 * nobody reads the value later, or if they are a conversion that nobody else knows. */
static bool may_overwrite(const plan *p, int index, int value, int tensor) {
    const int root = p->tensors[tensor].root;
    if (p->tensors[root].home != HOME_ARENA) return false;
    if (net_last_use(p->net, value) == index) return true;
    for (int i = 0; i < p->copies[value].count; i++)
        if (p->tensors[p->copies[value].tensors[i]].root == root) return false;
    return true;
}

/* Where a node that needs no second buffer puts its result. */
static int in_place_or_new(plan *p, int index, int value, int src) {
    const_dnnl_memory_desc_t md = p->tensors[src].md;
    return may_overwrite(p, index, value, src) ? tensor_over(p, src, md) : new_tensor(p, md);
}

/* ---- layouts ---- */
/* The policy's layout for an image. Where the policy is to leave it to oneDNN, operators that
 * cannot choose get channels-last, which is what it mostly chooses for convolutions. */
static const_dnnl_memory_desc_t policy_md(plan *p, int value) {
    const bool blocked = p->options.layout == LAYOUT_BLOCKED;
    return keep(p, md_tag(&p->net->values[value], blocked ? md_blocked_tag() : dnnl_nhwc));
}

/* Batch norm and pooling take what they find, but in the naive mode they find plain layout, in
 * which they are slow: there they convert, too. */
static int fetch_inner(plan *p, const net_node *node) {
    if (p->options.mode != MODE_NAIVE) return as_made(p, node->in[0]);
    return fetch(p, node, node->in[0], policy_md(p, node->in[0]));
}

/* ---- one function for each kind of node ---- */
static bool is_stem(const plan *p, const net_node *node) {
    return p->options.stem && node->in[0] == p->net->input;
}

static dnnl_primitive_desc_t choose_conv(plan *p, const net_node *node) {
    const net *n = p->net;
    const net_value *in = &n->values[node->in[0]], *out = &n->values[node->out];
    dnnl_primitive_desc_t pd = NULL;
    if (is_stem(p, node)) {
        const stem_choice *stem = p->options.stem;
        pd = pd_conv(n, node, keep(p, md_tag(in, stem->src)), keep(p, md_tag(out, stem->dst)),
                     stem->skip);
    } else if (p->options.layout != LAYOUT_ANY) {
        pd = pd_conv(n, node, policy_md(p, node->in[0]), policy_md(p, node->out), 0);
    }
    if (!pd) pd = pd_conv(n, node, keep(p, md_any(4, in->dims)), keep(p, md_any(4, out->dims)), 0);
    if (!pd) die("%s: oneDNN has only reference code for this convolution", node->name.text);
    return pd;
}

/* The post-op sum adds to what the destination holds: that is the other operand itself where it
 * dies here, else a copy of it. */
static int sum_destination(plan *p, int index, int src, const_dnnl_memory_desc_t md) {
    const net_node *node = &p->net->nodes[index];
    int other = fetch(p, node, node->sum, md);
    bool is_source = p->tensors[other].root == p->tensors[src].root;
    if (!is_source && may_overwrite(p, index, node->sum, other)) return tensor_over(p, other, md);
    return tensor_over(p, reorder_to(p, node, other, md), md);
}

static void add_weights(plan *p, plan_step *s) {
    int64_t dims[NET_MAX_DIMS + 1];
    int ndims = prim_weight_dims(p->net, s->node, dims);
    const_dnnl_memory_desc_t packed = pd_md(s->pd, dnnl_query_weights_md);
    add_arg(s, DNNL_ARG_WEIGHTS, weights_tensor(p, s->node->weight, ndims, dims, packed));
    if (s->node->bias == NET_NONE) return;
    const net_param *bias = &p->net->params[s->node->bias];
    const_dnnl_memory_desc_t md = keep(p, md_plain(1, bias->dims));
    add_arg(s, DNNL_ARG_BIAS, weights_tensor(p, s->node->bias, 1, bias->dims, md));
}

static void lower_conv(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    dnnl_primitive_desc_t pd = choose_conv(p, node);
    const_dnnl_memory_desc_t src_md, dst_md;
    /* Reorders come before the step in the list, so what they need is asked of pd; the
     * descriptors live on in clones, since pd goes when the step is made. */
    dnnl_memory_desc_t clone;
    CHECK(dnnl_memory_desc_clone(&clone, pd_md(pd, dnnl_query_src_md)));
    src_md = keep(p, clone);
    CHECK(dnnl_memory_desc_clone(&clone, pd_md(pd, dnnl_query_dst_md)));
    dst_md = keep(p, clone);

    int src = fetch(p, node, node->in[0], src_md);
    int dst =
        node->sum == NET_NONE ? new_tensor(p, dst_md) : sum_destination(p, index, src, dst_md);
    plan_step *s = new_step(p, node, pd);
    add_arg(s, DNNL_ARG_SRC, src);
    add_weights(p, s);
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

static void lower_dense(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    const net_value *in = &p->net->values[node->in[0]];
    int src = as_made(p, node->in[0]);
    dnnl_primitive_desc_t pd = NULL;
    if (p->options.layout != LAYOUT_ANY) pd = pd_dense(p->net, node, p->tensors[src].md);
    if (!pd) {
        pd = pd_dense(p->net, node, keep(p, md_any(in->ndims, in->dims)));
        if (!pd) die("%s: oneDNN has only reference code for this layer", node->name.text);
        dnnl_memory_desc_t wanted;
        CHECK(dnnl_memory_desc_clone(&wanted, pd_md(pd, dnnl_query_src_md)));
        src = fetch(p, node, node->in[0], keep(p, wanted));
    }
    plan_step *s = new_step(p, node, pd);
    int dst = new_tensor(p, pd_md(s->pd, dnnl_query_dst_md));
    add_arg(s, DNNL_ARG_SRC, src);
    add_weights(p, s);
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

static void lower_pool(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    int src = fetch_inner(p, node);
    dnnl_primitive_desc_t pd = pd_pool(p->net, node, p->tensors[src].md);
    if (!pd) {
        src = fetch(p, node, node->in[0], keep(p, md_tag(&p->net->values[node->in[0]], dnnl_nhwc)));
        pd = pd_pool(p->net, node, p->tensors[src].md);
    }
    if (!pd) die("%s: oneDNN has only reference code for this pooling", node->name.text);
    plan_step *s = new_step(p, node, pd);
    int dst = new_tensor(p, pd_md(s->pd, dnnl_query_dst_md));
    add_arg(s, DNNL_ARG_SRC, src);
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

static void lower_batch_norm(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    const struct {
        int arg, param;
    } params[] = {{DNNL_ARG_MEAN, node->mean},
                  {DNNL_ARG_VARIANCE, node->var},
                  {DNNL_ARG_SCALE, node->gamma},
                  {DNNL_ARG_SHIFT, node->beta}};
    int src = fetch_inner(p, node);
    int dst = in_place_or_new(p, index, node->in[0], src);
    plan_step *s = new_step(p, node, pd_batch_norm(node, p->tensors[src].md));
    add_arg(s, DNNL_ARG_SRC, src);
    for (int i = 0; i < 4; i++) {
        const int64_t *channels = p->net->params[params[i].param].dims;
        const_dnnl_memory_desc_t md = keep(p, md_plain(1, channels));
        add_arg(s, params[i].arg, weights_tensor(p, params[i].param, 1, channels, md));
    }
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

static void lower_relu(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    int src = as_made(p, node->in[0]);
    int dst = in_place_or_new(p, index, node->in[0], src);
    plan_step *s = new_step(p, node, pd_relu(node, p->tensors[src].md));
    add_arg(s, DNNL_ARG_SRC, src);
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

static void lower_add(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    int a = node->in[0], b = node->in[1];
    if (!may_overwrite(p, index, a, as_made(p, a))) { /* oneDNN adds in place to the first */
        a = node->in[1];
        b = node->in[0];
    }
    int src0 = as_made(p, a);
    int src1 = fetch(p, node, b, p->tensors[src0].md);
    int dst = in_place_or_new(p, index, a, src0);
    plan_step *s = new_step(p, node, pd_add(p->tensors[src0].md, p->tensors[src1].md));
    add_arg(s, DNNL_ARG_SRC_0, src0);
    add_arg(s, DNNL_ARG_SRC_1, src1);
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

static void lower_softmax(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    int src = as_made(p, node->in[0]);
    plan_step *s = new_step(p, node, pd_softmax(p->tensors[src].md));
    int dst = new_tensor(p, pd_md(s->pd, dnnl_query_dst_md));
    add_arg(s, DNNL_ARG_SRC, src);
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

static void lower_concat(plan *p, int index) {
    const net_node *node = &p->net->nodes[index];
    const_dnnl_memory_desc_t src_md[NET_MAX_INPUTS];
    int src[NET_MAX_INPUTS];
    for (int i = 0; i < node->n_in; i++) {
        src[i] = p->options.mode == MODE_NAIVE
                     ? as_made(p, node->in[i])
                     : fetch(p, node, node->in[i], policy_md(p, node->in[i]));
        src_md[i] = p->tensors[src[i]].md;
    }
    const net_value *out = &p->net->values[node->out];
    int dst = new_tensor(p, p->options.mode == MODE_NAIVE ? keep(p, md_plain(out->ndims, out->dims))
                                                          : policy_md(p, node->out));
    plan_step *s = new_step(p, node, pd_concat(p->tensors[dst].md, node->n_in, src_md));
    for (int i = 0; i < node->n_in; i++) add_arg(s, DNNL_ARG_MULTIPLE_SRC + i, src[i]);
    add_arg(s, DNNL_ARG_DST, dst);
    publish(p, node, dst);
}

void plan_lower(plan *p, float *input) {
    static void (*const lower[OP_COUNT])(plan *, int) = {
        [OP_CONV] = lower_conv,      [OP_BATCH_NORM] = lower_batch_norm,
        [OP_RELU] = lower_relu,      [OP_ADD] = lower_add,
        [OP_POOL_MAX] = lower_pool,  [OP_POOL_AVG] = lower_pool,
        [OP_CONCAT] = lower_concat,  [OP_DENSE] = lower_dense,
        [OP_SOFTMAX] = lower_softmax};
    const net *n = p->net;
    const net_value *in = &n->values[n->input];
    int t = new_tensor(p, keep(p, md_plain(in->ndims, in->dims)));
    p->tensors[t].home = HOME_CALLER;
    p->tensors[t].data = (char *)input;
    add_copy(p, n->input, t);

    const bool part = p->options.n_nodes > 0;
    const int n_nodes = part ? p->options.n_nodes : n->n_nodes;
    for (int i = 0; i < n_nodes; i++) lower[n->nodes[i].kind](p, i);

    p->logits = NET_NONE;
    if (part) return;
    const net_value *out = &n->values[n->logits];
    p->logits = fetch(p, &n->nodes[net_producer(n, n->logits)], n->logits,
                      keep(p, md_plain(out->ndims, out->dims)));
}
