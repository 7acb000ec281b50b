/* VGG-16 without batch norm; parameters in the order of MXNet's gluon model zoo. */
#include "net.h"

int build_vgg16(net *n, int64_t batch) {
    static const struct {
        int convs;
        int64_t channels;
    } stages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};

    int x = net_input(n, batch, 3, 224, 224);
    for (int s = 0; s < 5; s++) {
        for (int c = 0; c < stages[s].convs; c++) {
            const conv_spec spec = {stages[s].channels, 3, 1, 1, 1, true};
            x = net_conv(n, net_named("conv%d_%d", s + 1, c + 1).text, x, spec);
            x = net_relu(n, net_named("relu%d_%d", s + 1, c + 1).text, x, 0);
        }
        x = net_pool_max(n, net_named("pool%d", s + 1).text, x, 2, 2, 0);
    }
    x = net_relu(n, "relu6", net_dense(n, "fc6", x, 4096), 0);
    x = net_relu(n, "relu7", net_dense(n, "fc7", x, 4096), 0);
    return net_dense(n, "fc8", x, 1000);
}
