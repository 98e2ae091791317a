//! What is a type, and what is not.

use oxc_ast::ast::{
    AccessorProperty, ArrowFunctionExpression, BindingPattern, Class, ClassElement, Decorator,
    ExportAllDeclaration, ExportDefaultDeclaration, ExportNamedDeclaration, FormalParameter,
    Function, ImportDeclaration, MethodDefinition, Program, PropertyDefinition, PropertyKey,
    TSAsExpression, TSEnumDeclaration, TSExportAssignment, TSGlobalDeclaration,
    TSImportEqualsDeclaration, TSInstantiationExpression, TSInterfaceDeclaration,
    TSModuleDeclaration, TSNamespaceExportDeclaration, TSNonNullExpression, TSSatisfiesExpression,
    TSThisParameter, TSTypeAliasDeclaration, TSTypeAnnotation, TSTypeAssertion,
    TSTypeParameterDeclaration, TSTypeParameterInstantiation, VariableDeclaration,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan as _, Span};
use oxc_syntax::scope::ScopeFlags;

use super::blanks::{Blanks, offset};

/// The words before a member's name that are types.
const MODIFIERS: [&str; 7] = [
    "public",
    "private",
    "protected",
    "readonly",
    "override",
    "abstract",
    "declare",
];

/// Walks a program and blanks what is a type.
pub(super) struct Eraser<'t> {
    blanks: Blanks<'t>,
    refused: Option<(u32, String)>,
}

impl<'t> Eraser<'t> {
    /// The program without its types, or the place and the reason.
    pub(super) fn erase(text: &'t str, program: &Program<'_>) -> Result<String, (u32, String)> {
        let mut eraser = Self {
            blanks: Blanks::new(text),
            refused: None,
        };
        eraser.visit_program(program);
        match eraser.refused {
            Some(refused) => Err(refused),
            None => Ok(eraser.blanks.finish()),
        }
    }

    /// Of several the first one in the text counts.
    fn refuse(&mut self, span: Span, what: &str) {
        if self.refused.as_ref().is_none_or(|(at, _)| *at > span.start) {
            self.refused = Some((span.start, what.to_owned()));
        }
    }

    /// Erases a statement. What stands before it may lack its semicolon, and
    /// must not go on with what follows.
    fn erase_statement(&mut self, span: Span) {
        self.blanks.blank_span(span);
        self.blanks.put(span.start, b';');
    }

