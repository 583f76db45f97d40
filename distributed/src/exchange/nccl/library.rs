//! The library itself, loaded on demand, and its functions.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::error::Error;

/// A communicator of the library.
pub type RawComm = *mut c_void;

/// The identity by which ranks find each other.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UniqueId(pub [u8; 128]);

/// `ncclConfig_t` as of NCCL 2.17; later versions accept it by its size and version.
#[repr(C)]
pub struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
}

/// A setting left to the library.
const UNDEFINED: c_int = c_int::MIN;

impl Config {
    /// Calls return before they have finished, so that nothing waits for a dead rank.
    pub fn not_blocking() -> Self {
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: 21_700,
            blocking: 0,
            cga_cluster_size: UNDEFINED,
            min_ctas: UNDEFINED,
            max_ctas: UNDEFINED,
            net_name: std::ptr::null(),
            split_share: UNDEFINED,
        }
    }
}

/// `ncclResult_t`.
pub type Status = c_int;
/// Finished.
pub const SUCCESS: Status = 0;
/// Not finished yet.
pub const IN_PROGRESS: Status = 7;
/// `ncclUint8`.
pub const BYTES: c_int = 1;

/// The oldest version whose communicators can be non-blocking, and that accepts this [`Config`].
const OLDEST: c_int = 21_700;

/// File names of the library.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// Declares the functions to be loaded.
macro_rules! functions {
    ($($field:ident = $name:literal ($($argument:ty),*);)*) => {
        /// The functions of a loaded library.
        pub struct Library {
            version: c_int,
            $(pub $field: unsafe extern "C" fn($($argument),*) -> Status,)*
            pub error_string: unsafe extern "C" fn(Status) -> *const c_char,
            // The functions are valid while it is loaded.
            _loaded: libloading::Library,
        }

        impl Library {
            fn of(loaded: libloading::Library) -> Result<Self, String> {
                let missing = |name: &str| format!("the libnccl that is installed has no {name}");
                // SAFETY: the functions have these signatures in all versions of NCCL 2 that have them.
                unsafe {
                    $(let $field = *loaded.get($name).map_err(|_| missing($name))?;)*
                    let error_string =
                        *loaded.get("ncclGetErrorString").map_err(|_| missing("ncclGetErrorString"))?;
                    Ok(Self { version: 0, $($field,)* error_string, _loaded: loaded })
                }
            }
        }
    };
}

functions! {
    get_version = "ncclGetVersion" (*mut c_int);
    get_unique_id = "ncclGetUniqueId" (*mut UniqueId);
    comm_init = "ncclCommInitRankConfig" (*mut RawComm, c_int, UniqueId, c_int, *mut Config);
    comm_error = "ncclCommGetAsyncError" (RawComm, *mut Status);
    comm_finalize = "ncclCommFinalize" (RawComm);
    comm_destroy = "ncclCommDestroy" (RawComm);
    comm_abort = "ncclCommAbort" (RawComm);
    group_start = "ncclGroupStart" ();
    group_end = "ncclGroupEnd" ();
    send = "ncclSend" (*const c_void, usize, c_int, c_int, RawComm, *mut c_void);
    receive = "ncclRecv" (*mut c_void, usize, c_int, c_int, RawComm, *mut c_void);
}

/// Returns the library of this process, or the reason why it cannot be used, on one line.
pub fn library() -> Result<&'static Library, String> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    LIBRARY.get_or_init(|| load(&NAMES)).as_ref().map_err(String::clone)
}

fn load(names: &[&str]) -> Result<Library, String> {
    let loaded = names.iter().find_map(|name| {
        // SAFETY: loading runs the library's own initialization, which has no preconditions.
        unsafe { libloading::Library::new(*name) }.ok()
    });
    let Some(loaded) = loaded else {
        let folder = "LD_LIBRARY_PATH must contain its folder unless it is in the system's search path";
        return Err(format!("{} cannot be loaded; {folder}", names.first().unwrap_or(&"")));
    };
    let mut library = Library::of(loaded)?;
    let mut version = 0;
    // SAFETY: a valid pointer to a number.
    let status = unsafe { (library.get_version)(&mut version) };
    if status != SUCCESS || version < OLDEST {
        return Err(format!("the libnccl that is installed is {}, and 2.17 or newer is needed", in_words(version)));
    }
    library.version = version;
    Ok(library)
}

/// Returns a version in its usual notation.
fn in_words(version: c_int) -> String {
    format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
}

impl Library {
    /// Returns the version, such as 2.28.3.
    pub fn version(&self) -> String {
        in_words(self.version)
    }

    /// Returns an error unless a call has succeeded.
    pub fn check(&self, function: &'static str, status: Status) -> Result<(), Error> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function accepts any number, and returns a static text.
        let text = unsafe { (self.error_string)(status) };
        let reason = match text.is_null() {
            true => format!("error {status}"),
            // SAFETY: a text that ends with a NUL.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        Err(Error::Nccl { function, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_said_in_one_line() {
        let reason = load(&["libnccl-that-is-nowhere.so.2"]).err().unwrap();
        let folder = "LD_LIBRARY_PATH must contain its folder unless it is in the system's search path";
        assert_eq!(reason, format!("libnccl-that-is-nowhere.so.2 cannot be loaded; {folder}"));
        if let Err(reason) = library() {
            assert!(reason.contains("libnccl") && !reason.contains('\n'), "{reason}");
        }
    }

    #[test]
    fn a_library_without_the_functions_is_refused() {
        // The C library exists on every machine that can have this library.
        match load(&["libc.so.6"]) {
            Err(reason) => assert_eq!(reason, "the libnccl that is installed has no ncclGetVersion"),
            Ok(_) => panic!("the C library has NCCL's functions"),
        }
    }

    #[test]
    fn versions_and_the_configuration_match_the_library() {
        assert_eq!(in_words(22_803), "2.28.3");
        assert_eq!((size_of::<Config>(), size_of::<UniqueId>()), (48, 128));
    }
}
