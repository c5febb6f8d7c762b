"""Names and contexts to hints: evidence that a size follows the data, or the model.

In: an `AxisContext`, the facts about a size of unknown origin. Out: `AppliedHint`s, and what they decide together.

- A **hint** is a row of the table `HINTS`: a condition on the context, a direction, and a weight.
- A **builder** fills an `AxisContext`. Builders are in `values/tensors`, `notes/` and `queries/`.

Example: `AxisContext(tensor="x", position=0)` gets one hint toward the data, "first axis", of weight 1, which decides
nothing. With `name="n_rows"` and `is_axis=True` two more apply, and `weigh` returns `Toward.DATA`.

Files, in reading order:

- `axis_context`: the facts. `hints`: the table, and the decision.
- `words.toml`: words in names. `name_words`: what a name suggests by its words.
"""
