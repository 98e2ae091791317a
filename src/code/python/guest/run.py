"""One program, from the boot frame to its end."""

import sys

IN_FLIGHT = 256
LONGEST = 16 << 20
ARGUMENTS = "binding arguments must be lossless JSON"


class Guest(Wire):
    """One program, its calls, and its end."""

    def __init__(self, os, asyncio, json, source, sink):
        from collections import deque

        super().__init__(os, json, source, sink)
        self.asyncio = asyncio
        # Before there is a program: whoever waits for one is ready.
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(lambda loop, context: None)
        self.loop.add_reader(source, self.answered)
        self.pending = {}
        self.queue = deque()
        self.unanswered = set()
        self.next_id = 0

    def answered(self):
        """Reads what there is, and wakes those who waited for it."""
        self.fill()
        while (line := self.buffered()) is not None:
            reply = self.decode(line)
            id = reply.get("id")
            self.unanswered.discard(id)
            while self.queue and len(self.unanswered) < IN_FLIGHT:
                next, turn = self.queue.popleft()
                if not turn.done():
                    # It takes its place at once, before another one does.
                    self.unanswered.add(next)
                    turn.set_result(None)
            future = self.pending.pop(id, None)
            if future is None or future.done():
                continue
            if reply.get("ok"):
                future.set_result((True, reply["value"]))
            else:
                future.set_result((False, reply["message"]))

    async def call(self, space, name, args):
        try:
            check(args)
            args = self.encode(args).encode("utf-8")
        except MemoryError:
            raise
        except Exception:
            args = None
        if args is None or len(args) > LONGEST:
            raise space.error(name, ARGUMENTS)
        id = self.next_id
        self.next_id += 1
        loop = self.asyncio.get_running_loop()
        if len(self.unanswered) >= IN_FLIGHT:
            turn = loop.create_future()
            self.queue.append((id, turn))
            await turn
        self.unanswered.add(id)
        future = self.pending[id] = loop.create_future()
        head = {"type": "call", "id": id, "global": space.name, "name": name}
        try:
            head = self.encode(head)[:-1].encode("utf-8")
            self.put(head + b',"args":' + args + b"}")
        except OSError as error:
            self.unanswered.discard(id)
            self.pending.pop(id, None)
            raise space.error(name, f"the call cannot be sent: {error}") from None
        try:
            ok, value = await future
        finally:
            self.pending.pop(id, None)
        if not ok:
            raise space.error(name, value) from None
        return value

    def serve(self):
        import types

        boot = self.decode(self.line())
        # `[]` is counted from the start.
        self.log_room = boot["maxLogBytes"] - 2
        self.value_room = boot["maxValueBytes"] - 2
        self.limit = boot["maxValueBytes"]
        main = types.ModuleType("__main__")
        bound = main.__dict__
        for namespace in boot["namespaces"]:
            space = Space(self, namespace)
            bound[namespace["global"]] = bind(space)
            if space.type is not None:
                bound[space.type.__name__] = space.type
        self.send({"type": "boot-ack"})
        run = self.decode(self.line())
        self.run(run["program"], main)

    def run(self, program, main):
        sys.stdin = None
        sys.stdout, sys.stderr = Stream(self, "<stdout>", 1), Stream(self, "<stderr>", 2)
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = None, sys.stdout, sys.stderr
        sys.stdout.other, sys.stderr.other = sys.stderr, sys.stdout
        sys.modules["__main__"] = main
        sys.argv = [""]
        self.lines = program.splitlines()
        try:
            body = compiled(program)
        except MemoryError:
            self.out_of_memory()
        except BaseException as error:
            return self.failed("exception", rendered(error, error.__traceback__, self.lines))
        loop = self.loop
        confine(self)
        scope = main.__dict__
        try:
            exec(body, scope)
            start = scope.pop("__dsh_main__")
            value = loop.run_until_complete(start())
        except SystemExit as error:
            self.flush()
            code = error.code
            if code is None:
                code = 0
            elif not isinstance(code, int):
                self.log(str(code))
                code = 1
            self.exit(code & 0xFF)
        except MemoryError:
            self.out_of_memory()
        except BaseException as error:
            self.flush()
            message = rendered(error, error.__traceback__, self.lines)
            return self.failed("exception", message)
        self.flush()
        try:
            self.completed(value)
        except MemoryError:
            self.out_of_memory()

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass

    def out_of_memory(self):
        try:
            self.write(2, b"MemoryError: the program used up its memory\n")
        finally:
            self.exit(12)


