//! Which files a path means: what the names of a checkpoint's files begin with, one of them, a directory with a
//! state file, or a `SavedModel`.

use super::Damage;
use super::stored::Stored;
use super::table::Table;
use crate::error::{Error, Location};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::text;
use tfprof_proto::wire::Value;

/// The files of one checkpoint.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// An index and its data files, by what their names begin with.
    Bundle(PathBuf),
    /// Tables that hold everything.
    Tables(Vec<PathBuf>),
}

#[derive(Debug)]
pub struct Located {
    pub what: Found,
    /// Files that should be there and are not.
    pub damage: Vec<Damage>,
}

/// Whether a path that may be anything means a checkpoint, judged by names and the ends of files.
pub fn is_checkpoint(path: &Path) -> bool {
    if !path.is_file() {
        return !path.is_dir() && locate(path).is_ok();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let data = split_shard(&name).is_some_and(|(stem, _)| stem.strip_suffix(".data").is_some());
    data || name.strip_suffix(".index").is_some() || Stored::open(path).is_ok_and(|file| Table::is_table(&file))
}

pub fn locate(path: &Path) -> Result<Located, Error> {
    if path.is_dir() {
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
        if let Some((stem, _)) = split_shard(&name).and_then(|(stem, shard)| Some((stem.strip_suffix(".data")?, shard)))
        {
            return locate_index(&path.with_file_name(stem));
        }
        let stored = Stored::open(path).map_err(|source| io_error(path, source))?;
        if let (Some((stem, _)), true) = (split_shard(&name), Table::is_table(&stored)) {
            return sharded_tables(&path.with_file_name(stem), path);
        }
        if Table::is_table(&stored) {
            return Ok(Located { what: Found::Tables(vec![path.to_owned()]), damage: Vec::new() });
        }
        if name == "checkpoint" && stored.len() < STATE {
            return from_state(path);
        }
        // As large as a checkpoint, and it may have lost its end.
        return Ok(Located { what: Found::Tables(vec![path.to_owned()]), damage: Vec::new() });
    }
    // The form in which a saver of the first format tells its shards: `model.ckpt-?????-of-00002`.
    if let Some((stem, _)) = name.split_once("-?????-of-") {
        return sharded_tables(&path.with_file_name(stem), path);
    }
    match sharded_tables(path, path) {
        Ok(located) => Ok(located),
        Err(_) => locate_index(path),
    }
}

/// The files that belong to the checkpoint of a path, as far as they are there.
pub fn files(path: &Path) -> Vec<PathBuf> {
    match locate(path) {
        Ok(Located { what: Found::Tables(files), .. }) => files,
        Ok(Located { what: Found::Bundle(prefix), .. }) => {
            let parts = siblings(&prefix).into_iter();
            parts.filter(|(rest, _)| rest == ".index" || rest.starts_with(".data-")).map(|(_, file)| file).collect()
        }
        Err(_) => Vec::new(),
    }
}

fn bundle(prefix: PathBuf) -> Located {
    Located { what: Found::Bundle(prefix), damage: Vec::new() }
}

/// A bundle of which only data files, or nothing, may be there.
fn locate_index(prefix: &Path) -> Result<Located, Error> {
    let index = with_suffix(prefix, ".index");
    if index.is_file() {
        return Ok(bundle(prefix.to_owned()));
    }
    let message = if siblings(prefix).iter().any(|(rest, _)| rest.starts_with(".data-")) {
        "the data files are there, but their index is missing; nothing can be read without it"
    } else {
        "no checkpoint is here; expected this file, or P.index, or P-00000-of-0000N for --checkpoint_path=P"
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

/// State files are small.
const STATE: u64 = 16 << 20;

/// The latest checkpoint that a state file names.
fn from_state(state: &Path) -> Result<Located, Error> {
    let stored = Stored::open(state).map_err(|source| io_error(state, source))?;
    let bytes = stored.read(0, stored.len().min(STATE))?;
    let mut latest = Latest(None);
    // A state file that is damaged behind the first path has said enough.
    let read = text::read(&mut &bytes[..], &schema::CHECKPOINT_STATE, &STATE_LAYOUT, &mut latest);
    let Some(name) = latest.0.filter(|name| !name.is_empty()) else {
        let why = if read.is_err() { "; it is no text" } else { "" };
        return Err(input_error(state, &format!("this state file names no checkpoint{why}")));
    };
    let dir = state.parent().unwrap_or(Path::new(""));
    let named = dir.join(&name);
    if named.file_name().is_none() || named == state {
        return Err(input_error(state, &format!("this state file names `{name}`, which is no checkpoint")));
    }
    // A directory that was copied from elsewhere still names the files of its old home.
    let moved = dir.join(Path::new(&name).file_name().unwrap_or_default());
    let candidates = [named.clone(), moved];
    let found = candidates
        .iter()
        .filter(|path| !path.is_dir() && path.file_name() != Some("checkpoint".as_ref()))
        .find_map(|path| locate(path).ok());
    found.ok_or_else(|| input_error(state, &format!("this state file names `{name}`, which is not there")))
}

static STATE_LAYOUT: Layout = Layout { fields: &[(1, Rule::Take(1))] };

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

/// The tables `STEM-00000-of-0000N`. `asked` is what the user named.
fn sharded_tables(stem: &Path, asked: &Path) -> Result<Located, Error> {
    let mut shards: Vec<(u32, u32, PathBuf)> = siblings(stem)
        .into_iter()
        .filter_map(|(rest, path)| shard_of(&rest).map(|(shard, of)| (of, shard, path)))
        .collect();
    shards.sort();
    // Of several sets the one that was named, else the one of most shards, which sorts last.
    let named = shards.iter().find(|(.., path)| path == asked).map(|(of, ..)| *of);
    let pattern = asked.to_string_lossy().rsplit_once("-?????-of-").and_then(|(_, of)| of.parse().ok());
    let Some(of) = named.or(pattern).or(shards.last().map(|(of, ..)| *of)) else {
        return Err(input_error(asked, "no checkpoint is here"));
    };
    shards.retain(|(each, ..)| *each == of);
    if shards.is_empty() {
        return Err(input_error(asked, "no checkpoint is here"));
    }
    let mut damage = Vec::new();
    let mut have = shards.iter().map(|(_, shard, _)| *shard).peekable();
    // A number of shards that is a lie shall not cost time.
    for shard in 0..of.min(100_000) {
        if have.next_if_eq(&shard).is_none() {
            let file = with_suffix(stem, &format!("-{shard:05}-of-{of:05}")).display().to_string();
            let what = "this shard is missing; the tensors that only it has are not listed".to_owned();
            damage.push(Damage { file, offset: None, tensor: None, what });
        }
    }
    let files = shards.into_iter().map(|(.., path)| path).collect();
    Ok(Located { what: Found::Tables(files), damage })
}

/// `STEM-00001-of-00003` in two.
fn split_shard(name: &str) -> Option<(&str, (u32, u32))> {
    let at = name.len().checked_sub("-00000-of-00000".len()).filter(|at| name.is_char_boundary(*at))?;
    Some((&name[..at], shard_of(&name[at..])?))
}

/// `-00001-of-00003` is shard 1 of 3.
pub fn shard_of(rest: &str) -> Option<(u32, u32)> {
    let (shard, of) = rest.strip_prefix('-')?.split_once("-of-")?;
    let number = |digits: &str| {
        let all = digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| all)
    };
    Some((number(shard)?, number(of)?))
}

/// The files whose paths begin with `prefix`: what follows it, and the path.
fn siblings(prefix: &Path) -> Vec<(String, PathBuf)> {
    let whole = prefix.to_string_lossy().ends_with('/');
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

/// A path with something appended to its last part.
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
        check("model.ckpt-00001-of-00003", Some(("model.ckpt", (1, 3))));
        check("m.data-00000-of-00001", Some(("m.data", (0, 1))));
        check("m-0001-of-00003", None);
        check("model.ckpt", None);
        assert_eq!(shard_of("-100000-of-100001"), Some((100_000, 100_001)));
    }
}
