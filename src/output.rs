//! Files that are replaced atomically: temporary name, sync, rename. Devices and pipes are written
//! directly; only regular files are replaced.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {error}")]
pub struct OutputError {
    path: PathBuf,
    error: io::Error,
}

impl OutputError {
    pub fn new(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_path_buf(), error }
    }

    /// Whether the reader of a pipe has closed it, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        self.error.kind() == io::ErrorKind::BrokenPipe
    }
}

/// A file being written. A drop before [`Output::commit_file`] removes it.
pub struct Output {
    path: PathBuf,
    file: BufWriter<OutputTarget>,
}

enum OutputTarget {
    Temporary(NamedTempFile, PathBuf),
    Direct(Box<dyn Write + Send>),
}

impl Output {
    /// Creates a file and its folder. The target of a link is replaced, and the link stays. Fails
    /// for `-`, too: see [`Output::create_stream`].
    pub fn create_file(path: &Path) -> Result<Self, OutputError> {
        if path == Path::new(STANDARD) {
            let reason = "standard output is not possible here; name a file (./- for one of that \
                 name)";
            let error = io::Error::new(io::ErrorKind::InvalidInput, reason);
            return Err(OutputError::new(path, error));
        }
        let target = create_target(path).map_err(|error| OutputError::new(path, error))?;
        Ok(Self::over_target(path, target))
    }

    /// Creates a file as [`Output::create_file`] does, or writes to standard output: [`is_standard`].
    pub fn create_stream(path: &Path) -> Result<Self, OutputError> {
        match is_standard(path) {
            true => Ok(Self::over_target(path, OutputTarget::Direct(Box::new(io::stdout())))),
            false => Self::create_file(path),
        }
    }

    fn over_target(path: &Path, target: OutputTarget) -> Self {
        Self { path: path.to_path_buf(), file: BufWriter::with_capacity(1 << 20, target) }
    }

    /// Syncs the file and gives it its final name.
    pub fn commit_file(self) -> Result<(), OutputError> {
        let Self { path, file } = self;
        let finished = file
            .into_inner()
            .map_err(|error| error.into_error())
            .and_then(OutputTarget::commit_target);
        finished.map_err(|error| OutputError::new(&path, error))
    }

    /// Adds the name of this file to an error of a write.
    pub fn name_error(&self, error: io::Error) -> OutputError {
        OutputError::new(&self.path, error)
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

impl OutputTarget {
    fn commit_target(self) -> io::Result<()> {
        match self {
            OutputTarget::Temporary(file, path) => {
                file.as_file().sync_all()?;
                file.persist(&path).map_err(|error| error.error)?;
                // The rename must survive a power cut; only Unix can sync a folder.
                if cfg!(unix) { File::open(parent_folder(&path))?.sync_all() } else { Ok(()) }
            }
            OutputTarget::Direct(mut file) => file.flush(),
        }
    }
}

impl Write for OutputTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            // Its own `write` puts the temporary name into errors.
            OutputTarget::Temporary(file, _) => file.as_file().write(bytes),
            OutputTarget::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn create_target(path: &Path) -> io::Result<OutputTarget> {
    std::fs::create_dir_all(parent_folder(path))?;
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if is_device(path) {
        return Ok(OutputTarget::Direct(Box::new(OpenOptions::new().write(true).open(path)?)));
    }
    let target = if path.is_symlink() { path.canonicalize()? } else { path.to_path_buf() };
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private; this one gets the usual mode, which the umask limits.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let folder = parent_folder(&target);
    remove_unfinished(&folder);
    loop {
        let file = builder.tempfile_in(&folder)?;
        let _ = file.as_file().lock();
        // Another command may have removed it before it was locked.
        if file.path().exists() {
            return Ok(OutputTarget::Temporary(file, target));
        }
    }
}

/// Removes what killed commands left in a folder. Files that are being written are locked.
fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let path = entry.path();
        if name.to_str().is_some_and(|it| it.starts_with(PREFIX) && it.ends_with(SUFFIX))
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(&path);
        }
    }
}

pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let mut output = Output::create_file(path)?;
    output.write_all(bytes).map_err(|error| output.name_error(error))?;
    output.commit_file()
}

const PREFIX: &str = ".nnuance-";
const SUFFIX: &str = ".part";

const STANDARD: &str = "-";

/// Whether a path is standard output: `-`, or its device.
pub fn is_standard(path: &Path) -> bool {
    [STANDARD, "/dev/stdout"].iter().any(|name| path == Path::new(name))
}

/// Whether a path is a device or a pipe, which cannot be replaced.
pub fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Whether two paths lead to the same file, by links or other spellings, even before it exists.
pub fn is_same(left: &Path, right: &Path) -> bool {
    let resolved = |path: &Path| {
        path.canonicalize().or_else(|_| {
            Ok::<_, io::Error>(
                parent_folder(path).canonicalize()?.join(path.file_name().unwrap_or_default()),
            )
        })
    };
    matches!((resolved(left), resolved(right)), (Ok(l), Ok(r)) if l == r) || left == right
}

pub fn parent_folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
