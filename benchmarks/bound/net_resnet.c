/* ResNet-50. Version 1 puts the stride of a stage into the first 1x1 convolution of its first
 * block, version 1.5 into the 3x3 convolution, which costs more arithmetic.
 *
 * Version 1 is the one of MXNet's gluon model zoo, whose 1x1 convolutions of the main path carry a
 * bias although a batch norm follows; 1.5 has none. Parameters are declared in gluon's order.
 *
 * All that reads the last block of a stage of version 1 skips every other pixel. Where the net may
 * leave out what nobody reads, that block's 3x3 convolution takes the stride, and its shortcut is
 * thinned out. */
#include "net.h"

typedef struct {
    bool stride_in_3x3, bias_in_1x1;
} resnet_version;

/* The gain of each block's last batch norm, small enough that sixteen sums stay of order one. */
static const float residual_gamma = 0.3f;

/* `skip` is the stride of all that reads the result, where that is left to this block. */
static int bottleneck(net *n, const char *name, int x, int64_t channels, int stride, int skip,
                      const resnet_version *version) {
    const int64_t inner = channels / 4;
    const bool bias = version->bias_in_1x1;
    const conv_spec reduce = {inner, 1, version->stride_in_3x3 ? 1 : stride, 0, 1, bias};
    const conv_spec middle = {inner, 3, version->stride_in_3x3 ? stride : skip, 1, 1, false};
    const conv_spec expand = {channels, 1, 1, 0, 1, bias};
    const conv_spec project = {channels, 1, stride, 0, 1, false};
    /* The first block of a stage changes shape, so its shortcut needs a projection. */
    const bool projects = stride != 1 || n->values[x].dims[1] != channels;

    int y = net_conv_bn(n, net_named("%s_conv1", name).text, x, reduce, 1);
    y = net_relu(n, net_named("%s_relu1", name).text, y, 0);
    y = net_conv_bn(n, net_named("%s_conv2", name).text, y, middle, 1);
    y = net_relu(n, net_named("%s_relu2", name).text, y, 0);
    y = net_conv_bn(n, net_named("%s_conv3", name).text, y, expand, residual_gamma);
    int shortcut = projects ? net_conv_bn(n, net_named("%s_project", name).text, x, project, 1) : x;
    if (skip > 1) shortcut = net_pool_max(n, net_named("%s_skip", name).text, shortcut, 1, skip, 0);
    y = net_add(n, net_named("%s_add", name).text, y, shortcut);
    return net_relu(n, net_named("%s_relu3", name).text, y, 0);
}

static int resnet50(net *n, int64_t batch, const resnet_version *version) {
    static const struct {
        int blocks, stride;
        int64_t channels;
    } stages[] = {{3, 1, 256}, {4, 2, 512}, {6, 2, 1024}, {3, 2, 2048}};

    int x = net_input(n, batch, 3, 224, 224);
    x = net_conv_bn(n, "stem", x, (conv_spec){64, 7, 2, 3, 1, false}, 1);
    x = net_relu(n, "stem_relu", x, 0);
    x = net_pool_max(n, "stem_pool", x, 3, 2, 1);
    const bool skips = n->skips_unread && !version->stride_in_3x3;
    for (int s = 0; s < 4; s++) {
        for (int b = 0; b < stages[s].blocks; b++) {
            const net_name name = net_named("s%d_b%d", s + 1, b + 1);
            const bool is_last = b + 1 == stages[s].blocks;
            const int stride = b == 0 && !skips ? stages[s].stride : 1;
            const int skip = skips && is_last && s < 3 ? stages[s + 1].stride : 1;
            x = bottleneck(n, name.text, x, stages[s].channels, stride, skip, version);
        }
    }
    x = net_pool_avg(n, "global_pool", x, 7, 1, 0);
    return net_dense(n, "fc", x, 1000);
}

int build_resnet50_v1(net *n, int64_t batch) {
    return resnet50(n, batch, &(resnet_version){.stride_in_3x3 = false, .bias_in_1x1 = true});
}

int build_resnet50_v1_5(net *n, int64_t batch) {
    return resnet50(n, batch, &(resnet_version){.stride_in_3x3 = true, .bias_in_1x1 = false});
}
