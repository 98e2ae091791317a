//! The batches of a run: files are read whole before anything runs, standard
//! input as it comes.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::input::{Agents, Batch, Reader};

/// Batches in their order.
pub(crate) struct Queue {
    parts: VecDeque<Part>,
    calls: Option<u64>,
}

enum Part {
    Read(VecDeque<Batch>),
    Open(Box<Reader>),
}

impl Queue {
    /// Reads every file; a bad one is told before anything runs.
    pub(crate) async fn open(files: &[PathBuf], agents: Arc<Agents>) -> Result<Self, Error> {
        let stdin = [PathBuf::from("-")];
        let files = if files.is_empty() { &stdin } else { files };
        let mut parts = VecDeque::new();
        let mut calls = Some(0);
        for file in files {
            let mut reader = Reader::open(Path::new(file), agents.clone()).await?;
            if file.as_os_str() == "-" {
                parts.push_back(Part::Open(Box::new(reader)));
                calls = None;
                continue;
            }
            let mut batches = VecDeque::new();
            while let Some(batch) = reader.next().await? {
                calls = calls.map(|calls| calls + batch.calls.len() as u64);
                batches.push_back(batch);
            }
            parts.push_back(Part::Read(batches));
        }
        Ok(Self { parts, calls })
    }

    /// How many calls there are, if that is known.
    pub(crate) const fn calls(&self) -> Option<u64> {
        self.calls
    }

    /// How many batches have been read and not been taken.
    pub(crate) fn left(&self) -> u64 {
        let read = self.parts.iter().map(|part| match part {
            Part::Read(batches) => batches.len() as u64,
            Part::Open(_) => 0,
        });
        read.sum()
    }

    /// The next batch that has been read; after a cancellation, when nothing
    /// more is to be waited for.
    pub(crate) fn next_read(&mut self) -> Option<Batch> {
        while let Some(part) = self.parts.front_mut() {
            if let Part::Read(batches) = part
                && let Some(batch) = batches.pop_front()
            {
                return Some(batch);
            }
            self.parts.pop_front();
        }
        None
    }

    /// The next batch.
    ///
    /// # Cancel safety
    ///
    /// Nothing that was read is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>, Error> {
        while let Some(part) = self.parts.front_mut() {
            let next = match part {
                Part::Read(batches) => batches.pop_front(),
                Part::Open(reader) => reader.next().await?,
            };
            if next.is_some() {
                return Ok(next);
            }
            self.parts.pop_front();
        }
        Ok(None)
    }
}
