"""Bytes to damaged bytes: noise, tokens, lines, syntax trees, and text that somebody hostile would write."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from copy import deepcopy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    Mutation = Callable[[bytes, Random], bytes]

_NOISE = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"\x0c", b"\x1b[31m", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\\\n", b"\t"),
    *(
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b"}",
        b'"""',
        b"'",
        b'"',
        b"#",
        b":",
        b",",
        b"@",
        b";",
        b"$",
        b"`",
        b"%",
        b"&",
        b"*",
    ),
)
_WORD = re.compile(rb"[A-Za-z_]\w*|\d+|\s+|[^\w\s]")


def damage_bytes(data: bytes, random: Random) -> bytes:
    """Change, insert or remove a few bytes."""
    result = bytearray(data)
    for _ in range(random.randint(1, 6)):
        at = random.randint(0, len(result))
        match random.randrange(4):
            case 0:
                result[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                result[at:at] = random.choice(_NOISE)
            case 2:
                del result[at : at + random.randint(1, 30)]
            case _:
                other = random.randint(0, len(result))
                result[at:at] = result[other : other + random.randint(1, 200)]
    return bytes(result)


def damage_lines(data: bytes, random: Random) -> bytes:
    """Remove, repeat, swap, cut or indent lines."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 4)):
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        match random.randrange(6):
            case 0:
                del lines[min(at, other) : min(at, other) + random.randint(1, 5)]
                lines = lines or [b""]
            case 1:
                lines[at:at] = lines[other : other + random.randint(1, 8)]
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = lines[at][: random.randint(0, len(lines[at]))]
            case 4:
                lines[at] = b" " * random.randint(1, 9) + lines[at]
            case _:
                lines[at] = lines[at].lstrip()
    return b"\n".join(lines)


def damage_words(data: bytes, random: Random) -> bytes:
    """Replace, swap, repeat or remove words and signs, whatever the language."""
    words = _WORD.findall(data)
    if not words:
        return data
    for _ in range(random.randint(1, 6)):
        at, other = random.randrange(len(words)), random.randrange(len(words))
        match random.randrange(4):
            case 0:
                words[at] = words[other]
            case 1:
                words[at], words[other] = words[other], words[at]
            case 2:
                words[at] = words[at] * random.choice((2, 3, 50))
            case _:
                words[at] = b""
    return b"".join(words)


def damage_tokens(data: bytes, random: Random) -> bytes:
    """Replace or swap Python tokens for others of the same kind, so that most of what comes out still parses."""
    try:
        tokens = [token for token in tokenize.tokenize(io.BytesIO(data).readline) if token.string]
        lines = data.decode().splitlines(keepends=True)
    except (SyntaxError, tokenize.TokenError, UnicodeDecodeError):
        return damage_words(data, random)
    kinds: dict[int, list[tokenize.TokenInfo]] = {}
    for token in tokens:
        if token.start[0] == token.end[0] > 0 and token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP):
            kinds.setdefault(token.type, []).append(token)
    chosen: dict[tuple[int, int], tuple[tokenize.TokenInfo, str]] = {}
    for _ in range(random.randint(1, 5)):
        if kinds:
            same = random.choice(list(kinds.values()))
            token = random.choice(same)
            chosen[token.start] = (token, random.choice(same).string)
    for (line, column), (token, text) in sorted(chosen.items(), reverse=True):
        before = lines[line - 1]
        lines[line - 1] = before[:column] + text + before[token.end[1] :]
    return "".join(lines).encode()


def damage_tree(data: bytes, random: Random) -> bytes:
    """Move, repeat, replace or nest statements and expressions; what comes out nearly always parses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return damage_words(data, random)
    try:
        for _ in range(random.randint(1, 4)):
            _damage_node(tree, random)
        return ast.unparse(ast.fix_missing_locations(tree)).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return data


def _damage_node(tree: ast.Module, random: Random) -> None:
    nodes = list(ast.walk(tree))
    expressions = [node for node in nodes if isinstance(node, ast.expr) and isinstance(_context(node), ast.Load)]
    statements = [node for node in nodes if isinstance(node, ast.stmt)]
    bodies = [body for node in nodes if isinstance(body := getattr(node, "body", None), list) and body]
    if not (expressions and statements and bodies):
        return
    match random.randrange(6):
        case 0:
            _replace(tree, random.choice(expressions), random.choice(expressions))
        case 1:
            one = random.choice(expressions)
            _replace(tree, one, _wrapped(one, random))
        case 2:
            random.choice(bodies).insert(0, deepcopy(random.choice(statements)))
        case 3:
            body = random.choice(bodies)
            if len(body) > 1:
                del body[random.randrange(len(body))]
        case 4:
            names = [node for node in nodes if isinstance(node, ast.Name)]
            if names:
                random.choice(names).id = random.choice(names).id
        case _:
            arguments = [node for node in nodes if isinstance(node, ast.arg)]
            if arguments:
                one, other = random.choice(arguments), random.choice(arguments)
                one.annotation, other.annotation = other.annotation, one.annotation


def _context(node: ast.expr) -> ast.expr_context:
    return getattr(node, "ctx", ast.Load())


def _wrapped(node: ast.expr, random: Random) -> ast.expr:
    """`node` inside something else."""
    return random.choice(
        (
            lambda: ast.IfExp(test=node, body=node, orelse=ast.Constant(None)),
            lambda: ast.Call(func=ast.Name("max", ast.Load()), args=[node, node], keywords=[]),
            lambda: ast.Lambda(args=ast.arguments([], [], None, [], [], None, []), body=node),
            lambda: ast.Starred(value=node, ctx=ast.Load()),
            lambda: ast.NamedExpr(target=ast.Name("walrus", ast.Store()), value=node),
            lambda: ast.Subscript(value=node, slice=node, ctx=ast.Load()),
            lambda: ast.Tuple(elts=[node, ast.Starred(node, ast.Load())], ctx=ast.Load()),
            lambda: ast.Dict(keys=[None, node], values=[node, node]),
            lambda: ast.Await(value=node),
            lambda: ast.JoinedStr(values=[ast.FormattedValue(value=node, conversion=-1)]),
            lambda: ast.Attribute(value=node, attr="shape", ctx=ast.Load()),
            lambda: ast.BinOp(left=node, op=ast.Mult(), right=node),
        )
    )()


def _replace(tree: ast.AST, old: ast.expr, new: ast.expr) -> None:
    """Put a copy of `new` where `old` stands."""
    new = deepcopy(new)
    for node in list(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            if value is old:
                setattr(node, name, new)
                return
            if isinstance(value, list) and any(one is old for one in value):
                value[next(at for at, one in enumerate(value) if one is old)] = new
                return


def insert(snippets: Sequence[bytes]) -> Mutation:
    """Put one of `snippets` between two lines."""

    def inserted(data: bytes, random: Random) -> bytes:
        lines = data.split(b"\n")
        at = random.randint(0, len(lines))
        lines[at:at] = [random.choice(snippets)]
        return b"\n".join(lines)

    return inserted


def mutate(data: bytes, mutations: Sequence[Mutation], random: Random) -> bytes:
    """Apply one to three of `mutations`."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = random.choice(mutations)(data, random)
    return data
