import numba

from clusterlens.compute import overlaps, pairs, tile_source, tiles
from clusterlens.compute.kernels import compile_kernels


def test_every_kernel_is_compiled_for_one_and_two_bytes():
    compile_kernels()
    for module in (pairs, overlaps, tile_source, tiles):
        for name, kernel in vars(module).items():
            if isinstance(kernel, numba.core.registry.CPUDispatcher):
                types = {
                    argument.dtype.bitwidth
                    for signature in kernel.signatures
                    for argument in signature
                    if isinstance(argument, numba.types.Array)
                    and str(argument.dtype).startswith("uint")
                }
                assert {8, 16} <= types, f"{module.__name__}.{name}"
