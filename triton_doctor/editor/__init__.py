"""Diagnostics as you type: a language server over the passes of `static`, with what the last run recorded.

In: the texts that an editor holds, and the folders that it has open. Out: the findings of `check`, and what `explain`
knows, in the terms of the Language Server Protocol (LSP 3.17).

- A **folder** (`folder.py`) is one that the editor has open. It is checked as `triton-doctor check FOLDER` checks it,
  with the texts of the editor in place of the files. The last scan stays in memory, so that a scan after an edit works
  out anew only what depends on the edit.
- The **session** (`session.py`) says which folder a file belongs to, checks folders one at a time on one thread, and
  drops what a newer edit has overtaken.
- **Launches explained** (`explained.py`): the arguments of the launches in one file and the parameters of its kernels,
  for hovers, inlay hints and code lenses.
- What a run **recorded** (`recorded.py`) is read from the recordings that the settings name, or from the newest in
  `.triton_doctor/`.

`server.py` connects these to the protocol. Nothing here imports torch or triton.

Example: the text `kernel[(1,)](x, n=x.shape[0])` in an open file becomes a diagnostic of TRD201 at `n`, an inlay hint
`per call` behind it, and a hover that shows where the value comes from.
"""