    /// Erases the words before a member's name, and what marks it as optional
    /// or definite after.
    fn erase_modifiers(&mut self, member: Span, key: &PropertyKey<'_>, computed: bool) {
        let mut at = self.blanks.next(member.start);
        let mut first = true;
        while at < key.span().start {
            let rest = &self.blanks.text()[at as usize..key.span().start as usize];
            let end = rest
                .find(|character: char| !character.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            if end == 0 {
                // `*`, `[`, `#`: what follows is the name.
                break;
            }
            let length = u32::try_from(end).unwrap_or(0);
            if MODIFIERS.contains(&&rest[..end]) {
                self.blanks.blank(at, at + length);
                if first {
                    // The member before may lack its semicolon.
                    self.blanks.put(at, b';');
                }
            }
            first = false;
            at = self.blanks.next(at + length);
        }
        let mut after = key.span().end;
        if computed {
            after = self.blanks.next(after) + 1;
        }
        self.blanks.blank_next(after, b'?');
        self.blanks.blank_next(after, b'!');
    }

    /// Blanks what follows an expression. If the text goes on in the next line
    /// with something that would belong to the expression, it ends here.
    fn erase_tail(&mut self, start: u32, end: u32) {
        self.blanks.blank(start, end);
        let next = self.blanks.next(end);
        if matches!(self.blanks.byte(next), Some(b'(' | b'[' | b'`')) {
            let at = self.blanks.next(start);
            self.blanks.put(at, b';');
        }
    }
}

impl<'a> Visit<'a> for Eraser<'_> {
    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blanks.blank_span(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blanks.blank_span(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blanks.blank_span(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blanks.blank_next(it.expression.span().end, b'!');
    }

    fn visit_ts_instantiation_expression(&mut self, it: &TSInstantiationExpression<'a>) {
        self.visit_expression(&it.expression);
        self.erase_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.refuse(
            it.span,
            "a type before its value cannot be erased: write `value as Type`",
        );
        walk::walk_ts_type_assertion(self, it);
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &TSTypeAliasDeclaration<'a>) {
        self.erase_statement(it.span);
    }

    fn visit_ts_interface_declaration(&mut self, it: &TSInterfaceDeclaration<'a>) {
        self.erase_statement(it.span);
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        if it.declare {
            self.erase_statement(it.span);
        } else {
            self.refuse(it.span, "an enum cannot be erased: write an object");
        }
    }

    fn visit_ts_module_declaration(&mut self, it: &TSModuleDeclaration<'a>) {
        if it.declare {
            self.erase_statement(it.span);
        } else {
            self.refuse(it.span, "a namespace cannot be erased: write an object");
        }
    }

    fn visit_ts_global_declaration(&mut self, it: &TSGlobalDeclaration<'a>) {
        self.erase_statement(it.span);
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        self.refuse(it.span, IMPORTS);
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        self.refuse(it.span, IMPORTS);
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        self.refuse(it.span, EXPORTS);
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        self.refuse(it.span, EXPORTS);
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        self.refuse(it.span, EXPORTS);
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.refuse(it.span, EXPORTS);
    }

    fn visit_ts_namespace_export_declaration(&mut self, it: &TSNamespaceExportDeclaration<'a>) {
        self.refuse(it.span, EXPORTS);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "there are no decorators");
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        if it.declare {
            self.erase_statement(it.span);
        } else {
            walk::walk_variable_declaration(self, it);
        }
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.erase_mark(&it.id, '!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_binding_pattern(&mut self, it: &BindingPattern<'a>) {
        if it.optional {
            self.erase_mark(it, '?');
        }
        walk::walk_binding_pattern(self, it);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blanks.blank_span(it.span);
        self.blanks.blank_next(it.span.end, b',');
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse(
                it.span,
                "a parameter property cannot be erased: assign it in the constructor",
            );
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        // An overload, or declared.
        if it.body.is_none() || it.declare {
            self.erase_statement(it.span);
        } else {
            walk::walk_function(self, it, flags);
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        if let Some(parameters) = &it.type_parameters {
            let parenthesis = it.params.span.start;
            // `return <\nT>() => 1`: no line may end after `return` or `async`.
            if self.blanks.breaks(parameters.span.start, parenthesis) {
                self.blanks.blank(parenthesis, parenthesis + 1);
                self.blanks.put(parameters.span.start, b'(');
            }
        }
        if let Some(result) = &it.return_type {
            let parenthesis = it.params.span.end - 1;
            // `(): {\n} => 1`: nor before the arrow.
            if self.blanks.breaks(parenthesis, result.span.end) {
                self.blanks.blank(parenthesis, parenthesis + 1);
                self.blanks.put(result.span.end - 1, b')');
            }
        }
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.declare {
            self.erase_statement(it.span);
            return;
        }
        if it.r#abstract {
            let at = self.blanks.next(it.span.start);
            self.blanks.blank(at, at + 8);
        }
        walk::walk_class(self, it);
        if let Some(first) = it.implements.first() {
            let before = [
                it.id.as_ref().map(|id| id.span.end),
                it.type_parameters.as_ref().map(|them| them.span.end),
                it.super_class.as_ref().map(|class| class.span().end),
                it.super_type_arguments.as_ref().map(|them| them.span.end),
            ];
            // After all of these, or right after `class`, comes `implements`.
            let before = before
                .into_iter()
                .flatten()
                .max()
                .unwrap_or_else(|| self.blanks.next(it.span.start) + 5);
            let start = self.word_before(before, first.span.start);
            self.blanks.blank(start, it.body.span.start);
        }
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        match it {
            ClassElement::TSIndexSignature(signature) => self.erase_statement(signature.span),
            ClassElement::MethodDefinition(method)
                if method.value.body.is_none() || method.r#type.is_abstract() =>
            {
                self.erase_statement(method.span);
            }
            ClassElement::PropertyDefinition(property)
                if property.declare || property.r#type.is_abstract() =>
            {
                self.erase_statement(property.span);
            }
            ClassElement::AccessorProperty(accessor) if accessor.r#type.is_abstract() => {
                self.erase_statement(accessor.span);
            }
            other => walk::walk_class_element(self, other),
        }
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.erase_modifiers(it.span, &it.key, it.computed);
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        self.erase_modifiers(it.span, &it.key, it.computed);
        walk::walk_property_definition(self, it);
        // `get: Type` must not become the `get` of the next member.
        if let (Some(annotation), None) = (&it.type_annotation, &it.value) {
            self.blanks.put(annotation.span.start, b';');
        }
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.erase_modifiers(it.span, &it.key, it.computed);
        walk::walk_accessor_property(self, it);
    }
}

impl Eraser<'_> {
    /// Blanks the mark after a pattern. Its span may or may not hold the mark
    /// and the type after that.
    fn erase_mark(&mut self, pattern: &BindingPattern<'_>, mark: char) {
        let span = pattern.kind.span();
        let end = pattern
            .type_annotation
            .as_ref()
            .map_or_else(|| self.blanks.next(span.end) + 1, |it| it.span.start);
        let text = self.blanks.text().get(span.start as usize..end as usize);
        if let Some(at) = text.and_then(|text| text.rfind(mark)) {
            let at = span.start + offset(at);
            self.blanks.blank(at, at + 1);
        }
    }

    /// Where the word `implements` begins, which is the next but for closing
    /// parentheses.
    fn word_before(&self, mut at: u32, end: u32) -> u32 {
        loop {
            at = self.blanks.next(at);
            if at >= end || self.blanks.text()[at as usize..].starts_with("implements") {
                return at.min(end);
            }
            at += 1;
        }
    }
}

const IMPORTS: &str = "a program is the body of a function and imports nothing";
const EXPORTS: &str = "a program is the body of a function and exports nothing: return the value";
