# For scripts that test a build of the shim of another kind: `build_apart FOLDER PYTHON` copies what
# tests need to a folder of its own, builds the extension there as the environment says, and goes
# there. Python finds the package of that folder first.
build_apart() {
    rm -rf "$1"
    mkdir -p "$1"
    cp -r ndarray_rt native include tests benchmarks examples docs setup.py pyproject.toml \
        README.md Makefile "$1"
    cd "$1"
    rm -f ndarray_rt/*.so
    "$2" setup.py --quiet build_ext --inplace
    export PYTHONPATH=$PWD
}
