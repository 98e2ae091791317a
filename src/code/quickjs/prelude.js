// Runs before any program, and is all of this runtime's that a program shares
// a world with. What it needs later it takes now: afterwards everything that
// can be reached by name may have been replaced.
(function (native, namespaces) {
  "use strict";
  const { create, defineProperty, freeze } = Object;
  const PromiseClass = Promise;
  const ErrorClass = Error;
  const wellFormed = Function.prototype.call.bind(String.prototype.toWellFormed);
  const { call, log } = native;

  const shown = (value) => {
    const descriptor = create(null);
    descriptor.value = value;
    descriptor.enumerable = true;
    return descriptor;
  };
  const hidden = (value) => {
    const descriptor = create(null);
    descriptor.value = value;
    return descriptor;
  };

  delete globalThis.Atomics;
  delete globalThis.SharedArrayBuffer;

  const errorClass = (name, property) => {
    const Class = class extends ErrorClass {
      constructor(message, member) {
        super(message);
        if (member !== undefined) defineProperty(this, property, shown(member));
      }
    };
    defineProperty(Class, "name", hidden(name));
    defineProperty(Class.prototype, "name", hidden(name));
    freeze(Class.prototype);
    return freeze(Class);
  };

  const pending = create(null);
  const member = (index, name, failed) => {
    const bound = (...values) =>
      new PromiseClass((resolve, reject) => {
        // A number is the call's, a text says why there is none.
        const id = call(index, name, values);
        if (typeof id !== "number") {
          reject(failed(id));
          return;
        }
        const entry = create(null);
        entry.resolve = resolve;
        entry.reject = reject;
        entry.failed = failed;
        pending[id] = entry;
      });
    defineProperty(bound, "name", hidden(name));
    return freeze(bound);
  };

  for (let index = 0; index < namespaces.length; index += 1) {
    const { global, names, errorClass: declared } = namespaces[index];
    let Class;
    if (declared) {
      Class = errorClass(declared.name, declared.memberNameProperty);
      defineProperty(globalThis, declared.name, hidden(Class));
    }
    const namespace = create(null);
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at];
      const failed = Class
        ? (message) => new Class(message, name)
        : (message) => new ErrorClass(message);
      defineProperty(namespace, name, shown(member(index, name, failed)));
    }
    defineProperty(globalThis, global, hidden(freeze(namespace)));
  }

  const console = create(null);
  const channels = ["log", "info", "warn", "error", "debug", "trace", "dir"];
  for (let at = 0; at < channels.length; at += 1) {
    const print = (...values) => log(values);
    defineProperty(console, channels[at], shown(freeze(print)));
  }
  defineProperty(globalThis, "console", hidden(freeze(console)));

  const settle = (id, succeeded, value) => {
    const entry = pending[id];
    if (entry === undefined) return;
    delete pending[id];
    if (succeeded) entry.resolve(value);
    else entry.reject(entry.failed(value));
  };
  const handles = create(null);
  handles.settle = settle;
  handles.wellFormed = (text) => wellFormed(text);
  return handles;
})
