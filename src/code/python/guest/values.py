"""Values: what JSON keeps of them, and how long it is."""

MAX_DEPTH = 128


class NotLossless(Exception):
    pass


def string_bytes(text, controls):
    """The bytes of `text` as a JSON string, quotes included."""
    size = 2 + len(text.encode("utf-8")) + 5 * len(controls(text))
    for char in '"\\\b\t\n\f\r':
        size += text.count(char)
    return size


def cut(text, room, controls):
    """The longest beginning that takes `room` bytes as a JSON string."""
    # Quotes are two bytes, and no character is less than one.
    text = text[: max(room - 2, 0)]
    if string_bytes(text, controls) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if string_bytes(text[:middle], controls) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def check(root):
    """Refuses what JSON, or 64-bit numbers, would change."""
    stack = [(root, 0)]
    while stack:
        value, depth = stack.pop()
        kind = type(value)
        if value is None or kind is bool or kind is str:
            continue
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise NotLossless("an integer has more than 64 bits")
        elif isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise NotLossless("a number is not finite")
            if value == 0.0 and str(float(value))[0] == "-":
                raise NotLossless("a number is a negative zero")
        elif isinstance(value, str):
            continue
        elif isinstance(value, (list, tuple)):
            if depth >= MAX_DEPTH:
                raise NotLossless("it is nested too deep")
            for item in value:
                stack.append((item, depth + 1))
        elif isinstance(value, dict):
            if depth >= MAX_DEPTH:
                raise NotLossless("it is nested too deep")
            for name, item in value.items():
                if not isinstance(name, str):
                    raise NotLossless(f"a key is a {type(name).__name__}")
                stack.append((item, depth + 1))
        else:
            raise NotLossless(f"it holds a {kind.__name__}")


