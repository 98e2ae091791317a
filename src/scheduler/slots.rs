//! Places for running futures, each with a waker of its own.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use super::sync::{Arc, AtomicBool, AtomicWaker, Mutex, MutexGuard, Ordering, PoisonError, catch};

/// Which places want to be polled.
#[derive(Default)]
pub(super) struct Ready {
    queue: Mutex<VecDeque<usize>>,
    driver: AtomicWaker,
}

impl Ready {
    pub(super) fn register(&self, cx: &Context<'_>) {
        self.driver.register(cx.waker());
    }

    fn len(&self) -> usize {
        self.lock().len()
    }

    fn pop(&self) -> Option<usize> {
        self.lock().pop_front()
    }

    fn push(&self, place: usize) {
        self.lock().push_back(place);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes one place. In the queue at most once, so the queue is no longer than
/// there are places.
struct PlaceWaker {
    place: usize,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for PlaceWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.ready.push(self.place);
            self.ready.driver.wake();
        }
    }
}

struct Place<F> {
    // The box stays when its future is done, and serves the next one.
    future: Pin<Box<Option<F>>>,
    /// The call that the future belongs to.
    call: usize,
    waker: Waker,
    state: Arc<PlaceWaker>,
}

/// A set of futures that are polled only when they were woken.
pub(super) struct Slots<F> {
    places: Vec<Place<F>>,
    free: Vec<usize>,
    ready: Arc<Ready>,
}

impl<F: Future> Slots<F> {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            ready: Arc::default(),
        }
    }

    pub(super) fn ready(&self) -> &Arc<Ready> {
        &self.ready
    }

    /// Finds a place for `call` and the waker that will wake it.
    pub(super) fn reserve(&mut self, call: usize) -> (usize, Waker) {
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.places.len();
            let state = Arc::new(PlaceWaker {
                place,
                queued: AtomicBool::new(false),
                ready: self.ready.clone(),
            });
            self.places.push(Place {
                future: Box::pin(None),
                call,
                waker: Waker::from(state.clone()),
                state,
            });
            place
        });
        self.places[place].call = call;
        (place, self.places[place].waker.clone())
    }

    /// Puts `future` into a reserved place; it is polled when it is woken, so
    /// poll it once with [`poll_place`](Self::poll_place).
    pub(super) fn put(&mut self, place: usize, future: F) {
        self.places[place].future.set(Some(future));
    }

    /// How many places want to be polled now.
    pub(super) fn woken(&self) -> usize {
        self.ready.len()
    }

    /// The next place that was woken, with its call.
    pub(super) fn next_woken(&mut self) -> Option<(usize, usize)> {
        loop {
            let place = self.ready.pop()?;
            let woken = &self.places[place];
            // A swap, not a store: whoever found the place queued has written
            // what woke it before, and this reads it.
            woken.state.queued.swap(false, Ordering::AcqRel);
            if woken.future.is_some() {
                return Some((place, woken.call));
            }
        }
    }

    /// Polls the future in `place`; the place is free once it is ready.
    pub(super) fn poll_place(&mut self, place: usize) -> Poll<F::Output> {
        let Place { future, waker, .. } = &mut self.places[place];
        let Some(running) = future.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let poll = running.poll(&mut Context::from_waker(waker));
        if poll.is_ready() {
            future.set(None);
            self.free.push(place);
        }
        poll
    }

    /// Lets go of the future in `place`, if it is still there.
    pub(super) fn clear(&mut self, place: usize) {
        // Dropping it is user code.
        let _ = catch(|| self.places[place].future.set(None));
        self.free.push(place);
    }
}
