//! Finds the files of a checkpoint by its prefix, one of its files, a directory with a state file, or a `SavedModel`.
//! Files of plain arrays (HDF5, `.keras`, safetensors) are told by their first bytes.

use super::hdf5::{self, Hdf5};
use super::read::arrays::KERAS_WEIGHTS;
use super::read::safetensors;
use super::zip::{self, Zip};
use super::{ByteSource, Damage, Table};
use crate::error::{Error, Location};
use crate::foreign;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tfprof_proto::fields::checkpoint_state;
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::text;
use tfprof_proto::wire::Value;

/// The files of one checkpoint.
#[derive(Debug, PartialEq, Eq)]
pub enum Files {
    /// The common prefix of an index and its data files.
    Bundle(PathBuf),
    /// Tables with everything.
    Tables(Vec<PathBuf>),
    /// An HDF5 file, or a `.keras` archive with one.
    Hdf5(PathBuf),
    Safetensors(Vec<PathBuf>),
}

#[derive(Debug)]
pub struct Located {
    pub files: Files,
    /// Missing files.
    pub damage: Vec<Damage>,
}

/// Whether a path names a checkpoint, judged by file names and the last bytes of files.
pub fn is_checkpoint(path: &Path) -> bool {
    if !path.is_file() {
        return !path.is_dir() && locate(path).is_ok();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name == "checkpoint" {
        return locate(path).is_ok();
    }
    let data = split_shard(&name).is_some_and(|(stem, _)| stem.strip_suffix(".data").is_some());
    let by_content = |file: ByteSource| Table::is_table(&file) || arrays_in(path, &file).is_some();
    data || name.strip_suffix(".index").is_some() || ByteSource::open(path).is_ok_and(by_content)
}

pub fn locate(path: &Path) -> Result<Located, Error> {
    let is_prefix = !path.to_string_lossy().ends_with(['/', '.']) && with_suffix(path, ".index").is_file();
    if path.is_dir() && !is_prefix {
        return in_directory(path);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if with_suffix(path, ".index").is_file() {
        return Ok(bundle(path.to_owned()));
    }
    if path.is_file() {
        if let Some(stem) = name.strip_suffix(".index") {
            return Ok(bundle(path.with_file_name(stem)));
        }
        if let Some(stem) = split_shard(&name).and_then(|(stem, _)| stem.strip_suffix(".data")) {
            return locate_index(&path.with_file_name(stem));
        }
        let source = ByteSource::open(path).map_err(|source| io_error(path, source))?;
        if let Some(kind) = arrays_in(path, &source) {
            return kind.locate(path, &source);
        }
        if let (Some((stem, _)), true) = (split_shard(&name), Table::is_table(&source)) {
            return sharded_tables(&path.with_file_name(stem), path);
        }
        if Table::is_table(&source) {
            return Ok(Located { files: Files::Tables(vec![path.to_owned()]), damage: Vec::new() });
        }
        if name == "checkpoint" && source.len() < MAX_STATE_SIZE {
            return from_state(path);
        }
        // It may be a table that has lost its end.
        return Ok(Located { files: Files::Tables(vec![path.to_owned()]), damage: Vec::new() });
    }
    // Savers of the first format return shards as a pattern: `model.ckpt-?????-of-00002`.
    if let Some((stem, _)) = name.split_once("-?????-of-") {
        return sharded_tables(&path.with_file_name(stem), path);
    }
    match sharded_tables(path, path) {
        Ok(located) => Ok(located),
        Err(_) => locate_index(path),
    }
}

/// The existing files of the checkpoint at a path.
pub fn files(path: &Path) -> Vec<PathBuf> {
    match locate(path) {
        Ok(Located { files: Files::Tables(files) | Files::Safetensors(files), .. }) => files,
        Ok(Located { files: Files::Hdf5(file), .. }) => vec![file],
        Ok(Located { files: Files::Bundle(prefix), .. }) => {
            let parts = siblings(&prefix).into_iter();
            parts.filter(|(rest, _)| rest == ".index" || rest.starts_with(".data-")).map(|(_, file)| file).collect()
        }
        Err(_) => Vec::new(),
    }
}

/// A file of plain arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrayFile {
    Hdf5,
    Safetensors,
    /// An index of safetensors files.
    Index,
}

/// The bytes that tell which.
const ARRAY_HEAD: u64 = 32;
/// Indexes of shards are smaller than this.
const MAX_INDEX_SIZE: u64 = 256 << 20;

/// Whether a file holds plain arrays, by its first bytes.
fn arrays_in(path: &Path, source: &ByteSource) -> Option<ArrayFile> {
    let head = source.read(0, ARRAY_HEAD.min(source.len())).ok()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let ends = |ending: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
    let is_zip = head.starts_with(zip::SIGNATURE);
    if head.starts_with(hdf5::SIGNATURE) || is_zip && ends("keras") {
        return Some(ArrayFile::Hdf5);
    }
    if is_zip {
        let archive = Zip::open(source.part(0, source.len()).ok()?).ok()?;
        return archive.find(KERAS_WEIGHTS).map(|_| ArrayFile::Hdf5);
    }
    if safetensors::recognizes(&head) {
        return Some(ArrayFile::Safetensors);
    }
    // A user block comes before the signature.
    if (ends("h5") || ends("hdf5")) && Hdf5::find(source).is_some() {
        return Some(ArrayFile::Hdf5);
    }
    let is_index = name.ends_with(".safetensors.index.json") && source.len() < MAX_INDEX_SIZE;
    is_index.then_some(ArrayFile::Index)
}

impl ArrayFile {
    fn locate(self, path: &Path, source: &ByteSource) -> Result<Located, Error> {
        let files = match self {
            ArrayFile::Hdf5 => Files::Hdf5(path.to_owned()),
            ArrayFile::Safetensors => Files::Safetensors(vec![path.to_owned()]),
            ArrayFile::Index => return from_index(path, source),
        };
        Ok(Located { files, damage: Vec::new() })
    }
}

/// The safetensors files that an index names, in its directory.
fn from_index(path: &Path, source: &ByteSource) -> Result<Located, Error> {
    let bytes = source.read(0, source.len())?;
    let names = safetensors::index_files(&bytes).map_err(|what| input_error(path, &what))?;
    let dir = path.parent().unwrap_or(Path::new(""));
    let (mut files, mut damage) = (Vec::new(), Vec::new());
    for name in names {
        let file = dir.join(&name);
        let mut lost = |what: &str| {
            let (file, what) =
                (file.display().to_string(), format!("{what}; the tensors that only it has are not listed"));
            damage.push(Damage { file, offset: None, tensor: None, what, absent: false });
        };
        if !is_within(&file, dir) {
            lost("the index names this file, which is outside of its directory or not there");
        } else if !file.is_file() {
            lost("this shard is missing");
        } else if let Some(pointer) = foreign::pointer(&file) {
            lost(&pointer);
        } else {
            files.push(file);
        }
    }
    if files.is_empty() {
        let first =
            damage.first().map_or("it names no files".to_owned(), |damage| format!("{}: {}", damage.file, damage.what));
        return Err(input_error(path, &format!("none of the files of this index can be read; {first}")));
    }
    Ok(Located { files: Files::Safetensors(files), damage })
}

fn bundle(prefix: PathBuf) -> Located {
    Located { files: Files::Bundle(prefix), damage: Vec::new() }
}

/// A bundle whose index, or everything, may be missing.
fn locate_index(prefix: &Path) -> Result<Located, Error> {
    let index = with_suffix(prefix, ".index");
    if index.is_file() {
        return Ok(bundle(prefix.to_owned()));
    }
    let message = if siblings(prefix).iter().any(|(rest, _)| rest.starts_with(".data-")) {
        "the data files are there, but their index is missing; nothing can be read without it"
    } else {
        "no checkpoint is here; expected this file, or P.index, or P-00000-of-0000N for the prefix P"
    };
    Err(input_error(&index, message))
}

fn in_directory(dir: &Path) -> Result<Located, Error> {
    let state = dir.join("checkpoint");
    if state.is_file() {
        return from_state(&state);
    }
    for prefix in [dir.join("variables/variables"), dir.join("variables")] {
        if with_suffix(&prefix, ".index").is_file() {
            return Ok(bundle(prefix));
        }
    }
    for name in ["model.safetensors.index.json", "model.safetensors", "model.weights.h5"] {
        let file = dir.join(name);
        if file.is_file() {
            return locate(&file);
        }
    }
    let mut indexes: Vec<String> = siblings(&dir.join(""))
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.strip_suffix(".index").is_some())
        .collect();
    indexes.sort();
    match &indexes[..] {
        [index] => Ok(bundle(dir.join(index.trim_end_matches(".index")))),
        [] => Err(input_error(
            dir,
            "no checkpoint is in this directory; expected a state file `checkpoint`, variables/, or P.index",
        )),
        [first, ..] => {
            let first = first.trim_end_matches(".index");
            Err(input_error(
                dir,
                &format!(
                    "{} checkpoints are in this directory, and no state file says which; name one, as `{first}`",
                    indexes.len()
                ),
            ))
        }
    }
}

