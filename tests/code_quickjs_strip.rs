//! The stripper of types: against Node's own, and in the engine.

#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toolfall::code::quickjs::{QuickJsRuntime, strip_types};
use toolfall::code::{CodeRuntime, RunRequest};

/// Bodies of functions. Each is erased by both strippers, or refused by both.
const SNIPPETS: &[&str] = &[
    // Annotations.
    "const a: number = 1, b: string[] = [], c: Array<{ d: 1 }> = []",
    "let a: number\n;(a)",
    "let a!: number; a!.toFixed()",
    "let { a, b: [c] }: { a: 1; b: [2] } = x",
    "const [a, b]: [number, ...string[]] = x",
    "function f(a: number, b?: string, ...c: boolean[]): void {}",
    "function f(this: Window, a: number) {}",
    "function f(this: Window) {}",
    "function f({ a, b }: { a: 1; b?: 2 } = {} as any) {}",
    "function f(a?: number) {} function g({ a }?: any) {}",
    "function f(a): a is string { return true }",
    "function f(a): asserts a is string {}",
    "function f<T, const U extends T = T>(a: T): U { return a as unknown as U }",
    "async function* f<T>(): AsyncGenerator<T> { yield* x as T }",
    "const f = function <T>(a: T): T { return a }",
    "const f = (a: number): number => a",
    "const f = <T,>(a: T): T => a",
    "const f = async <T,>(a: T): Promise<T> => a",
    "const f = async <\nT,\n>(a: T): Promise<T> => a",
    "const f = (a): {\n b: 1\n} => a",
    "const f = (\n a: 1,\n b?: 2,\n): a is\n 1 => a",
    "return <T,>(a: T) => a",
    "return <\nT,\n>(a: T) => a",
    "for (const a of x as number[]) {}",
    "for (let i: number = 0; i < (n as number); i++) {}",
    "try {} catch (e: unknown) {}",
    "try {} catch (e: any) { (e as Error).message }",
    "var a: typeof b, c: keyof d, e: unique symbol, f: readonly g[]",
    "let a: A extends infer B ? B : never, b: `x${string}`, c: import('d').E",
    "let a: { readonly [K in keyof T as `x${K}`]-?: T[K] }",
    "let a: new () => void, b: abstract new () => A, c: () => asserts d",
    "let a: ((b: c) => d)[] = [], e: -1, f: `g`, h: 1n, i: 'j', k: null",
    // Expressions.
    "f<T>(x as any)",
    "new Map<string, number[]>()",
    "new Set<string>",
    "f<T>`x`",
    "x!.y!.z!()",
    "x![0]!",
    "x!++",
    "x! = 1",
    "(x as any) = 1",
    "x as const",
    "x satisfies T",
    "x satisfies T as U",
    "a = b as c, d = e!",
    "x as any as T",
    "y = x as any\n(foo)",
    "y = x as any\n[foo]",
    "y = x as any\n`foo`",
    "y = x satisfies T\n(foo)",
    "y = x as any\n/foo/g",
    "y = x as any\n+ foo",
    "y = x!\n(foo)",
    "x as any\n++y",
    "if (x as any) y as any\nelse z as any",
    "const f = g<string>; f",
    "a?.b!.c",
    "a?.<T>(b)",
    "super_<T>()",
    "typeof x as T",
    "await x as T",
    "[...x as T[]]",
    "({ ...x as T, [y as string]: z! })",
    "`${x as string}`",
    "f(x as T, ...y as U[])",
    "async () => { await (x as T)!; yield_ = x! }",
    // Declarations.
    "type A = 1\n(foo)",
    "let a = b\ntype A = 1\n(foo)",
    "let a = b\ninterface A {}\n[foo]",
    "let a = b\ninterface A<T> extends B<T>, C { d(): e; [f: string]: g; new (): h; (): i; readonly j?: k }\n(foo)",
    "type A<T = 1> = { b: T }; type B = | 1 | 2",
    "type A = () => void\n`foo`",
    "declare const a: number, b: string",
    "declare function f(a: 1): 2",
    "declare class A { b: 1; c(): 2 }",
    "declare let a: 1\n(foo)",
    "function f(a: 1): 1\nfunction f(a: 2): 2\nfunction f(a: any) { return a }",
    "let a = b\nfunction f(a: 1): 1\nfunction f(a: any) { return a }",
    "if (a) { type B = 1 } else { interface C {} }",
    "switch (a) { case 1: type B = 1; break }",
    // Classes.
    "class A<T> extends B<T> implements C, D<T> { }",
    "class A implements B {}",
    "abstract class A {}",
    "const A = class<T> implements B {}",
    "const A = class extends (B as any)<T> implements C {}",
    "class A { a: number; b?: string; c!: boolean; readonly d = 1; static readonly e: 1 = 1 }",
    "class A { private a = 1; protected b; public static c = 2; private readonly d?: 1 }",
    "class A { private async *a(): any {} protected get b(): 1 { return 1 } public set b(c: 2) {} static async d?() {} }",
    "class A { a?(): void {} ['b']?: 1; #c?: 2; 'd'!: 3 }",
    "class A { a = 1\n public ['b'] = 2\n private *c() {}\n readonly in = 3\n d }",
    "class A { a = b\n declare c: 1\n ['d'] = 2 }",
    "class A { a = b as any\n ['c'] = 1\n d = e!\n ['f'] = 2 }",
    "class A { get: number\n b() {}\n set: 1\n c() {}\n static: 2\n d = 1\n async: 3\n e() {} }",
    "class A { [a: string]: any; static [b: number]: 1\n c = 1 }",
    "abstract class A { abstract a: 1; abstract b(): 2; protected abstract get c(): 3; abstract readonly d?: 4; e() {} }",
    "class A { f(a: 1): 1\n f(a: 2): 2\n f(a: any) { return a } constructor(a: 1); constructor(a: any) {} }",
    "class A extends B { override a() {} override b = 1; static override c = 2; declare d: 3 }",
    "class A { readonly; public; declare; abstract; readonly() {} static static = 1; private private = 2 }",
    "class A { public(a: 1) {} get readonly() { return 1 } async override() {} }",
    "class A { static { type B = 1; const c: B = 1 } }",
    "class A { constructor(a?: number, b: string = 'c') { super_<T>() } }",
    "class A { a: number = 1; ['b']: string = 'c'; 3: d; 'e': f }",
    // Comments and characters in between.
    "let a /* : b */ : /* c? */ number /* d */ = 1",
    "function f(a /* ? */ ?: /* ! */ 1) {}",
    "class A /* implements X */ implements /* Y */ B {}",
    "const é: Ä = 'ü😀' as Ö; return é",
    "type Ä = 'ü😀'\nlet b",
    "x /* ! */ ! /* ! */ .y",
    "class A { /* a */ private /* b */ c /* ? */ ? /* d */ : 1 }",
    "let a: 1 // : 2\n= 3",
    "let a: // b\n number = 1",
    // JavaScript that looks like types.
    "a < b > c",
    "f(a < b, c > d)",
    "a ? (b) : c => d",
    "a ? b : (c) => d",
    "const type = 1, as = 2; type\nas",
    "let declare, abstract, namespace, module; declare;\nabstract;\nnamespace;\nmodule",
    "var of, satisfies, implements_; of = satisfies",
    "label: for (;;) { break label }",
    "({ type: 1, readonly: 2, get: 3, async: 4 })",
    "x ? y : z",
    "a as\nb",
    "const interface_ = /: number/; '!: b'; `${a}: c`",
    "(a, b) => ({ c: a, d: b })",
    "x = y ? (z as T) : (w!)",
    // Refused.
    "enum A { B }",
    "const enum A { B }",
    "namespace A { export const b = 1 }",
    "return <any>x",
    "class A { constructor(private a) {} }",
    "class A { constructor(readonly a: 1) {} }",
    "class A { constructor(public a?: 1) {} }",
    "let a: = 1",
    "let a = 1 +",
    "function (",
    "const a: { b = 1",
    "class A { private }  }",
];

