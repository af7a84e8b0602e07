"""Finds every place of the RTL that a mutation operator applies to, by elaborating it with slang.

Only what the hardware does at run time counts: no parameters, types, generate conditions, loop headers, case labels,
assertions, and nothing inside `ifndef SYNTHESIS`."""
from __future__ import annotations

import re
from pathlib import Path

import pyslang
from pyslang import ast, parsing, syntax

import operators
from mutant import Change, Mutant, number
from operators import Text

RESET = re.compile(r"^!\s*\w*rst_ni\b")
EXPRESSION_OPERATORS = {
    ast.BinaryExpression: operators.binary, ast.UnaryExpression: operators.unary,
    ast.ConditionalExpression: operators.conditional, ast.IntegerLiteral: operators.literal,
    ast.UnbasedUnsizedIntegerLiteral: operators.unsized, ast.NamedValueExpression: operators.named_constant,
    ast.ConcatenationExpression: operators.concatenation, ast.CallExpression: operators.call,
    ast.RangeSelectExpression: operators.range_select, ast.ElementSelectExpression: operators.element_select,
}
SELECTS = (ast.RangeSelectExpression, ast.ElementSelectExpression, ast.MemberAccessExpression)
SKIPPED = (ast.ConcurrentAssertionStatement, ast.ImmediateAssertionStatement, ast.ParameterSymbol,
           ast.SignalEventControl, ast.ElabSystemTaskSymbol)


# slang counts bytes: in this encoding a character is a byte.
BYTES = "latin-1"

# Functions compute in words of 32 bits whatever a value needs (rtl/README.md, speed): their width says nothing.
WORD_BITS = 32


class DesignError(Exception):
    """The RTL cannot be read."""


