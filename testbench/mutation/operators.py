"""The mutation operators: from an elaborated expression to the texts that may stand in its place.

Each replacement has the width and the signedness of what it replaces, because both stand beside each other in one ?:."""
from __future__ import annotations

import re
from typing import Iterator

from pyslang import ast, syntax

Op = ast.BinaryOperator
Candidate = tuple[str, str]  # kind, replacement

BINARY = {
    Op.Add: [("arithmetic", "-")], Op.Subtract: [("arithmetic", "+")], Op.Multiply: [("arithmetic", "+")],
    Op.BinaryAnd: [("bitwise", "|"), ("bitwise", "^")], Op.BinaryOr: [("bitwise", "&"), ("bitwise", "^")],
    Op.BinaryXor: [("bitwise", "|"), ("bitwise", "&")],
    Op.LogicalAnd: [("logical", "||")], Op.LogicalOr: [("logical", "&&")],
    Op.Equality: [("relational", "!=")], Op.Inequality: [("relational", "==")],
    Op.LessThan: [("relational", "<="), ("relational", ">=")], Op.LessThanEqual: [("relational", "<"), ("relational", ">")],
    Op.GreaterThan: [("relational", ">="), ("relational", "<=")],
    Op.GreaterThanEqual: [("relational", ">"), ("relational", "<")],
    Op.LogicalShiftLeft: [("shift", ">>")], Op.LogicalShiftRight: [("shift", "<<")],
    Op.ArithmeticShiftLeft: [("shift", ">>>")], Op.ArithmeticShiftRight: [("shift", "<<<")],
}
UNARY = {ast.UnaryOperator.LogicalNot: "logical", ast.UnaryOperator.BitwiseNot: "bitwise",
         ast.UnaryOperator.Minus: "arithmetic"}
REDUCTION = {ast.UnaryOperator.BitwiseAnd: "|", ast.UnaryOperator.BitwiseOr: "&"}
SIZED = re.compile(r"(\d+)\s*'(s?)([bodhBODH])([0-9a-fA-F_]+)")
BASES = {"b": 2, "o": 8, "d": 10, "h": 16}


class Text:
    """Source text of expressions of one file."""

    def __init__(self, text: str):
        self.text = text

    def of(self, node) -> str:
        """The text of an expression or of a piece of syntax."""
        return self.text[node.sourceRange.start.offset:node.sourceRange.end.offset]


def bare(node):
    """The syntax of an expression without the parentheses around it."""
    found = node.syntax
    while isinstance(found, syntax.ParenthesizedExpressionSyntax):
        found = found.expression
    return found


def binary(node, text: Text) -> Iterator[Candidate]:
    own = bare(node)
    left, right = text.of(own.left), text.of(own.right)
    for kind, operator in BINARY.get(node.op, []):
        yield kind, f"({left}) {operator} ({right})"
    same_type = str(node.left.type.canonicalType) == str(node.right.type.canonicalType)
    if node.op in (Op.Subtract, Op.LogicalShiftLeft, Op.LogicalShiftRight) and same_type:
        yield "swap", f"({right}) {own.operatorToken.rawText} ({left})"


def unary(node, text: Text) -> Iterator[Candidate]:
    operand = text.of(bare(node).operand)
    if node.op == ast.UnaryOperator.LogicalNot and node.operand.type.bitWidth != 1:
        yield "logical", f"(({operand}) != 0)"
    elif node.op in UNARY:
        yield UNARY[node.op], f"({operand})"
    elif node.op in REDUCTION:
        yield "bitwise", f"{REDUCTION[node.op]}({operand})"


def conditional(node, text: Text) -> Iterator[Candidate]:
    own = bare(node)
    left, right, condition = text.of(own.left), text.of(own.right), text.of(own.predicate)
    if left == right or not (node.left.type.isIntegral and node.right.type.isIntegral):
        return
    yield "select", f"({condition}) ? ({right}) : ({left})"
    # The condition stands on, so that the width of the other arm still counts.
    yield "select", f"(({condition}) | 1'b1) ? ({left}) : ({right})"
    yield "select", f"(({condition}) & 1'b0) ? ({left}) : ({right})"


def literal(node, text: Text) -> Iterator[Candidate]:
    own = text.of(node)
    sized = SIZED.fullmatch(own.strip())
    if sized:
        width, signed, base, digits = sized.groups()
        value, limit = int(digits.replace("_", ""), BASES[base.lower()]), 1 << int(width)
        values = {(value + 1) % limit, (value - 1) % limit}
        for other in sorted(values - {value}):
            yield "constant", f"{width}'{signed}d{other}"
    elif own.strip().isdigit():
        value = int(own)
        yield "constant", str(value + 1)
        if value > 1:
            yield "constant", str(value - 1)


def unsized(node, text: Text) -> Iterator[Candidate]:
    own = text.of(node).strip()
    if own in ("'0", "'1"):
        yield "constant", "'1" if own == "'0" else "'0"


