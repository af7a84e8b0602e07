"""Rewrites SystemVerilog that Yosys 0.23 does not parse into SystemVerilog that it does, and binds properties.

Yosys 0.23 has no `return`, no function with outputs, no clocked assertion and no import. Each rule below is a
change of spelling; what a rule does not know for sure is left for Yosys to refuse."""
import re


class LoweringError(Exception):
    """Text that looks like a rule's but is not what the rule can rewrite."""


def lower(text, packages):
    """text: one source file. packages: {name: names it declares}, of the files read so far; grows by this file's own."""
    text = _imports(text, packages)
    text = re.sub(r"\bfunction automatic void (\w+)\((.*?)\);(.*?)\bendfunction", _void_function, text, flags=re.S)
    text = re.sub(r"\bfunction automatic ([^;(]*?)(\w+)\s*\(([^;]*?)\);(.*?)\bendfunction", _return, text, flags=re.S)
    text = _clocked_assertions(text)
    for package, body in re.findall(r"\bpackage (\w+);(.*?)\bendpackage", text, flags=re.S):
        packages[package] = _declared(body)
    return text


def void_calls(text, functions):
    """Calls of functions that _void_function() has rewritten: f(a, x, y); with outputs x, y -> {y, x} = f(a);"""
    for name, outputs in functions.items():
        def call(match, name=name, outputs=outputs):
            arguments = [part.strip() for part in _split(match[2])]
            out = ", ".join(reversed(arguments[-outputs:]))
            return f"{match[1]}{{{out}}} = {name}({', '.join(arguments[:-outputs])});"
        text = re.sub(rf"(^[ \t]*){name}\(((?:[^;])*?)\);", call, text, flags=re.M)
    return text


def void_functions(text):
    """{name: number of outputs} of the functions without a value in `text`."""
    found = re.findall(r"\bfunction automatic void (\w+)\((.*?)\);", text, flags=re.S)
    return {name: len(re.findall(r"\boutput\b", ports)) for name, ports in found}


def bind(text, module, properties):
    """Puts module items in front of the module's endmodule. `bind` of Yosys 0.23 does not reach memories."""
    text, count = re.subn(rf"(\bmodule {module}\b.*?)(?=\bendmodule)", lambda match: match[1] + properties, text, flags=re.S)
    if count != 1:
        raise LoweringError(f"module {module}: {count} found, one expected")
    return text


def _split(arguments):
    """Splits at commas outside of brackets."""
    parts, depth = [""], 0
    for char in arguments:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _void_function(match):
    name, ports, body = match.groups()
    inputs = [port.strip() for port in _split(ports) if not port.strip().startswith("output")]
    outputs = [port.strip() for port in _split(ports) if port.strip().startswith("output")]
    widths = [re.fullmatch(r"output logic \[(\d+):0\] (\w+)", port) for port in outputs]
    if not outputs or not all(widths):
        raise LoweringError(f"function {name}: every output must be a vector of literal width")
    total = sum(int(width[1]) + 1 for width in widths)
    declared = "".join(f"    logic [{width[1]}:0] {width[2]};\n" for width in widths)
    result = ", ".join(width[2] for width in reversed(widths))
    return (f"function automatic [{total - 1}:0] {name}({', '.join(inputs)});\n{declared}{body.rstrip()}\n"
            f"    {name} = {{{result}}};\n  endfunction")


def _return(match):
    kind, name, ports, body = match.groups()
    returns = re.findall(r"\breturn\b", body)
    if not returns:
        return match[0]
    last = re.search(r"\breturn\s+([^;]*);\s*$", body)
    if len(returns) != 1 or not last:
        raise LoweringError(f"function {name}: a return that is not the last statement")
    return f"function automatic {kind}{name}({ports});{body[:last.start()]}{name} = {last[1]};\n  endfunction"


def _clocked_assertions(text):
    """Assertions without operators over time become immediate ones. They hold in every cycle, as before."""
    def immediate(match):
        if re.search(r"\|->|\|=>|##|\$past|\$rose|\$fell|\$stable", match[2]):
            raise LoweringError(f"{match[1]}: an assertion over several cycles")
        return f"always_comb begin {match[1]}: assert ({match[2]}); end"
    return re.sub(r"\b(\w+): assert property \(@\(posedge \w+\)\s*(.*?)\);", immediate, text, flags=re.S)


def _declared(body):
    """Names of a package: parameters, types, members of enums, functions."""
    names = set(re.findall(r"\blocalparam\b[^;=]*?(\w+)\s*=", body))
    names |= set(re.findall(r"\bfunction automatic\b[^;(]*?(\w+)\s*\(", body))
    names |= set(re.findall(r"\btypedef\b[^;{]*?(\w+)\s*;", body))
    for kind, members, name in re.findall(r"\btypedef (enum|struct)\b[^{;]*\{(.*?)\}\s*(\w+)\s*;", body, flags=re.S):
        names.add(name)
        if kind == "enum":
            names |= set(re.findall(r"(\w+)\s*=", members))
    return names


def _imports(text, packages):
    """Removes `import p::*` and qualifies what it brought."""
    wanted = re.findall(r"\b(\w+)::\*", text)
    if not wanted:
        return text
    text = re.sub(r"\n?[ \t]*\bimport\s+[\w:*,\s]*?;", "", text)
    for package in wanted:
        if package not in packages:
            raise LoweringError(f"import {package}::*: its package stands in no source before this one")
        for name in packages[package]:
            text = re.sub(rf"(?<![\w.:$'`]){name}(?!\w)", f"{package}::{name}", text)
    return text