class Collector:
    """Walks the elaborated design. A place that several instances share is one place; if they disagree on a text
    (a width that a parameter sets), the place has no such mutant."""

    def __init__(self, root: Path, manager):
        self.root, self.manager = root, manager
        self.texts: dict[str, str] = {}
        self.found: dict[tuple, dict[tuple, None]] = {}
        self.constant_functions: set[tuple[str, int]] = set()
        self.in_reset = self.in_subroutine = False
        self.names: dict[int, str | None] = {}  # of a buffer, by its number

    # ------------------------------------------------------------ places
    def file_of(self, node) -> str | None:
        buffer = node.sourceRange.start.buffer
        if buffer.id not in self.names:
            path = Path(str(self.manager.getFullPath(buffer))).resolve()
            inside = path.is_relative_to(self.root / "rtl")
            self.names[buffer.id] = str(path.relative_to(self.root)) if inside else None
            if inside:
                self.texts[self.names[buffer.id]] = path.read_text(encoding=BYTES)
        return self.names[buffer.id]

    def text(self, node) -> Text | None:
        file = self.file_of(node)
        return Text(self.texts[file]) if file else None

    def add(self, node, candidates) -> None:
        """One set of candidates of one visit of a place."""
        file = self.file_of(node)
        start, end = node.sourceRange.start.offset, node.sourceRange.end.offset
        for position, (kind, replacement) in enumerate(candidates):
            if kind == "width" and self.in_subroutine and node.type.bitWidth == WORD_BITS:
                continue
            kind = "reset" if self.in_reset else kind
            self.found.setdefault((file, start, end, kind, type(node).__name__, position), {})[replacement] = None

    def changes(self) -> list[Change]:
        unique = {}
        for (file, start, end, kind, _, _), replacements in self.found.items():
            if len(replacements) == 1 and self.texts[file][start:end] not in replacements:
                change = Change(file, start, end, kind, self.texts[file][start:end], next(iter(replacements)))
                unique[(file, start, end, change.replacement)] = change
        return list(unique.values())

    # ------------------------------------------------------------ walk
    def design(self, node):
        """Visitor of symbols outside of processes."""
        if isinstance(node, ast.ParameterSymbol):
            if node.initializer is not None:
                node.initializer.visit(self.constant)
            return ast.VisitAction.Skip
        if isinstance(node, ast.InstanceSymbol):
            for connection in node.portConnections:
                self.connection(connection)
            return ast.VisitAction.Advance
        if isinstance(node, ast.ProceduralBlockSymbol):
            if node.procedureKind not in (ast.ProceduralBlockKind.Initial, ast.ProceduralBlockKind.Final):
                node.body.visit(self.behaviour)
            return ast.VisitAction.Skip
        if isinstance(node, ast.SubroutineSymbol):
            if self.text(node.body) and node.body is not None:
                self.in_subroutine = True
                node.body.visit(self.behaviour)
                self.in_subroutine = False
            return ast.VisitAction.Skip
        if isinstance(node, ast.ContinuousAssignSymbol):
            if not self.is_unused(node.assignment.left):
                self.driver(node.assignment.right)
            return ast.VisitAction.Skip
        if isinstance(node, ast.NetSymbol):
            if node.initializer is not None and not node.name.startswith("unused"):
                self.driver(node.initializer)
            return ast.VisitAction.Skip
        if isinstance(node, ast.Expression):
            return ast.VisitAction.Skip
        return ast.VisitAction.Advance

    def is_unused(self, target) -> bool:
        """unused_...: a signal that is there to be read by nobody, for lint."""
        text = self.text(target)
        return text is not None and text.of(target).startswith("unused")

    def constant(self, node):
        """Functions called while elaborating must not depend on the active mutant."""
        if isinstance(node, ast.CallExpression) and not node.isSystemCall:
            body = node.subroutine.body
            self.constant_functions.add((self.file_of(body), body.sourceRange.start.offset,
                                         body.sourceRange.end.offset))
        return ast.VisitAction.Advance

    def connection(self, connection) -> None:
        expression, port = connection.expression, connection.port
        if expression is None or isinstance(expression, ast.AssignmentExpression):
            return
        if not isinstance(port, ast.PortSymbol) or port.direction != ast.ArgumentDirection.In:
            return
        text = self.text(expression)
        if text is None or port.name in ("clk_i", "rst_ni"):
            return
        own = text.of(expression)
        before = text.text[:expression.sourceRange.start.offset].rstrip()
        if before.endswith("."):     # .name alone: nothing to replace
            return
        if expression.type.isIntegral and not own.strip().startswith("'"):
            self.add(expression, [("stuck", zero_of(expression))])
        expression.visit(self.behaviour)

    def driver(self, expression) -> None:
        text = self.text(expression)
        if text is None:
            return
        kind = expression.type
        if kind.isIntegral and kind.bitWidth == 1:
            self.add(expression, [("stuck", "1'b0"), ("stuck", "1'b1")])
        self.cut(expression, text)
        expression.visit(self.behaviour)

    def cut(self, expression, text: Text) -> None:
        while isinstance(expression, ast.ConversionExpression) and expression.isImplicit:
            expression = expression.operand
        self.add(expression, list(operators.cut(expression, text)))

    def behaviour(self, node):
        """Visitor of what runs: statements and expressions."""
        if isinstance(node, SKIPPED):
            return ast.VisitAction.Skip
        if isinstance(node, ast.Statement):
            return self.statement(node)
        if isinstance(node, ast.AssignmentExpression):
            if not node.isLValueArg:
                (node.right.right if node.isCompound else node.right).visit(self.behaviour)
            return ast.VisitAction.Skip
        if isinstance(node, ast.CallExpression) and node.isSystemCall:
            if node.subroutineName not in ("$signed", "$unsigned", "$countones", "$onehot"):
                return ast.VisitAction.Skip
        text = self.text(node) if isinstance(node, ast.Expression) else None
        if text is not None and type(node) in EXPRESSION_OPERATORS:
            self.add(node, list(EXPRESSION_OPERATORS[type(node)](node, text)))
        if isinstance(node, ast.ConversionExpression) and not node.isImplicit and text is not None:
            self.add(node, list(operators.cut(node, text)))
        if isinstance(node, SELECTS):
            self.base(node)
            return ast.VisitAction.Skip
        if isinstance(node, ast.ReplicationExpression):
            node.concat.visit(self.behaviour)
            return ast.VisitAction.Skip
        return ast.VisitAction.Advance

    def base(self, node) -> None:
        """What is selected from stays a name; indices of any depth are expressions of their own."""
        while isinstance(node, SELECTS):
            if isinstance(node, ast.ElementSelectExpression):
                node.selector.visit(self.behaviour)
            elif isinstance(node, ast.RangeSelectExpression) and node.selectionKind != ast.RangeSelectionKind.Simple:
                node.left.visit(self.behaviour)
            node = node.value

    def statement(self, node):
        if isinstance(node, ast.ExpressionStatement) and self.text(node):
            expression = node.expr
            if isinstance(expression, (ast.AssignmentExpression, ast.CallExpression)):
                self.add(node, [("dropped", "")])
            if isinstance(expression, ast.AssignmentExpression) and not expression.isCompound:
                self.cut(expression.right, self.text(node))
        if isinstance(node, ast.ForLoopStatement):
            node.body.visit(self.behaviour)
            return ast.VisitAction.Skip
        if isinstance(node, ast.CaseStatement):
            node.expr.visit(self.behaviour)
            for item in node.items:
                item.stmt.visit(self.behaviour)
            if node.defaultCase is not None:
                node.defaultCase.visit(self.behaviour)
            return ast.VisitAction.Skip
        if isinstance(node, ast.ConditionalStatement):
            return self.conditional(node)
        return ast.VisitAction.Advance

    def conditional(self, node):
        resets = False
        for condition in node.conditions:
            expression = condition.expr
            text = self.text(expression)
            if text is None:
                continue
            own = text.of(expression)
            resets = RESET.match(own) is not None
            outer, self.in_reset = self.in_reset, self.in_reset or resets
            # As wide as it was, so that what it is compared with stays what it was.
            self.add(expression, [("condition", f"!({own})"), ("condition", "1'b1"), ("condition", "1'b0")])
            expression.visit(self.behaviour)
            self.in_reset = outer
        outer, self.in_reset = self.in_reset, self.in_reset or resets
        node.ifTrue.visit(self.behaviour)
        self.in_reset = outer
        if node.ifFalse is not None:
            node.ifFalse.visit(self.behaviour)
        return ast.VisitAction.Skip