def named_constant(node, text: Text) -> Iterator[Candidate]:
    """An enumerator becomes the next one of its type; a parameter has its lowest bit inverted."""
    symbol, own = node.symbol, text.of(node).strip()
    if isinstance(symbol, ast.EnumValueSymbol):
        names = [value.name for value in symbol.type.canonicalType if isinstance(value, ast.EnumValueSymbol)]
        if symbol.name in names and len(names) > 1 and own.endswith(symbol.name):
            other = names[(names.index(symbol.name) + 1) % len(names)]
            yield "constant", own[:len(own) - len(symbol.name)] + other
    elif isinstance(symbol, ast.ParameterSymbol) and symbol.name[:1].isupper() and symbol.type.isIntegral:
        if symbol.type.canonicalType.isStruct or symbol.type.isEnum:
            return
        yield "constant", f"({own} ^ {one_of(symbol.type)})"


def concatenation(node, text: Text) -> Iterator[Candidate]:
    parts = [text.of(operand) for operand in node.operands]
    for i in range(len(parts) - 1):
        a, b = node.operands[i], node.operands[i + 1]
        if parts[i] != parts[i + 1] and a.type.bitWidth == b.type.bitWidth:
            yield "swap", "{" + ", ".join(parts[:i] + [parts[i + 1], parts[i]] + parts[i + 2:]) + "}"


def call(node, text: Text) -> Iterator[Candidate]:
    if node.isSystemCall:
        return
    arguments = list(node.arguments)
    if any(isinstance(argument, ast.AssignmentExpression) for argument in arguments):
        return
    parts = [text.of(argument) for argument in arguments]
    own = text.of(node)
    name = own[:own.index("(")] if "(" in own else None
    for i in range(len(parts) - 1):
        same = str(arguments[i].type.canonicalType) == str(arguments[i + 1].type.canonicalType)
        if name and same and parts[i] != parts[i + 1] and arguments[i].type.isIntegral:
            yield "swap", f"{name}({', '.join(parts[:i] + [parts[i + 1], parts[i]] + parts[i + 2:])})"


def is_constant(node) -> bool:
    """Whether nothing in the expression changes at run time."""
    varies = []

    def visit(part):
        named = isinstance(part, ast.NamedValueExpression)
        if (named and not isinstance(part.symbol, (ast.ParameterSymbol, ast.EnumValueSymbol))) or isinstance(
                part, (ast.CallExpression, ast.HierarchicalValueExpression)):
            varies.append(part)
        return ast.VisitAction.Advance
    node.visit(visit)
    return not varies


def used_width(node) -> int:
    """Bits that may be other than 0, as far as slang and casts tell."""
    if isinstance(node, ast.ConversionExpression) and not node.operand.type.isSigned:
        return min(node.type.bitWidth, used_width(node.operand))
    return node.effectiveWidth or node.type.bitWidth


def cut(node, text: Text) -> Iterator[Candidate]:
    """A value that is not constant, without its top bit; a wide one, whose top bit means little, without its upper half."""
    kind, width = node.type, node.type.bitWidth
    if not kind.isIntegral or kind.isSigned or kind.isEnum or kind.isStruct or width < 2 or width > 128:
        return
    kept = width - 1 if width <= 16 else width // 2
    if used_width(node) > kept and not is_constant(node):
        yield "width", f"(({text.of(node)}) & {width}'h{(1 << kept) - 1:x})"


def range_select(node, text: Text) -> Iterator[Candidate]:
    base, whole = node.value.type, without_parentheses(text.of(node))
    if not base.isIntegral or not base.hasFixedRange:
        return
    opening = matching_bracket(whole)
    value, inner = whole[:opening], whole[opening + 1:-1]
    if node.selectionKind == ast.RangeSelectionKind.Simple:
        left, right = constant_value(node.left), constant_value(node.right)
        if left is None or right is None or left < right:
            return
        for delta in (1, -1):
            if base.fixedRange.left >= left + delta and right + delta >= base.fixedRange.right:
                yield "slice", f"{value}[{left + delta}:{right + delta}]"
        return
    mark = "+:" if node.selectionKind == ast.RangeSelectionKind.IndexedUp else "-:"
    first, size = inner.rsplit(mark, 1)
    yield "slice", f"{value}[({first.strip()}) ^ {one_of(node.left.type)} {mark} {size.strip()}]"


def constant_value(node) -> int | None:
    return None if node.constant is None else int(node.constant.value)


def one_of(kind) -> str:
    return f"{kind.bitWidth}'{'s' if kind.isSigned else ''}d1"


def without_parentheses(whole: str) -> str:
    while whole.startswith("(") and whole.endswith(")"):
        whole = whole[1:-1].strip()
    return whole


def matching_bracket(whole: str) -> int:
    """Where the last [...] of the text begins."""
    depth = 0
    for position in range(len(whole) - 1, -1, -1):
        depth += {"]": 1, "[": -1}.get(whole[position], 0)
        if depth == 0:
            return position
    return 0


def element_select(node, text: Text) -> Iterator[Candidate]:
    """The neighbour of an element, where the number of elements is even and every index exists."""
    base = node.value.type
    if not base.hasFixedRange:
        return
    count = abs(base.fixedRange.left - base.fixedRange.right) + 1
    if count < 2 or count & (count - 1):
        return
    whole = without_parentheses(text.of(node))
    opening = matching_bracket(whole)
    yield "slice", f"{whole[:opening]}[({whole[opening + 1:-1]}) ^ {one_of(node.selector.type)}]"
