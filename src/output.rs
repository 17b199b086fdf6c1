//! A file that appears whole or not at all: temporary name, sync, rename.
//!
//! What is no regular file, a device or a named pipe, is written into: to take its name would
//! destroy it. A temporary file is locked while its writer lives, so that [`sweep`] can tell which
//! ones killed writers left.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {error}{cure}")]
pub struct OutputError {
    path: PathBuf,
    error: io::Error,
    cure: &'static str,
}

impl OutputError {
    /// An error on the way to a file of this name, with what may cure it.
    pub fn new(path: &Path, error: io::Error) -> Self {
        failed(path, error)
    }

    /// Whether whoever read has seen enough, as `head` has.
    pub fn is_closed_pipe(&self) -> bool {
        self.error.kind() == io::ErrorKind::BrokenPipe
    }
}

/// A file under way. Dropped before [`Output::finish`], it leaves nothing behind.
pub struct Output {
    path: PathBuf,
    file: BufWriter<Way>,
}

/// Where the bytes go.
enum Way {
    /// To a temporary file, which takes the name of the second one.
    Temporary(NamedTempFile, PathBuf),
    /// Into what is there, opened at the first byte: to open a pipe and close it again would end
    /// what its reader reads.
    There(PathBuf, Option<File>),
    Standard(Stdout),
}

impl Output {
    /// Begins a file; its folder is made if need be. A link stays, and what it leads to is
    /// replaced.
    ///
    /// # Errors
    /// Also for `-`, which is no name: see [`Output::stream`].
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let way = if path == Path::new(STANDARD) {
            let reason = "standard output is not for this; name a file (./- for one of that name)";
            Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
        } else {
            begin(path)
        };
        Self::over(path, way)
    }

    /// The same where standard output may be meant, see [`is_standard`].
    pub fn stream(path: &Path) -> Result<Self, OutputError> {
        if is_standard(path) {
            return Self::over(path, Ok(Way::Standard(io::stdout())));
        }
        Self::create(path)
    }

    fn over(path: &Path, way: io::Result<Way>) -> Result<Self, OutputError> {
        let way = way.map_err(|error| failed(path, error))?;
        Ok(Self { path: path.to_path_buf(), file: BufWriter::with_capacity(1 << 20, way) })
    }

    /// Brings the file to the disk and gives it its name.
    pub fn finish(self) -> Result<(), OutputError> {
        let Self { path, file } = self;
        let finished = file.into_inner().map_err(|error| error.into_error()).and_then(Way::finish);
        finished.map_err(|error| failed(&path, error))
    }

    /// The name it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error of a write to this file, with its name.
    pub fn failed(&self, error: io::Error) -> OutputError {
        failed(&self.path, error)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Way {
    fn finish(self) -> io::Result<()> {
        match self {
            Way::Temporary(file, path) => {
                file.as_file().sync_all()?;
                file.persist(&path).map_err(|error| error.error)?;
                sync_folder(&folder(&path))
            }
            // A device without a disk cannot be synced.
            Way::There(..) => Ok(()),
            Way::Standard(mut out) => out.flush(),
        }
    }
}

impl Write for Way {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            // Its own `write` names the temporary file in errors.
            Way::Temporary(file, _) => file.as_file().write(bytes),
            Way::There(_, Some(file)) => file.write(bytes),
            Way::There(path, file) => {
                file.insert(OpenOptions::new().write(true).open(path)?).write(bytes)
            }
            Way::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Way::Temporary(file, _) => file.flush(),
            Way::There(..) => Ok(()),
            Way::Standard(out) => out.flush(),
        }
    }
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let mut output = Output::create(path)?;
    output.write_all(bytes).map_err(|error| output.failed(error))?;
    output.finish()
}

/// The name of standard output.
const STANDARD: &str = "-";

/// Whether a path is standard output: `-`, or its device.
pub fn is_standard(path: &Path) -> bool {
    [STANDARD, "/dev/stdout"].iter().any(|name| path == Path::new(name))
}

/// Whether something is there that is neither a regular file nor a folder, such as a device or a
/// pipe: it can be written into, but not replaced.
pub fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Whether a file is there, or will be once the folders on its way are made: `new/../a` is `a`.
pub fn is_there(path: &Path) -> bool {
    resolved(path).exists()
}

/// Whether two paths lead to one file, by links or other spellings, also where the file is not
/// there yet.
pub fn same(one: &Path, other: &Path) -> bool {
    resolved(one) == resolved(other) || is_linked(one, other)
}

/// A path without links, as far as its folders are there.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(whole) = path.canonicalize() {
        return whole;
    }
    match (path.file_name(), path.parent()) {
        (Some(name), Some(_)) => resolved(&folder(path)).join(name),
        // It ends in `..`, behind a folder that is yet to be made.
        (None, Some(folder)) => resolved(folder).parent().unwrap_or(folder).to_path_buf(),
        (_, None) => path.to_path_buf(),
    }
}

/// Whether two names are hard links to one file.
#[cfg(unix)]
fn is_linked(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |path: &Path| path.metadata().ok().map(|it| (it.dev(), it.ino()));
    number(one).is_some_and(|one| number(other) == Some(one))
}

#[cfg(not(unix))]
fn is_linked(_: &Path, _: &Path) -> bool {
    false
}

const PREFIX: &str = ".nnuance-";
const SUFFIX: &str = ".part";

/// Removes the temporary files in a folder whose writers were killed, and tells which they were.
/// Those that are being written stay, whoever writes them.
pub fn sweep(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut gone = Vec::new();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        if !ours || !entry.file_type().is_ok_and(|it| it.is_file()) {
            continue;
        }
        let file = OpenOptions::new().read(true).write(true).open(entry.path());
        // Locked until it is gone: its writer must not be one that has just begun.
        if file.is_ok_and(|it| it.try_lock().is_ok() && std::fs::remove_file(entry.path()).is_ok())
        {
            gone.push(entry.path());
        }
    }
    gone
}

fn begin(path: &Path) -> io::Result<Way> {
    std::fs::create_dir_all(folder(path))?;
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if is_device(path) {
        return Ok(Way::There(path.to_path_buf(), None));
    }
    let target = match path.symlink_metadata() {
        Ok(it) if it.is_symlink() => path.canonicalize().unwrap_or_else(|_| path.to_path_buf()),
        _ => path.to_path_buf(),
    };
    Ok(Way::Temporary(temporary(&folder(&target))?, target))
}

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Not the private mode of temporary files; the umask still applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    loop {
        let file = builder.tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // A sweep came between, and took it for one that was left.
            Err(TryLockError::WouldBlock) => {}
            Ok(()) if !file.path().exists() => {}
            // Some network drives know no locks: there nothing is ever swept.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

/// The folder of a file.
pub fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The rename itself must survive a power cut; only Unix can sync a folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn failed(path: &Path, error: io::Error) -> OutputError {
    let cure = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a folder that you may write to"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space",
        io::ErrorKind::FileTooLarge => {
            "; files may not become so large here, see `ulimit -f` and the file system"
        }
        io::ErrorKind::IsADirectory => "; it is a folder, name a file in it",
        _ => "",
    };
    OutputError { path: path.to_path_buf(), error, cure }
}
