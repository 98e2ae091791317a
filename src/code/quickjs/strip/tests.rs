//! The stripper alone; against Node in the tests of the crate.

use super::*;

fn stripped(program: &str) -> String {
    match strip(program) {
        Ok(text) => text,
        Err(refusal) => panic!("{program}: {refusal}"),
    }
}

#[test]
fn types_become_spaces_and_places_stay() {
    for (with, without) in [
        ("const a: number = 1", "const a         = 1"),
        ("let a!: string", "let a         "),
        ("f<T>(x as any)", "f   (x       )"),
        ("x!.y!()", "x .y ()"),
        (
            "const f = <T,>(a?: T): void => {}",
            "const f =     (a    )       => {}",
        ),
        (
            "function f(this: Foo, a: number): a is 1 { return a }",
            "function f(           a        )         { return a }",
        ),
        (
            "class A<T> extends B<T> implements C, D<T> { }",
            "class A    extends B                       { }",
        ),
        ("type Ä = 'é😀'\nreturn 1", ";             \nreturn 1"),
        (
            "abstract class A { abstract a: 1; private readonly b?: 2 = 3 }",
            "         class A { ;              ;                b     = 3 }",
        ),
        (
            "for (const x of y as Z[]) {}",
            "for (const x of y       ) {}",
        ),
        (
            "return await tools.read<Foo>({ path } satisfies P)",
            "return await tools.read     ({ path }            )",
        ),
        (
            "try { } catch (e: unknown) { }",
            "try { } catch (e         ) { }",
        ),
    ] {
        let text = stripped(with);
        assert_eq!(text.trim_end(), without.trim_end());
        assert_eq!(text.encode_utf16().count(), with.encode_utf16().count());
    }
}

#[test]
fn what_has_a_meaning_is_refused_with_its_place() {
    for (program, line, column) in [
        ("enum A { B }", 1, 1),
        ("let a = 1\n  const enum A { B }", 2, 3),
        ("namespace A { export const b = 1 }", 1, 1),
        ("return <any>x", 1, 8),
        ("class A { constructor(private a: number) {} }", 1, 23),
        ("import type { A } from 'a'", 1, 1),
        ("import a = require('a')", 1, 1),
        ("export const a = 1", 1, 1),
        ("@d class A {}", 1, 1),
        ("let a = ;", 1, 9),
        ("return 1 }", 1, 10),
        ("})(); (async () => {", 1, 1),
    ] {
        let refusal = strip(program).expect_err(program);
        assert_eq!(
            (refusal.line, refusal.column),
            (line, column),
            "{program}: {refusal}"
        );
    }
}

/// The deepest programs of every shape, on the stack that is promised.
#[test]
fn nothing_overflows_the_stack_that_is_asked_for() {
    let deep = |unit: &str, middle: &str, close: &str| {
        let levels = 10_000 / tokens(&format!("{unit}{close}")).max(1);
        format!("{}{middle}{}", unit.repeat(levels), close.repeat(levels))
    };
    let programs = [
        deep("(", "", ""),
        deep("[", "", ""),
        deep("{", "", ""),
        deep("({a:", "", ""),
        deep("f(", "", ""),
        deep("`${", "", ""),
        "<".repeat(400),
        "a<".repeat(400),
        deep("new ", "", ""),
        deep("@", "", ""),
        deep("class A{[", "", ""),
        deep("x?.(", "", ""),
        format!("type A={}", "(".repeat(5_000)),
        format!("type A={}", "[".repeat(5_000)),
        format!("type A={}", "{a:".repeat(3_000)),
        format!("type A={}", "a<".repeat(400)),
        format!("let {}", "[".repeat(5_000)),
        format!("let {}", "{a:".repeat(3_000)),
        deep("(", "1", ")"),
        deep("[", "1", "]"),
        deep("{", "", "}"),
        deep("!", "1", ""),
        deep("a=>", "1", ""),
        deep("(a)=>", "1", ""),
        deep("a?", "b", ":c"),
        deep("a?b:", "c", ""),
        deep("a=", "b", ""),
        deep("a**", "b", ""),
        deep("a+", "b", ""),
        deep("x={a:", "1", "}"),
        deep("if(a)", ";", ""),
        deep("if(a);else ", ";", ""),
        deep("for(;;)", ";", ""),
        deep("a:", ";", ""),
        deep("`${", "1", "}`"),
        deep("f(", "1", ")"),
        deep("new ", "a", ""),
        deep("function f(){", "", "}"),
        deep("class A{a=", "1", "}"),
        format!("a{}", "[0]".repeat(3_000)),
        format!("a{}", ".b".repeat(5_000)),
        format!("a{}", "()".repeat(5_000)),
        format!("a{}", "!".repeat(5_000)),
        format!("a{}", " as b".repeat(5_000)),
        format!("type A={}1{}", "(".repeat(3_000), ")".repeat(3_000)),
        format!("type A={}1{}", "[".repeat(3_000), "]".repeat(3_000)),
        format!("type A=a{}", "[]".repeat(3_000)),
        format!("type A={}1", "keyof ".repeat(3_000)),
        format!("type A={}1{}", "a<".repeat(400), ">".repeat(400)),
        format!("type A={}1", "a extends b?c:".repeat(1_000)),
        format!("type A={}1", "()=>".repeat(1_000)),
        format!("let {}a{}=1", "[".repeat(2_000), "]".repeat(2_000)),
        format!("let {}a{}=1", "{a:".repeat(2_000), "}".repeat(2_000)),
        format!("{}1", "async a=>".repeat(2_000)),
    ];
    for program in programs {
        let size = stack(&program).unwrap();
        let start: String = program.chars().take(20).collect();
        let thread = std::thread::Builder::new()
            .stack_size(size + 256 * 1024)
            .spawn(move || strip(&program).is_ok())
            .unwrap();
        let read = thread.join().unwrap();
        eprintln!("{start}… {read}");
    }
}

#[test]
fn long_programs_are_refused_before_they_are_read() {
    assert!(stack(&"a;".repeat(TOKENS)).is_err());
    assert!(stack(&"a;".repeat(TOKENS / 2)).is_ok());
    assert!(stack(&"a<".repeat(OPEN + 1)).is_err());
    assert!(stack(&"a<b;a<c && a<d || a<e<f>>;".repeat(OPEN)).is_ok());
}
