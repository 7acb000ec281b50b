#include "net.h"

#include <stdarg.h>
#include <string.h>

#include "util.h"

static const net_entry nets[] = {
    {"resnet50_v1", build_resnet50_v1},
    {"resnet50_v15", build_resnet50_v1_5},
    {"vgg16", build_vgg16},
    {"googlenet", build_googlenet},
    {"mobilenet_v2", build_mobilenet_v2},
};

const net_entry *net_find(const char *name) {
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if (strcmp(nets[i].name, name) == 0) return &nets[i];
    return NULL;
}

void net_print_names(FILE *to) {
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) fprintf(to, " %s", nets[i].name);
}

net_name net_named(const char *format, ...) {
    net_name name;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(name.text, sizeof name.text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof name.text) die("name too long: %s...", name.text);
    return name;
}

/* ---- parts of the builder ---- */
static int add_param(net *n, const char *node, const char *what, int ndims, const int64_t *dims,
                     init_kind init, float scale) {
    if (n->n_params == NET_MAX_PARAMS) die("more than %d parameters", NET_MAX_PARAMS);
    net_param *p = &n->params[n->n_params];
    *p = (net_param){
        .name = net_named("%s_%s", node, what), .ndims = ndims, .init = init, .scale = scale};
    memcpy(p->dims, dims, (size_t)ndims * sizeof *dims);
    p->data = checked_calloc((size_t)net_elements(ndims, dims), sizeof(float));
    return n->n_params++;
}

static int add_value(net *n, int ndims, const int64_t *dims) {
    if (n->n_values == NET_MAX_VALUES) die("more than %d values", NET_MAX_VALUES);
    net_value *v = &n->values[n->n_values];
    v->ndims = ndims;
    memcpy(v->dims, dims, (size_t)ndims * sizeof *dims);
    return n->n_values++;
}

static net_node *add_node(net *n, op_kind kind, const char *name, int n_in, const int *in) {
    if (n->n_nodes == NET_MAX_NODES) die("more than %d nodes", NET_MAX_NODES);
    if (n_in > NET_MAX_INPUTS) die("%s: more than %d inputs", name, NET_MAX_INPUTS);
    net_node *node = &n->nodes[n->n_nodes++];
    *node = (net_node){.kind = kind,
                       .name = net_named("%s", name),
                       .n_in = n_in,
                       .groups = 1,
                       .weight = NET_NONE,
                       .bias = NET_NONE,
                       .gamma = NET_NONE,
                       .beta = NET_NONE,
                       .mean = NET_NONE,
                       .var = NET_NONE,
                       .sum = NET_NONE};
    memcpy(node->in, in, (size_t)n_in * sizeof *in);
    return node;
}

static int64_t window_count(const char *name, int64_t size, int kernel, int stride, int pad) {
    int64_t room = size + 2 * pad - kernel;
    if (room < 0) die("%s: a window of %d does not fit into %lld", name, kernel, (long long)size);
    return room / stride + 1;
}

/* Height and width after a window slid over `x`; channels stay. */
static int slide(net *n, net_node *node, int x, int kernel, int stride, int pad, int64_t channels) {
    const net_value *v = &n->values[x];
    if (v->ndims != 4) die("%s: needs an image", node->name.text);
    node->kernel = kernel;
    node->stride = stride;
    node->pad = pad;
    int64_t dims[4] = {v->dims[0], channels,
                       window_count(node->name.text, v->dims[2], kernel, stride, pad),
                       window_count(node->name.text, v->dims[3], kernel, stride, pad)};
    return node->out = add_value(n, 4, dims);
}

/* ---- the builder ---- */
int net_input(net *n, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    int64_t dims[4] = {batch, channels, height, width};
    return n->input = add_value(n, 4, dims);
}

int net_conv(net *n, const char *name, int x, conv_spec spec) {
    net_node *node = add_node(n, OP_CONV, name, 1, &x);
    if (spec.groups > 0) node->groups = spec.groups;
    int64_t in_channels = n->values[x].dims[1];
    if (in_channels % node->groups || spec.channels % node->groups)
        die("%s: %d groups do not divide the channels", name, node->groups);
    int64_t dims[4] = {spec.channels, in_channels / node->groups, spec.kernel, spec.kernel};
    node->weight = add_param(n, name, "weight", 4, dims, INIT_HE, 1);
    if (spec.bias) node->bias = add_param(n, name, "bias", 1, dims, INIT_AROUND_ZERO, 1);
    return slide(n, node, x, spec.kernel, spec.stride, spec.pad, spec.channels);
}

int net_batch_norm(net *n, const char *name, int x, float gamma_scale) {
    net_node *node = add_node(n, OP_BATCH_NORM, name, 1, &x);
    const net_value v = n->values[x];
    const int64_t *channels = &v.dims[1];
    node->epsilon = 1e-5f;
    node->gamma = add_param(n, name, "gamma", 1, channels, INIT_AROUND_ONE, gamma_scale);
    node->beta = add_param(n, name, "beta", 1, channels, INIT_AROUND_ZERO, 1);
    node->mean = add_param(n, name, "mean", 1, channels, INIT_AROUND_ZERO, 1);
    node->var = add_param(n, name, "var", 1, channels, INIT_AROUND_ONE, 1);
    return node->out = add_value(n, v.ndims, v.dims);
}

