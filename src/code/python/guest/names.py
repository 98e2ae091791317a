"""What is bound in a program."""

NOTHING = object()
class Space:
    """One namespace, and the class of its errors."""

    def __init__(self, guest, declared):
        self.guest = guest
        self.name = declared["global"]
        self.names = frozenset(declared["names"])
        self.order = list(declared["names"])
        self.type = self.property = None
        declared = declared.get("errorClass")
        if declared is not None:
            self.property = declared["memberNameProperty"]
            self.type = type(
                declared["name"], (Exception,), {"__module__": "__main__"}
            )

    def error(self, name, message):
        if self.type is None:
            return RuntimeError(message)
        error = self.type(message)
        setattr(error, self.property, name)
        error.message = message
        error.name = self.type.__name__
        return error


def bind(space):
    """The object that a program sees: functions by attribute or by index."""

    def member(name):
        async def function(args=NOTHING, /, **named):
            if args is NOTHING:
                args = named
            elif named:
                args = {**args, **named} if isinstance(args, dict) else [args, named]
            return await space.guest.call(space, name, args)

        function.__name__ = function.__qualname__ = name
        return function

    class Namespace:
        __slots__ = ()

        def __getattr__(self, name):
            if name in space.names:
                return member(name)
            raise AttributeError(f"{space.name} has no function {name!r}")

        def __getitem__(self, name):
            if isinstance(name, str) and name in space.names:
                return member(name)
            raise KeyError(name)

        def __contains__(self, name):
            return name in space.names

        def __iter__(self):
            return iter(list(space.order))

        def __len__(self):
            return len(space.order)

        def __dir__(self):
            return list(space.order)

        def __repr__(self):
            return f"<functions of {space.name}>"

    return Namespace()


