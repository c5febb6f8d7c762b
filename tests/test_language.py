"""The language of the package: names and docstrings that do not say what they mean, counted by folder.

A limit of LIMITS is the count of today. It may be lowered, and has to be where the count fell; it is never raised.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "triton_doctor"
KINDS = ("one", "dialect", "no verb", "riddle")
# Targets named `one`; names of DIALECT; docstrings of functions that do not begin with a verb; those of them that begin
# with no noun phrase either.
LIMITS: dict[str, tuple[int, int, int, int]] = {
    "cli": (0, 0, 0, 0),
    "editor": (0, 0, 0, 0),
    "evidence": (0, 0, 0, 0),
    "explore": (0, 0, 7, 0),
    "machine": (0, 0, 0, 0),
    "report": (0, 0, 0, 0),
    "runtime": (0, 0, 0, 0),
    "static": (0, 4, 86, 33),
    "testing": (0, 0, 0, 0),
    "top level": (0, 0, 0, 0),
}
PLACEHOLDERS = {"item", "it", "each", "thing", "entry", "elem", "x"}
MOST_PLACEHOLDERS = 344
DIALECT = {"told", "said", "stands", "anew", "tell", "tells", "say", "says", "ask", "asks"}
# What docstrings of this package may begin with.
VERBS = set(
    """
    Abort Accept Activate Adapt Add Adjust Advise Align Allow Analyse Analyze Announce Answer Append Apply Arrange
    Assert Assign Attach Attribute Await Begin Bind Block Bound Break Build Bundle Cache Calculate Call Cancel
    Capture Cast Change Check Choose Clamp Classify Clean Clear Clip Close Collapse Collect Combine Compare Compile
    Complete Compose Compress Compute Confine Confirm Connect Consider Construct Continue Convert Copy Count Cover
    Create Cut Deactivate Decide Declare Decode Decorate Deduce Define Delete Deliver Derive Describe Detach Detect
    Determine Discard Discover Dispatch Display Divert Divide Do Download Draw Drive Drop Dump Embed Emit Empty
    Enable Encode End Enqueue Ensure Enter Enumerate Escape Estimate Evaluate Evict Examine Exclude Execute Exit
    Expand Explain Export Expose Extend Extract Fail Feed Fetch Fill Filter Find Finish Fix Flatten Flush Fold
    Follow Forget Fork Format Forward Free Freeze Gather Generate Get Give Go Group Guard Guess Handle Hash Have
    Help Hide Highlight Hold Identify Ignore Import Include Increase Indent Index Infer Inherit Initialize Insert
    Inspect Install Interpolate Interpret Intersect Invalidate Invoke Iterate Join Judge Keep Kill Label Launch
    Learn Leave Let Limit Link List Listen Load Locate Lock Log Look Lower Make Map Mark Match Measure Merge Mirror
    Model Modify Monitor Move Name Narrow Normalize Note Notify Number Observe Obtain Offer Omit Open Order Pack
    Parse Pass Patch Pause Perform Pick Place Plan Pop Prefer Prepare Prevent Print Probe Process Produce Promote
    Propagate Propose Prove Provide Prune Publish Pull Push Put Query Queue Quote Raise Rank Reach React Read
    Rebuild Receive Recognize Record Recover Reduce Refer Refine Refresh Refuse Register Reject Release Reload
    Remember Remove Rename Render Reopen Repair Repeat Replace Replay Report Represent Request Require Reset Resolve
    Respond Restart Restore Restrict Resume Retry Return Reuse Reverse Revert Rewrite Round Run Sample Save Scale
    Scan Schedule Score Search Seed Select Send Separate Serialize Serve Set Shift Shorten Show Shrink Simplify
    Simulate Skip Slice Solve Sort Spawn Spell Split Stage Start State Stop Store Strip Subscribe Substitute
    Subtract Suggest Sum Summarize Support Suppress Suspend Swap Sweep Switch Synchronize Take Test Tidy Time Trace
    Track Transfer Transform Translate Traverse Treat Trim Truncate Try Turn Unify Uninstall Unlink Unload Unlock
    Unpack Unregister Unset Unwrap Update Use Validate Vary Verify Visit Wait Walk Warn Watch Weigh Widen Work Wrap
    Write Yield
    """.split()
)
# What no noun phrase begins with: it makes a clause, or leaves open what is spoken of.
NO_NOUN_PHRASE = set(
    """
    After Again Also Any Anything As At Back Because Before Beside Both But By Either Everything Few For From How If
    In Inside Instead Into It Like Many More Most Much Neither Never No None Nor Not Nothing Of On Once One Only Or
    Our Out Over Since So Some Something Than That Then There These They This Those Though Through To Under Unless
    Until Up We What Whatever When Whenever Where Wherever Whether Which While Who Whoever Whose Why With Within
    Without Yet You
    """.split()
)


class Occurrence(NamedTuple):
    """A name or a docstring that counts against a limit."""

    folder: str
    kind: str
    place: str


def find_occurrences(file: Path, root: Path) -> Iterator[Occurrence]:
    """Yield what `file` has of each kind, and its placeholders, in no order."""
    parts = file.relative_to(root).parts
    folder = parts[0] if len(parts) > 1 else "top level"
    for node in ast.walk(ast.parse(file.read_bytes())):
        place = f"{file.relative_to(root.parent)}:{getattr(node, 'lineno', 1)}"
        for name in bound_names(node):
            if name == "one":
                yield Occurrence(folder, "one", f"{place}: `one`")
            elif DIALECT & set(name.split("_")):
                yield Occurrence(folder, "dialect", f"{place}: `{name}`")
            elif name in PLACEHOLDERS:
                yield Occurrence(folder, "placeholder", f"{place}: `{name}`")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
            (first, *_) = re.findall(r"^[A-Za-z]*", text)
            if first not in VERBS:
                yield Occurrence(folder, "no verb", f"{place}: {text.splitlines()[0]}")
                if not first or first in NO_NOUN_PHRASE:
                    yield Occurrence(folder, "riddle", f"{place}: {text.splitlines()[0]}")


def bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that `node` itself gives to something."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


OCCURRENCES = [found for file in sorted(PACKAGE.rglob("*.py")) for found in find_occurrences(file, PACKAGE)]


@pytest.mark.parametrize("folder", sorted({*LIMITS, *(found.folder for found in OCCURRENCES)}))
def test_folder_is_at_its_limits(folder: str) -> None:
    places = defaultdict[str, list[str]](list)
    for found in OCCURRENCES:
        if found.folder == folder:
            places[found.kind].append(found.place)
    counts = tuple(len(places[kind]) for kind in KINDS)
    limits = LIMITS.get(folder, (0, 0, 0, 0))

    above = [
        f"{kind}: {count}, the limit is {limit}\n  " + "\n  ".join(places[kind])
        for kind, count, limit in zip(KINDS, counts, limits, strict=True)
        if count > limit
    ]

    assert not above, "\n".join(above)
    assert counts == limits, f"lower the limits of `{folder}` to {counts}"


def test_no_more_targets_have_a_name_that_says_nothing() -> None:
    places = [found.place for found in OCCURRENCES if found.kind == "placeholder"]

    assert len(places) <= MOST_PLACEHOLDERS, "\n".join(places)
    assert len(places) == MOST_PLACEHOLDERS, f"lower MOST_PLACEHOLDERS to {len(places)}"


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("for one in range(3): pass", {"one": 1}),
        ("[f(one) for one in y]", {"one": 1}),
        ("def ask_server(x, *, said=0): pass", {"dialect": 2, "placeholder": 1}),
        ("self.told = 1", {"dialect": 1}),
        ('def f():\n    """Return what `x` is."""', {}),
        ('def f():\n    """Returns what `x` is."""', {"no verb": 1}),
        ('def f():\n    """The files below a folder."""', {"no verb": 1}),
        ('def f():\n    """What is below a folder."""', {"no verb": 1, "riddle": 1}),
        ('def f():\n    """`x`, if there is one."""', {"no verb": 1, "riddle": 1}),
        ('class F:\n    """What is below a folder."""', {}),
    ],
)
def test_name_or_docstring_counts_as_its_kind(code: str, kinds: dict[str, int], tmp_path: Path) -> None:
    file = tmp_path / "package" / "static" / "module.py"
    file.parent.mkdir(parents=True)
    file.write_text(code, encoding="utf-8")

    found = list(find_occurrences(file, tmp_path / "package"))

    assert Counter(occurrence.kind for occurrence in found) == kinds
    assert all(occurrence.place.startswith("package/static/module.py:") for occurrence in found)