/// State files are smaller than this.
const MAX_STATE_SIZE: u64 = 16 << 20;

/// The checkpoint that the state file at a path names, wherever that is; without a state file, the path itself.
pub fn followed(path: &Path) -> PathBuf {
    let state = if path.is_dir() { path.join("checkpoint") } else { path.to_owned() };
    let is_state = state.file_name() == Some("checkpoint".as_ref()) && state.is_file();
    let named = is_state.then(|| named_by_state(&state).ok()).flatten();
    named.filter(|named| locate(named).is_ok()).unwrap_or_else(|| path.to_owned())
}

/// The path of the latest checkpoint, as a state file names it.
fn named_by_state(state: &Path) -> Result<PathBuf, Error> {
    let source = ByteSource::open(state).map_err(|source| io_error(state, source))?;
    let bytes = source.read(0, source.len().min(MAX_STATE_SIZE))?;
    let mut latest = Latest(None);
    // The first path is enough: later damage does not matter.
    let read = text::read(&mut &bytes[..], &schema::CHECKPOINT_STATE, &STATE_LAYOUT, &mut latest);
    let Some(name) = latest.0.filter(|name| !name.is_empty()) else {
        if let Some(message) = foreign::name(&bytes, &state.display().to_string()) {
            return Err(input_error(state, &message));
        }
        let why = if read.is_err() { "; it is no text" } else { "" };
        return Err(input_error(state, &format!("this state file names no checkpoint{why}")));
    };
    let named = state.parent().unwrap_or(Path::new("")).join(&name);
    if named.file_name().is_none() || named == state {
        return Err(input_error(state, &format!("this state file names `{name}`, which is no checkpoint")));
    }
    Ok(named)
}

