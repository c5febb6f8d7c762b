"""Prewarming: the variants that recordings name are compiled before a program needs them, without a GPU.

Comes in: recordings, real or dry, of any ranks. Goes out: entries of Triton's own cache folder, or kernels in memory.

- A *variant* is a kernel with one key (`kernel_variants`): what one entry of the cache is for. `closure` adds likely
  variants that the run missed: one more class of an integer that varies, the other alignment, a dtype seen elsewhere.
- `changed_variants` gives a recorded variant other values, for the source's cover and for a server's log
  (`logged_variants`).
- `kernel_lookup` finds the JITFunction of a variant: it imports the module, or runs of a script what its kernel needs
  (`scripts`). A kernel that only exists once some function has run is reported as not found.
- `launch_stand_ins` makes stand-ins for the launch arguments, which Triton itself binds and specializes. So the key,
  and the options of another target, are Triton's own in each version; nothing of them is derived here.
- `compile_variant` makes Triton compile one variant, or only look it up in the cache; `launchers` builds what Triton
  up to 3.6 would build in C at the first launch of a signature.
- `prewarming` submits tasks to a `concurrent.futures` executor, local processes (`pool`) or a cluster, and survives
  workers that die. `memory` does the same for the kernels of this process.

    CompileEvent(kernel=rope, key=(x_ptr *fp16 %16, n i32, BLOCK 128), target cuda:90)
    -> KernelVariant -> rope.run(x_ptr=<aligned fp16>, n=17, BLOCK=128, num_warps=4, warmup=True) -> an entry
"""
