"""Packs: what a cache of kernels holds, as one file that other machines can use.

A **pack** is a manifest and entries. An **entry** is one folder of Triton's cache: a kernel compiled one way, a
launcher, or the result of a round of tuning. Of a kernel the pack keeps the binary and its metadata, without the
intermediate code; Triton's group file, whose paths are absolute, is rewritten when the pack is unpacked.
The **manifest** has every part of Triton's key: what all entries share (`KeyParts`: Triton, libtriton, Python, ptxas)
and what each has of its own (architecture, variables, the functions that it was compiled from).

`gather` reads a cache folder, `pack` writes and reads the pack as a tar file, `pack_file` as an SQLite file, from
which a running Triton reads single entries, `install` puts entries into a cache folder, and `differences` compares the
manifest with a machine. In: a folder with `KEY/add.cubin`, `KEY/add.json`, `KEY/add.ttir`, `KEY/__grp__add.json`.
Out: `manifest.json`, `KEY/add.json`, `KEY/add.cubin`.
"""