/// The latest checkpoint that a state file names.
fn from_state(state: &Path) -> Result<Located, Error> {
    let named = named_by_state(state)?;
    let dir = state.parent().unwrap_or(Path::new(""));
    // The state file of a copied directory still names the old paths.
    let moved = dir.join(named.file_name().unwrap_or_default());
    let leaves = !is_within(&named, dir);
    let candidates = [named.clone(), moved];
    let found = candidates
        .iter()
        .filter(|path| !leaves || **path != named)
        .filter(|path| path.file_name() != Some("checkpoint".as_ref()))
        // A directory of the same name may lie beside the files.
        .filter(|path| !path.is_dir() || with_suffix(path, ".index").is_file())
        .find_map(|path| locate(path).ok());
    found.ok_or_else(|| {
        let trust = "outside its directory; if you trust it, name that path, or follow it with --follow";
        let what = if leaves { trust } else { "which is not there" };
        let name = named.strip_prefix(dir).unwrap_or(&named).display();
        input_error(state, &format!("this state file names `{name}`, {what}"))
    })
}

/// Whether a path lies within a directory, through links and all: a state file opens no other files.
fn is_within(path: &Path, dir: &Path) -> bool {
    let real = |path: &Path| if path.as_os_str().is_empty() { Path::new(".") } else { path }.canonicalize();
    match (path.parent().map(real), real(dir)) {
        (Some(Ok(parent)), Ok(dir)) => parent.starts_with(dir),
        _ => false,
    }
}

static STATE_LAYOUT: Layout = Layout { fields: &[(checkpoint_state::MODEL_CHECKPOINT_PATH, Rule::Take(1))] };

