/* A network as data: parameters, values and nodes in the order they run. Knows nothing of
 * oneDNN, layouts or memory; lower.c turns it into primitives. */
#ifndef BOUND_NET_H
#define BOUND_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    NET_MAX_DIMS = 4,
    NET_MAX_INPUTS = 4, /* of one node; the widest is an Inception concat */
    NET_MAX_PARAMS = 1024,
    NET_MAX_VALUES = 512,
    NET_MAX_NODES = 512,
    NET_NAME = 48,
    NET_NONE = -1 /* no such parameter, value or node */
};

typedef struct {
    char text[NET_NAME];
} net_name;
__attribute__((format(printf, 1, 2))) net_name net_named(const char *format, ...);

typedef enum {
    OP_CONV,
    OP_BATCH_NORM,
    OP_RELU,
    OP_ADD,
    OP_POOL_MAX,
    OP_POOL_AVG,
    OP_CONCAT,
    OP_DENSE,
    OP_SOFTMAX,
    OP_COUNT
} op_kind;

/* How a parameter is drawn when no file gives it. */
typedef enum { INIT_HE, INIT_AROUND_ZERO, INIT_AROUND_ONE } init_kind;

typedef struct {
    net_name name;
    int ndims;
    int64_t dims[NET_MAX_DIMS];
    init_kind init;
    float scale; /* multiplies what is drawn */
    float *data;
} net_param;

/* An activation. Dims are batch, channels, height, width whatever layout it is kept in. */
typedef struct {
    int ndims;
    int64_t dims[NET_MAX_DIMS];
} net_value;

typedef struct {
    op_kind kind;
    net_name name;
    int n_in, in[NET_MAX_INPUTS], out; /* values */
    int kernel, stride, pad, groups;
    int weight, bias;           /* parameters of convolution and dense */
    int gamma, beta, mean, var; /* parameters of batch norm */
    float epsilon;
    float clip; /* relu: upper limit, 0 for none */
    /* Filled by net_fuse: result = relu(conv + bias + value `sum`) */
    int sum;
    bool relu;
} net_node;

typedef struct {
    int n_params, n_values, n_nodes;
    net_param params[NET_MAX_PARAMS];
    net_value values[NET_MAX_VALUES];
    net_node nodes[NET_MAX_NODES];
    int input, logits, output; /* values; logits are what --dump writes */
    bool skips_unread;         /* builders leave out pixels that nobody reads */
} net;

/* ---- building: each call appends one node and returns the value it computes ---- */
int net_input(net *n, int64_t batch, int64_t channels, int64_t height, int64_t width);

typedef struct {
    int64_t channels;
    int kernel, stride, pad;
    int groups; /* 0 means 1 */
    bool bias;
} conv_spec;
int net_conv(net *n, const char *name, int x, conv_spec spec);
/* gamma is drawn around `gamma_scale`; below 1 it keeps a residual sum from growing. */
int net_batch_norm(net *n, const char *name, int x, float gamma_scale);
/* Both, the batch norm named after the convolution. */
int net_conv_bn(net *n, const char *name, int x, conv_spec spec, float gamma_scale);
int net_relu(net *n, const char *name, int x, float clip);
int net_add(net *n, const char *name, int a, int b);
int net_pool_max(net *n, const char *name, int x, int kernel, int stride, int pad);
int net_pool_avg(net *n, const char *name, int x, int kernel, int stride, int pad);
int net_concat(net *n, const char *name, int count, const int *inputs);
int net_dense(net *n, const char *name, int x, int64_t units);
int net_softmax(net *n, const char *name, int x);

/* ---- the nets there are ---- */
typedef struct {
    const char *name;
    /* Builds up to the logits and returns them; main adds the softmax. */
    int (*build)(net *n, int64_t batch);
} net_entry;
const net_entry *net_find(const char *name); /* NULL when there is none */
void net_print_names(FILE *to);

int build_resnet50_v1(net *n, int64_t batch);
int build_resnet50_v1_5(net *n, int64_t batch);
int build_vgg16(net *n, int64_t batch);
int build_googlenet(net *n, int64_t batch);
int build_mobilenet_v2(net *n, int64_t batch);

/* ---- looking at a net ---- */
int64_t net_elements(int ndims, const int64_t *dims);
int net_producer(const net *n, int value); /* node, NET_NONE for the input */
int net_uses(const net *n, int value);     /* number of nodes that read it */
int net_last_use(const net *n, int value); /* node, NET_NONE; n_nodes for results */
double net_flops(const net *n);            /* convolutions and dense, multiply and add */
const char *op_name(op_kind kind);

/* ---- parameters and passes ---- */
void params_random(net *n, uint64_t seed, float *input);
void params_load(net *n, const char *path, float *input);
void params_list(const net *n, FILE *to);
void net_fuse(net *n);

#endif
