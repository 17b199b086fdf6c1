//! A file that appears whole or not at all: temporary name, sync, rename.

use std::fs::File;
use std::io::{self, BufWriter, Write};
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
}

/// A file under way. Dropped before [`Output::finish`], it leaves nothing behind.
pub struct Output {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl Output {
    /// Begins a file; its folder is made if need be.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let folder = folder(path);
        let file = std::fs::create_dir_all(&folder)
            .and_then(|()| {
                if path.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                let mut builder = tempfile::Builder::new();
                builder.prefix(".nnuance-").suffix(".part");
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    // Not the private mode of temporary files; the umask still applies.
                    builder.permissions(std::fs::Permissions::from_mode(0o666));
                }
                builder.tempfile_in(&folder)
            })
            .map_err(|error| failed(path, error))?;
        Ok(Self { path: path.to_path_buf(), file: BufWriter::with_capacity(1 << 20, file) })
    }

    /// Brings the file to the disk and gives it its name.
    pub fn finish(self) -> Result<(), OutputError> {
        let Self { path, file } = self;
        let named = file
            .into_inner()
            .map_err(|error| error.into_error())
            .and_then(|file| file.as_file().sync_all().map(|()| file))
            .and_then(|file| file.persist(&path).map_err(|error| error.error))
            .and_then(|_| sync_folder(&folder(&path)));
        named.map_err(|error| failed(&path, error))
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

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let mut output = Output::create(path)?;
    output.write_all(bytes).map_err(|error| output.failed(error))?;
    output.finish()
}

fn folder(path: &Path) -> PathBuf {
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
        io::ErrorKind::IsADirectory => "; it is a folder, name a file in it",
        _ => "",
    };
    OutputError { path: path.to_path_buf(), error, cure }
}
