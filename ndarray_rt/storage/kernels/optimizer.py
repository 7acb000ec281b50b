"""Calls of the native kernels in native/kernels/optimizer/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def sgd(*, out: Mem, weight: Mem, grad: Mem, lrs: Mem | None = None, wds: Mem | None = None,
        count: int, half_grad: bool = False, half_out: bool = False, keep_master: bool = False,
        which: int = 0, lr: float, wd: float, rescale_grad: float,
        clip_gradient: float) -> KernelCall:
    """lr and wd are the element `which` - 1 of `lrs` and `wds` where it is not 0."""
    return KernelCall(lib.NDRT_KERNEL_SGD, (out, weight, grad, lrs, wds), (count, half_grad,
                      half_out, keep_master, which), (lr, wd, rescale_grad, clip_gradient))


def sgd_mom(*, out: Mem, weight: Mem, grad: Mem, mom: Mem, lrs: Mem | None = None,
            wds: Mem | None = None, count: int, half_grad: bool = False, half_out: bool = False,
            keep_master: bool = False, which: int = 0, lr: float, wd: float, rescale_grad: float,
            clip_gradient: float, momentum: float) -> KernelCall:
    """The same with momentum."""
    return KernelCall(lib.NDRT_KERNEL_SGD_MOM, (out, weight, grad, mom, lrs, wds), (count,
                      half_grad, half_out, keep_master, which), (lr, wd, rescale_grad,
                      clip_gradient, momentum))


def nag_mom(*, out: Mem, weight: Mem, grad: Mem, mom: Mem, count: int, half_grad: bool = False,
            half_out: bool = False, keep_master: bool = False, lr: float, wd: float,
            rescale_grad: float, clip_gradient: float, momentum: float) -> KernelCall:
    """With Nesterov's momentum."""
    return KernelCall(lib.NDRT_KERNEL_NAG_MOM, (out, weight, grad, mom), (count, half_grad,
                      half_out, keep_master), (lr, wd, rescale_grad, clip_gradient, momentum))


def nag_mom_of_master(*, out: Mem, weight: Mem, grad: Mem, mom: Mem, count: int,
                      half_grad: bool = False, half_out: bool = False, keep_master: bool = False,
                      lr: float, wd: float, rescale_grad: float, clip_gradient: float,
                      momentum: float) -> KernelCall:
    """The same, and the new weight decays into the momentum."""
    return KernelCall(lib.NDRT_KERNEL_NAG_MOM_OF_MASTER, (out, weight, grad, mom), (count,
                      half_grad, half_out, keep_master), (lr, wd, rescale_grad, clip_gradient,
                      momentum))


def signsgd(*, out: Mem, weight: Mem, grad: Mem, count: int, half_grad: bool = False,
            half_out: bool = False, keep_master: bool = False, lr: float, wd: float,
            rescale_grad: float, clip_gradient: float) -> KernelCall:
    """By the gradient's sign."""
    return KernelCall(lib.NDRT_KERNEL_SIGNSGD, (out, weight, grad), (count, half_grad, half_out,
                      keep_master), (lr, wd, rescale_grad, clip_gradient))


def signum(*, out: Mem, weight: Mem, grad: Mem, mom: Mem, count: int, half_grad: bool = False,
           half_out: bool = False, keep_master: bool = False, lr: float, wd: float,
           rescale_grad: float, clip_gradient: float, momentum: float, wd_lh: float) -> KernelCall:
    """By the momentum's sign."""
    return KernelCall(lib.NDRT_KERNEL_SIGNUM, (out, weight, grad, mom), (count, half_grad, half_out,
                      keep_master), (lr, wd, rescale_grad, clip_gradient, momentum, wd_lh))


def adam(*, out: Mem, weight: Mem, grad: Mem, mean: Mem, var: Mem, count: int,
         half_grad: bool = False, half_out: bool = False, keep_master: bool = False, lr: float,
         wd: float, rescale_grad: float, clip_gradient: float, beta1: float, beta2: float,
         epsilon: float) -> KernelCall:
    """Kingma and Ba, 2014."""
    return KernelCall(lib.NDRT_KERNEL_ADAM, (out, weight, grad, mean, var), (count, half_grad,
                      half_out, keep_master), (lr, wd, rescale_grad, clip_gradient, beta1, beta2,
                      epsilon))


