"""test_utils: comparing arrays, checking operators and generators, with MXNet's names.

    from ndarray_rt import test_utils
    test_utils.assert_almost_equal(x, y)
    test_utils.check_numeric_gradient(sym.tanh(sym.Variable("x")), [np.ones((2, 3))])
"""

from __future__ import annotations

from ..public import shows
from .compare import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    checkShapes,
    compare_ndarray_tuple,
    find_max_violation,
    locationError,
    same,
    same_array,
    same_symbol_structure,
)
from .consistency import check_consistency, check_gluon_hybridize_consistency, check_speed
from .data import (
    DummyIter,
    download,
    download_model,
    get_bz2_data,
    get_cifar10,
    get_im2rec_path,
    get_mnist,
    get_mnist_iterator,
    get_mnist_pkl,
    get_mnist_ubyte,
    get_zip_data,
)
from .gradients import check_numeric_gradient, numeric_grad
from .inputs import (
    assign_each,
    assign_each2,
    collapse_sum_like,
    create_2d_tensor,
    create_vector,
    np_reduce,
    rand_coord_2d,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    rand_sparse_ndarray,
    random_arrays,
    random_sample,
    random_uniform_arrays,
)
from .matrices import (
    get_identity_mat,
    get_identity_mat_batch,
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
)
from .optimizers import compare_optimizer
from .settings import (
    EnvManager,
    assert_raises_cudnn_not_satisfied,
    default_context,
    discard_stderr,
    environment,
    has_tvm_ops,
    is_aarch64_run,
    is_cd_run,
    is_op_runnable,
    list_gpus,
    retry,
    set_default_context,
    set_env_var,
)
from .statistics import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    normal_check,
    var_check,
    verify_generator,
)
from .symbolic import check_symbolic_backward, check_symbolic_forward, simple_forward
from .tolerances import (
    default_atols,
    default_dtype,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tolerance,
    get_tols,
)

__all__ = [
    "DummyIter", "EnvManager", "almost_equal", "assert_allclose", "assert_almost_equal",
    "assert_almost_equal_ignore_nan", "assert_almost_equal_with_err", "assert_exception",
    "assert_raises_cudnn_not_satisfied", "assign_each", "assign_each2", "checkShapes",
    "check_consistency", "check_gluon_hybridize_consistency", "check_numeric_gradient",
    "check_speed", "check_symbolic_backward", "check_symbolic_forward", "chi_square_check",
    "collapse_sum_like", "compare_ndarray_tuple", "compare_optimizer", "create_2d_tensor",
    "create_vector", "default_atols", "default_context", "default_dtype", "default_numeric_eps",
    "default_rtols", "discard_stderr", "download", "download_model", "effective_dtype",
    "environment", "find_max_violation", "gen_buckets_probs_with_ppf", "get_atol",
    "get_bz2_data", "get_cifar10", "get_etol", "get_identity_mat", "get_identity_mat_batch",
    "get_im2rec_path", "get_mnist", "get_mnist_iterator", "get_mnist_pkl", "get_mnist_ubyte",
    "get_rtol", "get_tolerance", "get_tols", "get_zip_data", "has_tvm_ops", "is_aarch64_run",
    "is_cd_run", "is_op_runnable", "list_gpus", "locationError", "mean_check",
    "new_matrix_with_real_eigvals_2d", "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d", "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd", "normal_check", "np_reduce", "numeric_grad",
    "rand_coord_2d", "rand_ndarray", "rand_shape_2d", "rand_shape_3d", "rand_shape_nd",
    "rand_sparse_ndarray", "random_arrays", "random_sample", "random_uniform_arrays", "retry",
    "same", "same_array", "same_symbol_structure", "set_default_context", "set_env_var",
    "simple_forward", "var_check", "verify_generator"]
__dir__ = shows(globals())
