"""A program's text, and the text of its errors."""

SHOWN_FRAMES = 20
UNRENDERABLE = "program threw an unrenderable value"


def compiled(program):
    """The program as the body of an asynchronous function of its own lines."""
    import _ast

    tree = compile(program, "<program>", "exec", _ast.PyCF_ONLY_AST, True)
    shell = compile(
        "async def __dsh_main__(): pass", "<program>", "exec", _ast.PyCF_ONLY_AST
    )
    end = _ast.Return(_ast.Constant(NO_VALUE))
    end.lineno = end.end_lineno = end.value.lineno = end.value.end_lineno = 1
    end.col_offset = end.end_col_offset = 0
    end.value.col_offset = end.value.end_col_offset = 0
    silence(tree.body, end.value, _ast)
    shell.body[0].body = tree.body + [end]
    code = compile(shell, "<program>", "exec", 0, True)
    for const in code.co_consts:
        # 0x200: it yields at its top level, and could not return.
        if getattr(const, "co_name", "") == "__dsh_main__" and const.co_flags & 0x200:
            raise SyntaxError("'yield' outside function")
    return code


def silence(body, nothing, _ast):
    """Makes a bare `return` of the program's own give no value."""
    apart = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
    blocks = [body]
    while blocks:
        for statement in blocks.pop():
            if isinstance(statement, _ast.Return) and statement.value is None:
                statement.value = nothing
            if isinstance(statement, apart):
                continue
            for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
                inside = getattr(statement, inside, None)
                if isinstance(inside, list):
                    blocks.append(inside)


def rendered(error, trace, lines):
    """The error as Python shows it, with the program's own lines."""
    try:
        text = str(error)
        head = type(error).__name__
        said = f"{head}: {text}" if text else head
        if isinstance(error, SyntaxError):
            where = f" (line {error.lineno})" if error.lineno else ""
            shown = source_line(lines, error.lineno)
            line = f"\n    {shown}" if shown else ""
            return f"{head}: {error.msg}{where}{line}"
        places = []
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == "<program>":
                places.append((trace.tb_lineno, code.co_name))
            trace = trace.tb_next
        if not places:
            return text if text else head
        if len(places) > SHOWN_FRAMES:
            places = places[:5] + [None] + places[-(SHOWN_FRAMES - 5) :]
        out = ["Traceback (most recent call last):"]
        for place in places:
            if place is None:
                out.append("  …")
                continue
            number, name = place
            name = "<program>" if name == "__dsh_main__" else name
            out.append(f'  File "<program>", line {number}, in {name}')
            if shown := source_line(lines, number):
                out.append(f"    {shown}")
        return "\n".join(out) + "\n" + said
    except MemoryError:
        raise
    except BaseException:
        return UNRENDERABLE


def source_line(lines, number):
    if number is None or not 0 < number <= len(lines):
        return ""
    return lines[number - 1].strip()[:200]


