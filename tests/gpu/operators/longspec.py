"""LongSpec's attention of a tree of guessed tokens."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, plain

REPOSITORY = "sail-sg/LongSpec"
COMMIT = "15e499898f40f6891c08828d0bf2bd9ecdf9c08a"
FOLDERS = ("longspec/test", "longspec/train/models")
HEADS, HELD, TREE = 8, 2, 64


def attend(batch: int, asked: int, length: int) -> object:
    """Attention of `asked` tokens to a tree and what came before."""
    made = plain(batch, HEADS, asked, HEAD), *(plain(batch, HELD, length, HEAD) for _ in range(2))
    mask = torch.ones(batch, asked, length, device=DEVICE, dtype=torch.bool).tril()
    return importlib.import_module("triton_tree_attn").attention(*made, mask)


def tree(batch: int, length: int) -> object:
    """The last 64 tokens of a tree, after `length` of it."""
    return attend(batch, TREE, length + TREE)


def whole(batch: int, length: int) -> object:
    """A tree of `length` tokens."""
    return attend(batch, length, length)


OPERATORS = {"tree": tree, "whole": whole}
