/* net_fuse: batch norm into the convolution's weights, residual sum and relu into its result.
 * Each rule needs that nobody else reads what disappears. */
#include <math.h>
#include <string.h>

#include "net.h"
#include "util.h"

/* The node that computes `value`, if `value` has no reader but one. */
static net_node *sole_producer(net *n, int value) {
    int i = net_uses(n, value) == 1 ? net_producer(n, value) : NET_NONE;
    return i == NET_NONE ? NULL : &n->nodes[i];
}

static int zero_bias(net *n, const net_node *conv) {
    if (n->n_params == NET_MAX_PARAMS) die("more than %d parameters", NET_MAX_PARAMS);
    net_param *p = &n->params[n->n_params];
    *p = (net_param){.name = net_named("%s_fold", conv->name.text),
                     .ndims = 1,
                     .dims = {n->params[conv->weight].dims[0]}};
    p->data = checked_calloc((size_t)p->dims[0], sizeof(float));
    return n->n_params++;
}

/* gamma * (w.x + b - mean) / sqrt(var + eps) + beta, written as w'.x + b'. */
static bool fold_batch_norm(net *n, const net_node *bn) {
    net_node *conv = sole_producer(n, bn->in[0]);
    if (!conv || conv->kind != OP_CONV || conv->relu || conv->sum != NET_NONE) return false;
    if (conv->bias == NET_NONE) conv->bias = zero_bias(n, conv);

    const net_param *w = &n->params[conv->weight];
    float *bias = n->params[conv->bias].data;
    const float *gamma = n->params[bn->gamma].data, *beta = n->params[bn->beta].data;
    const float *mean = n->params[bn->mean].data, *var = n->params[bn->var].data;
    const int64_t channels = w->dims[0], row = net_elements(w->ndims, w->dims) / channels;
    for (int64_t c = 0; c < channels; c++) {
        const float factor = gamma[c] / sqrtf(var[c] + bn->epsilon);
        for (int64_t k = 0; k < row; k++) w->data[c * row + k] *= factor;
        bias[c] = (bias[c] - mean[c]) * factor + beta[c];
    }
    conv->out = bn->out;
    return true;
}

/* The later of the two producers adds the other operand, which then exists already. */
static bool fold_add(net *n, const net_node *add) {
    int producer[2] = {net_producer(n, add->in[0]), net_producer(n, add->in[1])};
    int late = producer[0] > producer[1] ? 0 : 1;
    net_node *conv = sole_producer(n, add->in[late]);
    if (!conv || conv->kind != OP_CONV || conv->relu || conv->sum != NET_NONE) return false;
    if (add->in[0] == add->in[1]) return false;
    conv->sum = add->in[1 - late];
    conv->out = add->out;
    return true;
}

static bool fold_relu(net *n, const net_node *relu) {
    net_node *before = sole_producer(n, relu->in[0]);
    if (!before || (before->kind != OP_CONV && before->kind != OP_DENSE) || before->relu)
        return false;
    before->relu = true;
    before->clip = relu->clip;
    before->out = relu->out;
    return true;
}

void net_fuse(net *n) {
    for (int i = 0; i < n->n_nodes;) {
        const net_node node = n->nodes[i];
        bool gone = node.kind == OP_BATCH_NORM ? fold_batch_norm(n, &node)
                    : node.kind == OP_ADD      ? fold_add(n, &node)
                    : node.kind == OP_RELU     ? fold_relu(n, &node)
                                               : false;
        if (!gone) {
            i++;
            continue;
        }
        n->n_nodes--;
        memmove(&n->nodes[i], &n->nodes[i + 1], sizeof node * (size_t)(n->n_nodes - i));
    }
}