/// The path of the latest checkpoint in a state file.
struct Latest(Option<String>);

impl Sink for Latest {
    fn take(&mut self, _: Tag, record: Record<'_>) -> ControlFlow<()> {
        if let Value::Bytes(name) = record.value {
            self.0 = Some(String::from_utf8_lossy(name).into_owned());
        }
        ControlFlow::Continue(())
    }

    fn warn(&mut self, _: Spot, _: String) {}
}

/// The tables `STEM-00000-of-0000N`. `asked` is the path that the user named.
fn sharded_tables(stem: &Path, asked: &Path) -> Result<Located, Error> {
    let mut shards: Vec<(ShardNumber, PathBuf)> =
        siblings(stem).into_iter().filter_map(|(rest, path)| Some((shard_of(&rest)?, path))).collect();
    shards.sort();
    // Of several sets, take the one that was named, else the largest, which sorts last.
    let named = shards.iter().find(|(_, path)| path == asked).map(|(number, _)| number.count);
    let pattern = asked.to_string_lossy().rsplit_once("-?????-of-").and_then(|(_, count)| count.parse().ok());
    let Some(count) = named.or(pattern).or(shards.last().map(|(number, _)| number.count)) else {
        return Err(input_error(asked, "no checkpoint is here"));
    };
    shards.retain(|(number, _)| number.count == count);
    if shards.is_empty() {
        return Err(input_error(asked, "no checkpoint is here"));
    }
    let mut damage = Vec::new();
    let mut present = shards.iter().map(|(number, _)| number.index).peekable();
    // An absurd number of shards must not cost time.
    for index in 0..count.min(100_000) {
        if present.next_if_eq(&index).is_none() {
            let file = with_suffix(stem, &format!("-{index:05}-of-{count:05}")).display().to_string();
            let what = "this shard is missing; the tensors that only it has are not listed".to_owned();
            damage.push(Damage { file, offset: None, tensor: None, what, absent: false });
        }
    }
    let files = shards.into_iter().map(|(_, path)| path).collect();
    Ok(Located { files: Files::Tables(files), damage })
}

/// Shard `index` of `count`. Sorts by count first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardNumber {
    pub count: u32,
    pub index: u32,
}

/// Splits `STEM-00001-of-00003`.
fn split_shard(name: &str) -> Option<(&str, ShardNumber)> {
    let at = name.len().checked_sub("-00000-of-00000".len()).filter(|at| name.is_char_boundary(*at))?;
    Some((&name[..at], shard_of(&name[at..])?))
}

/// Parses `-00001-of-00003`.
pub fn shard_of(rest: &str) -> Option<ShardNumber> {
    let (index, count) = rest.strip_prefix('-')?.split_once("-of-")?;
    let number = |digits: &str| {
        let all = digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| all)
    };
    Some(ShardNumber { count: number(count)?, index: number(index)? })
}

/// The files whose paths start with `prefix`: the rest of the name, and the path.
fn siblings(prefix: &Path) -> Vec<(String, PathBuf)> {
    let whole = prefix.to_string_lossy().ends_with(std::path::is_separator);
    let (dir, stem) = if whole {
        (prefix, String::new())
    } else {
        (
            prefix.parent().unwrap_or(Path::new("")),
            prefix.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        )
    };
    let look = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let Ok(entries) = std::fs::read_dir(look) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((name.strip_prefix(&stem)?.to_owned(), dir.join(&name)))).collect()
}

/// Appends to the last component of a path.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn input_error(path: &Path, message: &str) -> Error {
    Error::Input { location: Location { file: path.display().to_string(), spot: None }, message: message.to_owned() }
}

fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { file: path.display().to_string(), action: "cannot open", source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_by_their_names() {
        let check = |name: &str, expect| assert_eq!(split_shard(name), expect, "{name}");
        let number = |index, count| ShardNumber { count, index };
        check("model.ckpt-00001-of-00003", Some(("model.ckpt", number(1, 3))));
        check("m.data-00000-of-00001", Some(("m.data", number(0, 1))));
        check("m-0001-of-00003", None);
        check("model.ckpt", None);
        assert_eq!(shard_of("-100000-of-100001"), Some(number(100_000, 100_001)));
    }
}
