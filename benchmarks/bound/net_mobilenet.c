/* MobileNet-v2, width 1.0, as in MXNet's gluon model zoo: the first block has its (useless)
 * expansion too, and the classifier is a 1x1 convolution without bias. */
#include "net.h"

static int conv_bn_relu6(net *n, const char *name, int x, conv_spec spec) {
    return net_relu(n, net_named("%s_relu6", name).text, net_conv_bn(n, name, x, spec, 1), 6);
}

static int inverted_residual(net *n, const char *name, int x, int expansion, int64_t channels,
                             int stride) {
    const int64_t before = n->values[x].dims[1], wide = before * expansion;
    const conv_spec expand = {wide, 1, 1, 0, 1, false};
    const conv_spec depthwise = {wide, 3, stride, 1, (int)wide, false};
    const conv_spec project = {channels, 1, 1, 0, 1, false};
    int y = conv_bn_relu6(n, net_named("%s_expand", name).text, x, expand);
    y = conv_bn_relu6(n, net_named("%s_depthwise", name).text, y, depthwise);
    y = net_conv_bn(n, net_named("%s_project", name).text, y, project, 1);
    if (stride != 1 || before != channels) return y;
    return net_add(n, net_named("%s_add", name).text, y, x);
}

int build_mobilenet_v2(net *n, int64_t batch) {
    static const struct {
        int expansion, blocks, stride;
        int64_t channels;
    } stages[] = {{1, 1, 1, 16}, {6, 2, 2, 24},  {6, 3, 2, 32}, {6, 4, 2, 64},
                  {6, 3, 1, 96}, {6, 3, 2, 160}, {6, 1, 1, 320}};

    int x = net_input(n, batch, 3, 224, 224);
    x = conv_bn_relu6(n, "stem", x, (conv_spec){32, 3, 2, 1, 1, false});
    for (int s = 0; s < 7; s++) {
        for (int b = 0; b < stages[s].blocks; b++) {
            const int stride = b == 0 ? stages[s].stride : 1;
            x = inverted_residual(n, net_named("s%d_b%d", s + 1, b + 1).text, x,
                                  stages[s].expansion, stages[s].channels, stride);
        }
    }
    x = conv_bn_relu6(n, "last", x, (conv_spec){1280, 1, 1, 0, 1, false});
    x = net_pool_avg(n, "global_pool", x, 7, 1, 0);
    return net_conv(n, "classifier", x, (conv_spec){1000, 1, 1, 0, 1, false});
}