def zero_of(expression) -> str:
    return f"{expression.type.bitWidth}'{'s' if expression.type.isSigned else ''}d0"


def compile_order(files: list[Path]) -> list[Path]:
    """Packages after those they name, then modules."""
    packages = {file.stem: file for file in files if file.stem.endswith("_pkg")}
    ordered: list[Path] = []

    def add(file: Path) -> None:
        if file in ordered:
            return
        for name in sorted(set(re.findall(r"\b\w+_pkg\b", file.read_text(encoding=BYTES))) - {file.stem}):
            if name in packages:
                add(packages[name])
        ordered.append(file)
    for name in sorted(packages):
        add(packages[name])
    return ordered + [file for file in sorted(files) if file.stem not in packages]


def package_files(generated: Path, chip: str = "nano") -> list[Path]:
    """What is generated of spec/: chip_pkg of the preset and all that stands beside the presets."""
    files = [generated / "weft_pkg.sv", generated / chip / "chip_pkg.sv"]
    missing = [str(file) for file in files if not file.exists()]
    if missing:
        raise DesignError(f"not generated yet: {', '.join(missing)}")
    return files + sorted(set(generated.glob("*.sv")) - set(files))


def population(root: Path, generated: Path, chip: str = "nano") -> tuple[list[Mutant], dict[str, str]]:
    """All mutants of root/rtl, in order, and the texts of the files. `generated`: weft_pkg.sv and <chip>/chip_pkg.sv."""
    files = package_files(generated, chip)
    rtl = compile_order(list((root / "rtl").glob("*/*.sv")))
    options = ast.CompilationOptions()
    preprocessor = parsing.PreprocessorOptions()
    defines = ["SYNTHESIS"]
    preprocessor.predefines = defines
    modules = re.compile(r"^module\s+(\w+)", re.M)
    names = {name for file in rtl for name in modules.findall(file.read_text(encoding=BYTES))}
    options.topModules = names      # slang refers to these strings: `names` lives as long as the compilation
    bag = pyslang.Bag([options, preprocessor])
    manager = pyslang.SourceManager()   # its own: the default one keeps files that have changed since
    compilation = ast.Compilation(bag)
    for file in files + rtl:
        compilation.addSyntaxTree(syntax.SyntaxTree.fromFile(str(file), manager, bag))
    errors = [d for d in compilation.getAllDiagnostics() if d.isError()]
    if errors:
        first = errors[0]
        raise DesignError(f"{manager.getFileName(first.location)}:{manager.getLineNumber(first.location)}: "
                          f"slang cannot read the RTL: {first.code}, {len(errors)} errors in all")
    collector = Collector(root.resolve(), manager)
    compilation.getRoot().visit(collector.design)
    del names
    inside = collector.constant_functions
    changes = [c for c in collector.changes()
               if not any(c.file == file and start <= c.start and c.end <= end for file, start, end in inside)]
    return number(changes, collector.texts), collector.texts
