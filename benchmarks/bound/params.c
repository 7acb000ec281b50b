/* Where parameter values and the input come from: a seed or a file. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "net.h"
#include "util.h"

static size_t input_elements(const net *n) {
    const net_value *v = &n->values[n->input];
    return (size_t)net_elements(v->ndims, v->dims);
}

/* He: the variance that relu halves comes back, per value that is summed up. Each row sums to zero,
 * else the mean that relu leaves in every channel grows with depth, and the logits of all inputs
 * become alike: comparing them would show little. */
static void draw_weights(net_param *p, rng *r) {
    const int64_t rows = p->dims[0], row = net_elements(p->ndims, p->dims) / rows;
    const float he = p->scale * sqrtf(2.0f / (float)row);
    for (int64_t i = 0; i < rows; i++) {
        float *w = p->data + i * row;
        double sum = 0;
        for (int64_t k = 0; k < row; k++) sum += w[k] = he * rng_normal(r);
        for (int64_t k = 0; k < row; k++) w[k] -= (float)(sum / (double)row);
    }
}

static void draw_around(net_param *p, rng *r, float middle, float width) {
    const int64_t count = net_elements(p->ndims, p->dims);
    for (int64_t k = 0; k < count; k++)
        p->data[k] = p->scale * rng_uniform(r, middle - width, middle + width);
}

void params_random(net *n, uint64_t seed, float *input) {
    for (int i = 0; i < n->n_params; i++) {
        net_param *p = &n->params[i];
        rng r = {seed * 1000003u + (uint64_t)i};
        switch (p->init) {
        case INIT_HE: draw_weights(p, &r); break;
        case INIT_AROUND_ZERO: draw_around(p, &r, 0, 0.05f); break;
        case INIT_AROUND_ONE: draw_around(p, &r, 1, 0.2f); break;
        }
    }
    rng r = {seed * 1000003u + NET_MAX_PARAMS};
    for (size_t k = 0; k < input_elements(n); k++) input[k] = rng_normal(&r);
}

static void read_floats(FILE *from, const char *path, const char *what, float *to, size_t count) {
    if (fread(to, sizeof(float), count, from) != count)
        die("%s ends inside %s (%zu floats expected)", path, what, count);
}

void params_load(net *n, const char *path, float *input) {
    FILE *file = fopen(path, "rb");
    if (!file) die("%s: %s", path, strerror(errno));
    for (int i = 0; i < n->n_params; i++) {
        net_param *p = &n->params[i];
        read_floats(file, path, p->name.text, p->data, (size_t)net_elements(p->ndims, p->dims));
    }
    read_floats(file, path, "the input", input, input_elements(n));
    if (fgetc(file) != EOF) die("%s is longer than the net's parameters and input", path);
    fclose(file);
}

static void list_one(FILE *to, const char *name, int ndims, const int64_t *dims) {
    fputs(name, to);
    for (int i = 0; i < ndims; i++) fprintf(to, " %lld", (long long)dims[i]);
    fputc('\n', to);
}

void params_list(const net *n, FILE *to) {
    for (int i = 0; i < n->n_params; i++)
        list_one(to, n->params[i].name.text, n->params[i].ndims, n->params[i].dims);
    list_one(to, "input", n->values[n->input].ndims, n->values[n->input].dims);
}
