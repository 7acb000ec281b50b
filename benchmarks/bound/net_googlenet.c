/* GoogLeNet (Inception v1) with neither local response norm nor side classifiers; pooling windows
 * that stick out of the image are left out, so the maps are 55, 27, 13 and 7 wide. */
#include "net.h"

static int conv_relu(net *n, const char *name, int x, int64_t channels, int kernel, int stride) {
    const conv_spec spec = {channels, kernel, stride, kernel / 2, 1, true};
    x = net_conv(n, name, x, spec);
    return net_relu(n, net_named("%s_relu", name).text, x, 0);
}

/* Channels of the four branches; a branch's second convolution follows its 1x1 reduction. */
typedef struct {
    const char *name;
    int64_t one, reduce3, three, reduce5, five, pooled;
} inception;

static int branches(net *n, int x, const inception *i) {
    int y[4];
    y[0] = conv_relu(n, net_named("%s_1x1", i->name).text, x, i->one, 1, 1);
    y[1] = conv_relu(n, net_named("%s_3x3_reduce", i->name).text, x, i->reduce3, 1, 1);
    y[1] = conv_relu(n, net_named("%s_3x3", i->name).text, y[1], i->three, 3, 1);
    y[2] = conv_relu(n, net_named("%s_5x5_reduce", i->name).text, x, i->reduce5, 1, 1);
    y[2] = conv_relu(n, net_named("%s_5x5", i->name).text, y[2], i->five, 5, 1);
    y[3] = net_pool_max(n, net_named("%s_pool", i->name).text, x, 3, 1, 1);
    y[3] = conv_relu(n, net_named("%s_project", i->name).text, y[3], i->pooled, 1, 1);
    return net_concat(n, net_named("%s_concat", i->name).text, 4, y);
}

int build_googlenet(net *n, int64_t batch) {
    static const inception parts[] = {
        {"i3a", 64, 96, 128, 16, 32, 32},     {"i3b", 128, 128, 192, 32, 96, 64},
        {"i4a", 192, 96, 208, 16, 48, 64},    {"i4b", 160, 112, 224, 24, 64, 64},
        {"i4c", 128, 128, 256, 24, 64, 64},   {"i4d", 112, 144, 288, 32, 64, 64},
        {"i4e", 256, 160, 320, 32, 128, 128}, {"i5a", 256, 160, 320, 32, 128, 128},
        {"i5b", 384, 192, 384, 48, 128, 128}};

    int x = net_input(n, batch, 3, 224, 224);
    x = conv_relu(n, "stem", x, 64, 7, 2);
    x = net_pool_max(n, "pool1", x, 3, 2, 0);
    x = conv_relu(n, "conv2_reduce", x, 64, 1, 1);
    x = conv_relu(n, "conv2", x, 192, 3, 1);
    x = net_pool_max(n, "pool2", x, 3, 2, 0);
    for (int i = 0; i < 9; i++) {
        x = branches(n, x, &parts[i]);
        if (i == 1) x = net_pool_max(n, "pool3", x, 3, 2, 0);
        if (i == 6) x = net_pool_max(n, "pool4", x, 3, 2, 1);
    }
    x = net_pool_avg(n, "global_pool", x, 7, 1, 0);
    return net_dense(n, "fc", x, 1000);
}
