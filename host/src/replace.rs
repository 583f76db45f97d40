//! Files that are written completely or not at all.
#![forbid(unsafe_code)]

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use tempfile::{Builder, NamedTempFile};

use crate::error::Error;

/// Replaces the file at `path` by the output of `write`, keeping its permissions, or creates a new file with the usual
/// ones.
///
/// The bytes go to a temporary file in the same folder, which is synced and renamed, so a reader sees either the
/// complete old file or the complete new one; if anything fails, the temporary file is removed and the old file is
/// unchanged. On Linux, if the file system supports it, the temporary file has no name until it is complete, so a
/// process that is killed leaves nothing behind either. A symbolic link is followed. Anything but a regular file (a
/// pipe, a device) is written to directly.
///
/// # Errors
/// When `write` fails, or the file cannot be put in place.
pub fn replace_file(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), Error> {
    replace(path, write).map_err(|source| Error::File { path: path.into(), source })
}

fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    match Replacement::begin(path, false)? {
        Some(replacement) => {
            write_through(replacement.temporary.file(), write)?;
            replacement.end()
        }
        None => write_through(&File::options().write(true).open(path)?, write),
    }
}

/// A file written by several writers, each at its own offsets, that finally replaces another one, as in
/// [`replace_file`]. If it is dropped before, nothing is left of it.
pub struct Replacement {
    path: PathBuf,
    target: PathBuf,
    old: Option<Metadata>,
    temporary: Temporary,
}

impl Replacement {
    /// A new file to be put at `path`; until then, writers find it at [`address`](Self::address). With `named`, it has a
    /// name of its own in the same folder, which processes on other machines also see, but which a killed process leaves
    /// behind.
    ///
    /// # Errors
    /// The system's error; also when `path` is not a regular file, or is write-protected.
    pub fn new(path: &Path, named: bool) -> Result<Self, Error> {
        let begun = Self::begin(path, named).and_then(|begun| {
            begun.ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file, as several writers require")
            })
        });
        begun.map_err(|source| Error::File { path: path.into(), source })
    }

    /// `None` unless it is a regular file.
    fn begin(path: &Path, named: bool) -> io::Result<Option<Self>> {
        let old = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory, expected the name of a file"));
            }
            Ok(metadata) if !metadata.is_file() => return Ok(None),
            // Renaming would circumvent the protection.
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "is write-protected"));
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = if old.is_some() { path.canonicalize()? } else { path.to_path_buf() };
        let mode = mode_of(old.as_ref());
        let temporary = match named {
            true => Temporary::named(folder_of(&target), mode)?,
            false => Temporary::new(folder_of(&target), mode)?,
        };
        Ok(Some(Self { path: path.into(), target, old, temporary }))
    }

    /// The path by which other writers open it: processes of this machine or, if it has a name of its own, all that see
    /// the folder.
    pub fn address(&self) -> PathBuf {
        match &self.temporary {
            #[cfg(target_os = "linux")]
            Temporary::Unnamed(file) => {
                use std::os::fd::AsRawFd;
                format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
            }
            Temporary::Named(file) => file.path().to_path_buf(),
        }
    }

    /// The file.
    pub fn file(&self) -> &File {
        self.temporary.file()
    }

    /// Puts the file in place, once all writers have written.
    ///
    /// # Errors
    /// The system's error.
    pub fn finish(self) -> Result<(), Error> {
        let path = self.path.clone();
        self.end().map_err(|source| Error::File { path, source })
    }

    fn end(self) -> io::Result<()> {
        let Self { target, old, temporary, .. } = self;
        if let Some(old) = old {
            temporary.file().set_permissions(old.permissions())?;
        }
        temporary.file().sync_all()?;
        temporary.into_named(folder_of(&target))?.persist(&target)?;
        Ok(())
    }
}

/// Does `work`, which reads a file, changes it and [replaces](replace_file) it, while no other process does so in the same
/// folder; otherwise one would lose the other's changes. Waits for other processes, but no longer than 20 seconds, and only
/// on Linux and if the file system supports locks.
pub fn in_turn<R>(path: &Path, work: impl FnOnce() -> R) -> R {
    #[cfg(target_os = "linux")]
    let _turn = turn(folder_of(path));
    #[cfg(not(target_os = "linux"))]
    let _ = path;
    work()
}

/// A lock on a folder, held as long as the file is open.
#[cfg(target_os = "linux")]
fn turn(folder: &Path) -> Option<File> {
    use rustix::fs::{FlockOperation, flock};
    let folder = File::open(folder).ok()?;
    let begin = Instant::now();
    while flock(&folder, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        if begin.elapsed() > PATIENCE {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Some(folder)
}

/// How long to wait for another process; each takes the time to write one file.
#[cfg(target_os = "linux")]
const PATIENCE: Duration = Duration::from_secs(20);

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Permissions of a new file, before the umask is applied: never more than those of the file it replaces.
fn mode_of(old: Option<&Metadata>) -> u32 {
    #[cfg(unix)]
    if let Some(old) = old {
        use std::os::unix::fs::PermissionsExt;
        return old.permissions().mode() & 0o777;
    }
    let _ = old;
    0o666
}

/// A file that is removed unless it replaces another one.
enum Temporary {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

impl Temporary {
    /// A new file that has these permissions from the start.
    fn new(folder: &Path, mode: u32) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Mode, OFlags};
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            // The system applies the umask, as for any new file.
            let unnamed = rustix::fs::open(folder, flags, Mode::from_raw_mode(mode));
            // It gets its name through /proc.
            if let (Ok(file), true) = (unnamed, Path::new(DESCRIPTORS).is_dir()) {
                return Ok(Self::Unnamed(file.into()));
            }
        }
        Self::named(folder, mode)
    }

    /// The same if the file needs a name.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "modes are of Unix"))]
    fn named(folder: &Path, mode: u32) -> io::Result<Self> {
        let mut builder = Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        builder.tempfile_in(folder).map(Self::Named)
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// The same file with a name, since only a named file can replace another.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only an unnamed file needs the folder"))]
    fn into_named(self, folder: &Path) -> io::Result<NamedTempFile> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => {
                use rustix::fs::{AtFlags, CWD, linkat};
                use std::os::fd::AsRawFd;
                let source = format!("{DESCRIPTORS}/{}", file.as_raw_fd());
                let link = |path: &Path| {
                    linkat(CWD, &source, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
                    file.try_clone()
                };
                Builder::new().make_in(folder, link)
            }
            Self::Named(file) => Ok(file),
        }
    }
}

/// The folder of this process's open files.
#[cfg(target_os = "linux")]
const DESCRIPTORS: &str = "/proc/self/fd";

fn write_through(file: &File, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_half_way_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "old").unwrap();
        let error = replace_file(&path, |file| {
            file.write_all(&[b'n'; 100_000])?;
            Err(io::Error::other("no more"))
        });
        assert!(error.unwrap_err().to_string().ends_with("x: no more"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Even while the temporary file has a name.
    #[cfg(unix)]
    #[test]
    fn nobody_reads_more_than_the_file_that_is_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for mode in [0o600, 0o640, 0o400] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let old = mode_of(fs::metadata(&path).ok().as_ref());
            assert_eq!(old, mode);
            for new in [Temporary::named(folder.path(), old), Temporary::new(folder.path(), old)] {
                let has = new.unwrap().file().metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!(has & !mode, 0, "{has:o} for {mode:o}");
            }
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(mode_of(None), 0o666);
    }
}