/// What Node makes of them; nothing where it is refused.
fn nodes() -> Option<Vec<Option<String>>> {
    let Some(node) = std::env::var_os("TOOLFALL_NODE") else {
        eprintln!("skipped: TOOLFALL_NODE names no Node 22 to compare with");
        return None;
    };
    let script = "
        const { stripTypeScriptTypes } = require('node:module');
        const texts = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
        console.log(JSON.stringify(texts.map((text) => {
            try { return stripTypeScriptTypes(text, { mode: 'strip' }) } catch { return null }
        })))";
    let mut node = Command::new(node)
        .args(["--no-warnings", "-e", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("TOOLFALL_NODE can be started");
    let wrapped: Vec<_> = SNIPPETS.iter().map(|snippet| wrapped(snippet)).collect();
    let mut stdin = node.stdin.take().unwrap();
    stdin
        .write_all(json!(wrapped).to_string().as_bytes())
        .unwrap();
    drop(stdin);
    let said = node.wait_with_output().unwrap().stdout;
    Some(serde_json::from_slice(&said).unwrap())
}

fn wrapped(snippet: &str) -> String {
    format!("async function body() {{\n{snippet}\n}}")
}

/// Both put semicolons where a statement was, each in its own places, and
/// spaces of different widths.
fn essence(text: &str) -> String {
    let is_filler = |character: char| {
        character.is_whitespace() || matches!(character, ';' | '\u{a0}' | '\u{feff}' | '\u{2002}')
    };
    text.chars().filter(|it| !is_filler(*it)).collect()
}

#[test]
fn the_same_is_erased_as_by_node() {
    let Some(nodes) = nodes() else { return };
    assert!(SNIPPETS.len() >= 60);
    let mut differ = Vec::new();
    for (snippet, node) in SNIPPETS.iter().zip(nodes) {
        let ours = strip_types(&wrapped(snippet));
        let same = match (&ours, &node) {
            (Ok(ours), Some(node)) => essence(ours) == essence(node),
            (Err(_), None) => true,
            _ => false,
        };
        if !same {
            differ.push(format!(
                "{snippet}\n--- ours\n{ours:?}\n--- node\n{node:?}\n"
            ));
        }
    }
    assert!(
        differ.is_empty(),
        "{} differ\n{}",
        differ.len(),
        differ.join("\n")
    );
}

#[test]
fn what_stays_stays_in_its_place() {
    for snippet in SNIPPETS {
        let Ok(text) = strip_types(snippet) else {
            continue;
        };
        let before: Vec<u16> = snippet.encode_utf16().collect();
        let after: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(before.len(), after.len(), "{snippet}\n{text}");
        let fillers = [' ', ';', '(', ')'].map(|filler| filler as u16);
        for (before, after) in before.into_iter().zip(after) {
            assert!(
                before == after || fillers.contains(&after),
                "{snippet}\n{text}"
            );
        }
    }
}

/// What is left is JavaScript, as far as the engine can tell without running
/// it.
#[tokio::test]
async fn the_engine_reads_what_is_left() {
    let runtime = QuickJsRuntime::in_process().build().unwrap();
    for snippet in SNIPPETS {
        let wrapped = wrapped(snippet);
        if strip_types(&wrapped).is_err() {
            continue;
        }
        let outcome = runtime
            .run(RunRequest::new(format!("{wrapped}\nreturn 1")))
            .await
            .unwrap();
        assert_eq!(outcome.value, Some(json!(1)), "{snippet}: {outcome:?}");
    }
}

/// What stands in the next line does not become a part of what was erased.
#[tokio::test]
async fn lines_without_semicolons_mean_what_they_meant() {
    let runtime = QuickJsRuntime::in_process().build().unwrap();
    let pairs: &[(&str, Value)] = &[
        (
            "const f = (x) => 'called'\nlet a = f\ntype T = 1\n(f)\nreturn typeof a",
            json!("function"),
        ),
        (
            "const f = (x) => 'called'\nlet a = f as any\n(f)\nreturn typeof a",
            json!("function"),
        ),
        ("let a = [1] as any\n[0].length\nreturn a", json!([1])),
        (
            "const f = (x) => 'called'\nlet a = f\ninterface T {}\n`x`\nreturn typeof a",
            json!("function"),
        ),
        (
            "class A { a = 1\n declare b: 2\n ['c'] = 3 }\nreturn Object.keys(new A())",
            json!(["a", "c"]),
        ),
        (
            "class A { a = 1\n public ['c'] = 3\n private *d() {} }\nreturn Object.keys(new A())",
            json!(["a", "c"]),
        ),
        (
            "class A { get: number\n b() { return 1 } }\nreturn [new A().b(), 'get' in new A()]",
            json!([1, true]),
        ),
        ("const f = <\nT,\n>(a: T) => a\nreturn f(1)", json!(1)),
        ("const f = (a): {\n b: 1\n} => a\nreturn f(1)", json!(1)),
        (
            "const f = () => {\n return <\nT,\n>(a: T) => a\n}\nreturn f()(1)",
            json!(1),
        ),
    ];
    for (program, expected) in pairs {
        let outcome = runtime.run(RunRequest::new(*program)).await.unwrap();
        assert_eq!(
            outcome.value.as_ref(),
            Some(expected),
            "{program}: {outcome:?}"
        );
    }
}
