//! Files of plain arrays: HDF5 (alone or within a `.keras` archive) and safetensors. An array whose bytes lie in the file
//! as they are is read by its offset; others (in chunks, compressed, of text) through the HDF5 reader.

use super::catalog::{Contents, Shard, Store, Tensor};
use super::layout::{FileRange, Piece, PieceLocation};
use super::{ByteSource, safetensors};
use crate::budget;
use crate::checkpoint::Damage;
use crate::checkpoint::hdf5::{Dataset, Found, Hdf5, Layout};
use crate::checkpoint::zip::{self, Zip};
use crate::error::Error;
use crate::hash::UntrustedMap;
use crate::model::dtype::DType;
use std::path::Path;

/// Files of arrays, and the HDF5 file that is not read by offsets alone.
#[derive(Debug, Default)]
pub struct Arrays {
    pub files: Vec<Shard>,
    pub hdf5: Option<Hdf5>,
    pub datasets: Vec<Dataset>,
}

/// Collects the tensors of such files.
#[derive(Debug)]
pub struct ArrayLister<'d> {
    tensors: Vec<Tensor>,
    pieces: Vec<Piece>,
    arrays: Arrays,
    pub damage: &'d mut Vec<Damage>,
}

/// The weights within a `.keras` archive.
pub const KERAS_WEIGHTS: &str = "model.weights.h5";

/// Lists the arrays of an HDF5 file, or of the weights in a `.keras` archive.
pub(super) fn list_hdf5(source: ByteSource, path: &Path, damage: &mut Vec<Damage>) -> Result<Contents, Error> {
    let mut lister = ArrayLister::new(damage);
    lister.add_file(Shard { path: path.to_owned(), length: Some(source.len()) });
    let (source, in_place) = hdf5_source(source)?;
    let file = Hdf5::open(source)?;
    let mut names = LayerNames::default();
    for found in file.datasets(lister.damage)? {
        lister.add_dataset(&file, found, in_place, &mut names);
    }
    lister.arrays.hdf5 = Some(file);
    Ok(lister.finish())
}

/// The HDF5 file itself, and whether its bytes are those of the file on disk.
fn hdf5_source(source: ByteSource) -> Result<(ByteSource, bool), Damage> {
    if !source.read(0, 4.min(source.len()))?.starts_with(zip::SIGNATURE) {
        return Ok((source, true));
    }
    let archive = Zip::open(source)?;
    let Some(entry) = archive.find(KERAS_WEIGHTS) else {
        let names: Vec<_> = archive.entries.iter().take(3).map(|entry| super::name_text(&entry.name)).collect();
        let what = format!("this archive has no `{KERAS_WEIGHTS}`; it has {}", names.join(", "));
        return Err(Damage { file: archive.name().to_owned(), offset: None, tensor: None, what, absent: false });
    };
    Ok((archive.source(entry)?, entry.is_stored()))
}

/// Lists the tensors of safetensors files.
pub(super) fn list_safetensors(files: Vec<(ByteSource, &Path)>, damage: &mut Vec<Damage>) -> Result<Contents, Error> {
    let mut lister = ArrayLister::new(damage);
    let single = files.len() == 1;
    for (source, path) in files {
        if let Err(lost) = safetensors::list(&source, path, &mut lister) {
            if single {
                return Err(lost.into());
            }
            lister.damage.push(lost);
        }
    }
    Ok(lister.finish())
}

impl<'d> ArrayLister<'d> {
    fn new(damage: &'d mut Vec<Damage>) -> ArrayLister<'d> {
        ArrayLister { tensors: Vec::new(), pieces: Vec::new(), arrays: Arrays::default(), damage }
    }

    /// Adds a file; returns its number.
    pub fn add_file(&mut self, file: Shard) -> u32 {
        self.arrays.files.push(file);
        self.arrays.files.len() as u32 - 1
    }

    #[allow(clippy::too_many_arguments)]
    pub fn add(
        &mut self,
        name: String,
        readable: Option<String>,
        dtype: DType,
        shape: Vec<i64>,
        bytes: Option<u64>,
        shard: u32,
        location: PieceLocation,
    ) {
        budget::check();
        let first = self.pieces.len() as u32;
        self.pieces.push(Piece { shard, location, slice: Vec::new() });
        self.tensors.push(Tensor { name, readable, dtype, shape, bytes, pieces: first..first + 1 });
    }

    fn add_dataset(&mut self, file: &Hdf5, found: Found, in_place: bool, names: &mut LayerNames) {
        let Found { path, dataset, .. } = &found;
        let dataset = match dataset {
            Ok(dataset) => dataset,
            Err(lost) => return self.damage.push(lost.clone().of(path)),
        };
        let mut dtype = dataset.datatype.dtype();
        // Keras marks numbers that HDF5 has no type for.
        if dtype == DType::VARIANT || dtype.size() == Some(2) {
            let marked = file.text(&found.object, "dtype").ok().flatten();
            if marked.is_some_and(|name| name == b"bfloat16") && dataset.datatype.size == 2 {
                dtype = DType::named("bfloat16").unwrap_or(dtype);
            }
        }
        let bytes = dataset.bytes();
        let location = match (&dataset.layout, bytes) {
            (Layout::Contiguous(Some(offset)), Some(size)) if in_place && dtype.size().is_some() => {
                let offset = file.source.file_offset(*offset);
                let big_endian = dataset.datatype.big_endian;
                PieceLocation::DataFile(FileRange { offset, size, checksum: None, big_endian })
            }
            _ => PieceLocation::Dataset(self.arrays.datasets.len() as u32),
        };
        if let (Layout::Contiguous(Some(offset)), Some(size)) = (&dataset.layout, bytes)
            && offset.checked_add(size).is_none_or(|end| end > file.source.len())
        {
            let left = file.source.len().saturating_sub(*offset);
            let what = format!("{size} bytes run past the end of the file ({left} bytes left); is it truncated?");
            self.damage.push(file.source.damage(*offset, what).of(path));
        }
        let (shape, readable) = (dataset.shape.clone(), names.readable(file, &found));
        let Found { path, dataset, .. } = found;
        if let (PieceLocation::Dataset(_), Ok(dataset)) = (&location, dataset) {
            self.arrays.datasets.push(dataset);
        }
        self.add(path, readable, dtype, shape, bytes, 0, location);
    }

    fn finish(self) -> Contents {
        Contents { tensors: self.tensors, pieces: self.pieces, store: Store::Arrays(self.arrays) }
    }
}

/// The names that Keras 3 gives to layers. Its groups are named by class and number: `layers/dense_1/vars`.
#[derive(Default)]
struct LayerNames(UntrustedMap<u64, Option<String>>);

impl LayerNames {
    /// The layer's name and the number of its variable.
    fn readable(&mut self, file: &Hdf5, found: &Found) -> Option<String> {
        let (group, leaf) = found.path.rsplit_once('/')?;
        let class = group.strip_suffix("/vars")?.rsplit('/').next()?;
        let name = self.0.entry(found.group).or_insert_with(|| {
            let group = file.object(found.group).ok()?;
            let name = file.text(&group, "name").ok()??;
            Some(super::name_text(&name))
        });
        name.as_ref().filter(|name| *name != class).map(|name| format!("{name}/{leaf}"))
    }
}
