//! `toolfall check`: the pairing checker.

use std::fs::File;
use std::io::{BufReader, Write as _};

use serde::Serialize;
use toolfall::session::check::{Audit, Finding};
use toolfall::session::{Body, LogReader};

use crate::args::Check;
use crate::error::{Error, chain};

#[derive(Serialize)]
struct Found<'a> {
    r#type: &'static str,
    line: u64,
    problem: &'a str,
}

#[derive(Serialize)]
struct Summary {
    r#type: &'static str,
    records: u64,
    calls: u64,
    results: u64,
    problems: usize,
}

/// Reads the log once, record by record, and tells what is wrong with it.
pub(crate) fn check(args: &Check) -> Result<u8, Error> {
    let name = args.log.display();
    let file = File::open(&args.log)
        .map_err(|error| Error::input(format!("{name}: expected a session log: {error}")))?;
    let mut reader = LogReader::new(BufReader::new(file)).file(&args.log);
    let mut audit = Audit::new();
    let mut problems: Vec<(u64, String)> = Vec::new();
    let (mut records, mut calls, mut results) = (0, 0, 0);
    for line in &mut reader {
        let line = line.map_err(|error| Error::input(chain(&error)))?;
        records += 1;
        match line.record.body {
            Body::Call(_) | Body::DispatchStart(_) => calls += 1,
            Body::Result(_) | Body::Dispatch(_) => results += 1,
            _ => {}
        }
        problems.extend(audit.observe(&line.record).iter().map(told));
    }
    problems.extend(audit.finish().iter().map(told));
    if let Some(torn) = reader.torn() {
        let problem = format!(
            "the last line was never finished ({} bytes)",
            torn.bytes.len()
        );
        problems.push((records + 1, problem));
    }
    problems.sort();
    if !args.quiet {
        let summary = Summary {
            r#type: "summary",
            records,
            calls,
            results,
            problems: problems.len(),
        };
        print(args, &problems, &summary)
            .map_err(|error| Error::own("the findings cannot be printed", &error))?;
    }
    Ok(u8::from(!problems.is_empty()))
}

fn told(finding: &Finding) -> (u64, String) {
    (finding.line, finding.problem.to_string())
}

fn print(args: &Check, problems: &[(u64, String)], summary: &Summary) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let name = args.log.display();
    for (line, problem) in problems {
        if args.json {
            let found = Found {
                r#type: "problem",
                line: *line,
                problem,
            };
            writeln!(out, "{}", serde_json::to_string(&found)?)?;
        } else {
            writeln!(out, "{name}:{line}: {problem}")?;
        }
    }
    if args.json {
        return writeln!(out, "{}", serde_json::to_string(summary)?);
    }
    let Summary { calls, results, .. } = summary;
    match problems.len() {
        0 => writeln!(
            out,
            "{name}: {calls} calls, {results} results: every call has exactly one, in order"
        ),
        1 => writeln!(out, "{name}: {calls} calls, {results} results: 1 problem"),
        many => writeln!(
            out,
            "{name}: {calls} calls, {results} results: {many} problems"
        ),
    }
}