int net_conv_bn(net *n, const char *name, int x, conv_spec spec, float gamma_scale) {
    x = net_conv(n, name, x, spec);
    return net_batch_norm(n, net_named("%s_bn", name).text, x, gamma_scale);
}

static int same_shape(net *n, net_node *node) {
    const net_value v = n->values[node->in[0]];
    return node->out = add_value(n, v.ndims, v.dims);
}

int net_relu(net *n, const char *name, int x, float clip) {
    net_node *node = add_node(n, OP_RELU, name, 1, &x);
    node->clip = clip;
    return same_shape(n, node);
}

int net_add(net *n, const char *name, int a, int b) {
    const net_value *va = &n->values[a], *vb = &n->values[b];
    if (va->ndims != vb->ndims || memcmp(va->dims, vb->dims, sizeof *va->dims * (size_t)va->ndims))
        die("%s: the shapes of the two operands differ", name);
    return same_shape(n, add_node(n, OP_ADD, name, 2, (int[]){a, b}));
}

int net_pool_max(net *n, const char *name, int x, int kernel, int stride, int pad) {
    net_node *node = add_node(n, OP_POOL_MAX, name, 1, &x);
    return slide(n, node, x, kernel, stride, pad, n->values[x].dims[1]);
}

int net_pool_avg(net *n, const char *name, int x, int kernel, int stride, int pad) {
    net_node *node = add_node(n, OP_POOL_AVG, name, 1, &x);
    return slide(n, node, x, kernel, stride, pad, n->values[x].dims[1]);
}

int net_concat(net *n, const char *name, int count, const int *inputs) {
    net_node *node = add_node(n, OP_CONCAT, name, count, inputs);
    net_value sum = n->values[inputs[0]];
    for (int i = 1; i < count; i++) sum.dims[1] += n->values[inputs[i]].dims[1];
    return node->out = add_value(n, sum.ndims, sum.dims);
}

int net_dense(net *n, const char *name, int x, int64_t units) {
    net_node *node = add_node(n, OP_DENSE, name, 1, &x);
    const net_value v = n->values[x];
    int64_t weight[2] = {units, net_elements(v.ndims, v.dims) / v.dims[0]};
    node->weight = add_param(n, name, "weight", 2, weight, INIT_HE, 1);
    node->bias = add_param(n, name, "bias", 1, weight, INIT_AROUND_ZERO, 1);
    int64_t dims[2] = {v.dims[0], units};
    return node->out = add_value(n, 2, dims);
}

int net_softmax(net *n, const char *name, int x) {
    return same_shape(n, add_node(n, OP_SOFTMAX, name, 1, &x));
}

/* ---- looking at a net ---- */
int64_t net_elements(int ndims, const int64_t *dims) {
    int64_t count = 1;
    for (int i = 0; i < ndims; i++) count *= dims[i];
    return count;
}

int net_producer(const net *n, int value) {
    for (int i = 0; i < n->n_nodes; i++)
        if (n->nodes[i].out == value) return i;
    return NET_NONE;
}

static bool reads(const net_node *node, int value) {
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] == value) return true;
    return node->sum == value;
}

int net_uses(const net *n, int value) {
    int uses = value == n->logits || value == n->output;
    for (int i = 0; i < n->n_nodes; i++) uses += reads(&n->nodes[i], value);
    return uses;
}

int net_last_use(const net *n, int value) {
    if (value == n->logits || value == n->output) return n->n_nodes;
    int last = NET_NONE;
    for (int i = 0; i < n->n_nodes; i++)
        if (reads(&n->nodes[i], value)) last = i;
    return last;
}

double net_flops(const net *n) {
    double sum = 0;
    for (int i = 0; i < n->n_nodes; i++) {
        const net_node *node = &n->nodes[i];
        if (node->weight == NET_NONE) continue;
        const net_param *w = &n->params[node->weight];
        const net_value *out = &n->values[node->out];
        /* Every result costs one row of the weights. */
        sum += 2.0 * (double)net_elements(out->ndims, out->dims) *
               (double)(net_elements(w->ndims, w->dims) / w->dims[0]);
    }
    return sum;
}

const char *op_name(op_kind kind) {
    static const char *const names[OP_COUNT] = {
        [OP_CONV] = "conv",     [OP_BATCH_NORM] = "batch_norm", [OP_RELU] = "relu",
        [OP_ADD] = "add",       [OP_POOL_MAX] = "pool_max",     [OP_POOL_AVG] = "pool_avg",
        [OP_CONCAT] = "concat", [OP_DENSE] = "dense",           [OP_SOFTMAX] = "softmax"};
    return names[kind];
}