def adamw(*, out: Mem, weight: Mem, grad: Mem, mean: Mem, var: Mem, rescale_grad: Mem, count: int,
          half_grad: bool = False, half_out: bool = False, keep_master: bool = False, lr: float,
          wd: float, eta: float, clip_gradient: float, beta1: float, beta2: float,
          epsilon: float) -> KernelCall:
    """Loshchilov and Hutter, 2019; nothing changes where `rescale_grad`, one element, is 0 or not
    finite."""
    return KernelCall(lib.NDRT_KERNEL_ADAMW, (out, weight, grad, mean, var, rescale_grad), (count,
                      half_grad, half_out, keep_master), (lr, wd, eta, clip_gradient, beta1, beta2,
                      epsilon))


def rmsprop(*, out: Mem, weight: Mem, grad: Mem, n: Mem, count: int, half_grad: bool = False,
            half_out: bool = False, keep_master: bool = False, lr: float, wd: float,
            rescale_grad: float, clip_gradient: float, gamma1: float, epsilon: float,
            clip_weights: float) -> KernelCall:
    """Tieleman and Hinton, 2012."""
    return KernelCall(lib.NDRT_KERNEL_RMSPROP, (out, weight, grad, n), (count, half_grad, half_out,
                      keep_master), (lr, wd, rescale_grad, clip_gradient, gamma1, epsilon,
                      clip_weights))


def rmspropalex(*, out: Mem, weight: Mem, grad: Mem, n: Mem, g: Mem, delta: Mem, count: int,
                half_grad: bool = False, half_out: bool = False, keep_master: bool = False,
                lr: float, wd: float, rescale_grad: float, clip_gradient: float, gamma1: float,
                gamma2: float, epsilon: float, clip_weights: float) -> KernelCall:
    """Graves, 2013."""
    return KernelCall(lib.NDRT_KERNEL_RMSPROPALEX, (out, weight, grad, n, g, delta), (count,
                      half_grad, half_out, keep_master), (lr, wd, rescale_grad, clip_gradient,
                      gamma1, gamma2, epsilon, clip_weights))


def ftrl(*, out: Mem, weight: Mem, grad: Mem, z: Mem, n: Mem, count: int, half_grad: bool = False,
         half_out: bool = False, keep_master: bool = False, lr: float, wd: float,
         rescale_grad: float, clip_gradient: float, lamda1: float, beta: float) -> KernelCall:
    """McMahan et al., 2013."""
    return KernelCall(lib.NDRT_KERNEL_FTRL, (out, weight, grad, z, n), (count, half_grad, half_out,
                      keep_master), (lr, wd, rescale_grad, clip_gradient, lamda1, beta))


def ftml(*, out: Mem, weight: Mem, grad: Mem, d: Mem, v: Mem, z: Mem, count: int,
         half_grad: bool = False, half_out: bool = False, keep_master: bool = False, lr: float,
         wd: float, rescale_grad: float, clip_grad: float, beta1: float, beta2: float,
         epsilon: float, t: float) -> KernelCall:
    """Zheng and Kwok, 2017."""
    return KernelCall(lib.NDRT_KERNEL_FTML, (out, weight, grad, d, v, z), (count, half_grad,
                      half_out, keep_master), (lr, wd, rescale_grad, clip_grad, beta1, beta2,
                      epsilon, t))


def lamb_1(*, out: Mem, weight: Mem, grad: Mem, mean: Mem, var: Mem, count: int,
           half_grad: bool = False, half_out: bool = False, keep_master: bool = False, t: float,
           wd: float, rescale_grad: float, clip_gradient: float, beta1: float, beta2: float,
           epsilon: float, bias_correction: float) -> KernelCall:
    """The direction of a step of LAMB (You et al., 2019)."""
    return KernelCall(lib.NDRT_KERNEL_LAMB_1, (out, weight, grad, mean, var), (count, half_grad,
                      half_out, keep_master), (t, wd, rescale_grad, clip_gradient, beta1, beta2,
                      epsilon, bias_correction))


def lamb_2(*, out: Mem, weight: Mem, step: Mem, norm: Mem, step_norm: Mem, count: int,
           half_grad: bool = False, half_out: bool = False, keep_master: bool = False, lr: float,
           lower_bound: float, upper_bound: float) -> KernelCall:
    """That step; the norms have one element each."""
    return KernelCall(lib.NDRT_KERNEL_LAMB_2, (out, weight, step, norm, step_norm), (count,
                      half_grad, half_out, keep_master), (lr, lower_bound, upper_bound))


def norm(*, out: Mem, data: Mem, count: int, half: bool, root: bool) -> KernelCall:
    """The sum of squares, or the root of that, of one element; with `half` data has 16 bits."""
    return KernelCall(lib.NDRT_KERNEL_NORM, (out, data), (count, half, root), ())
