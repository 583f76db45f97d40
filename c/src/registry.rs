//! The objects of handles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::executor::AnyExecutor;
use crate::plan::AnyPlan;
use crate::pointers::{check, write};
use crate::status::{Failure, Status};

/// The object of a handle.
#[derive(Clone)]
pub(crate) enum Object {
    Executor(AnyExecutor),
    Plan(Arc<Mutex<AnyPlan>>),
}

impl Object {
    pub fn plan(plan: AnyPlan) -> Self {
        Self::Plan(Arc::new(Mutex::new(plan)))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Executor(_) => "an executor",
            Self::Plan(_) => "a plan",
        }
    }
}

/// All objects in the order of their handles, which are counted up and never reused: at a million per second, they outlast
/// any machine.
struct Registry {
    last: u64,
    objects: Vec<(u64, Object)>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { last: 0, objects: Vec::new() });

/// The registry is consistent between any two calls, even after a panic.
fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a handle for an object.
fn add(object: Object) -> Result<u64, Failure> {
    let mut registry = registry();
    if registry.objects.try_reserve(1).is_err() {
        return Err(Failure::new(Status::Memory, "out of memory: for a handle"));
    }
    registry.last += 1;
    let id = registry.last;
    registry.objects.push((id, object));
    Ok(id)
}

/// Creates a handle for an object, and writes it to `place`. `place` was checked before the object was made; it is checked
/// again, so that no handle is created that nobody receives.
///
/// # Safety
/// As for [`write`].
pub(crate) unsafe fn give<H>(
    what: &str,
    place: *mut H,
    object: Object,
    handle: impl FnOnce(u64) -> H,
) -> Result<(), Failure> {
    check(what, place, 1)?;
    let id = add(object)?;
    // SAFETY: the caller's promise.
    unsafe { write(what, place, handle(id)) }
}

/// The error for a missing object of this kind.
fn no_object(kind: &str, id: u64, last: u64, other: Option<&Object>) -> Failure {
    let reason = match other {
        Some(object) => format!("handle {id} is that of {}", object.kind()),
        None if id == 0 => "the handle is 0".into(),
        None if id <= last => format!("handle {id} was destroyed"),
        None => format!("handle {id} was never created"),
    };
    Failure::new(Status::Handle, format!("no {kind}: {reason}"))
}

/// The object of a handle, if `pick` accepts it.
pub(crate) fn get<T>(kind: &str, id: u64, pick: impl FnOnce(&Object) -> Option<T>) -> Result<T, Failure> {
    let registry = registry();
    let object = registry.objects.binary_search_by_key(&id, |(id, _)| *id).map(|place| &registry.objects[place].1).ok();
    object.and_then(pick).ok_or_else(|| no_object(kind, id, registry.last, object))
}

/// Destroys a handle whose object is of this kind.
pub(crate) fn remove(kind: &str, id: u64, is_one: impl FnOnce(&Object) -> bool) -> Result<(), Failure> {
    let mut registry = registry();
    let place = registry.objects.binary_search_by_key(&id, |(id, _)| *id).ok();
    let object = place.map(|place| &registry.objects[place].1);
    match place {
        Some(place) if object.is_some_and(is_one) => {
            let removed = registry.objects.remove(place);
            // Freeing memory may take long, and other calls need the registry.
            drop(registry);
            drop(removed);
            Ok(())
        }
        _ => Err(no_object(kind, id, registry.last, object)),
    }
}
