//! Files that tfprof does not read, named for what they are, each with the next step. [`KINDS`] is the one list: the
//! content decides, then the name. Files that stand for others, such as pointers of git-LFS, are among them.

mod content;

use content::{Archive, contains, has_ending, is_readable};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A kind of file that tfprof does not read.
#[derive(Debug)]
struct Kind {
    /// With its article.
    name: &'static str,
    /// The next step, which must work today; `FILE` stands for the path.
    next: &'static str,
    test: Test,
    /// Whether tfprof reads it: such a file is named only where it cannot be used.
    ours: bool,
}

/// How a kind is recognized.
#[derive(Debug)]
enum Test {
    /// It starts with one of these.
    Starts(&'static [&'static [u8]]),
    /// The first bytes tell.
    Head(fn(&[u8]) -> bool),
    /// JSON, and the first bytes tell which.
    Json(fn(&[u8]) -> bool),
    /// A zip archive, and its first entries tell which.
    Zip(fn(&Archive<'_>) -> bool),
    /// The end of the name.
    Name(&'static [&'static str]),
    /// Text, and the end of the name.
    TextName(&'static [&'static str]),
    /// Text, by its first bytes. It might still be a message in text format.
    Text(fn(&[u8]) -> bool),
}

impl Test {
    /// Whether no format that tfprof reads starts like this.
    fn is_sure(&self) -> bool {
        !matches!(self, Test::Name(_) | Test::Text(_))
    }

    fn fits(&self, head: &[u8], file: &str) -> bool {
        match self {
            Test::Starts(starts) => starts.iter().any(|start| head.starts_with(start)),
            Test::Head(is) => is(head),
            Test::Json(is) => content::is_json(head) && is(head),
            Test::Zip(is) => Archive::of(head).is_some_and(|archive| is(&archive)),
            Test::Name(endings) => endings.iter().any(|ending| has_ending(file, ending)),
            Test::TextName(endings) => endings.iter().any(|ending| has_ending(file, ending)) && is_readable(head),
            Test::Text(is) => is_readable(head) && is(head),
        }
    }
}

const COST: &str = "ask `tfprof cost FILE`";
const NO_TORCH: &str = "tfprof does not read PyTorch yet: `torch.utils.flop_counter.FlopCounterMode` counts its FLOPs, \
                        `torch.profiler` its time";
const FROM_TENSORFLOW: &str =
    "tfprof does not read it yet; if it was made from a SavedModel or a Keras model, name that one";
const PERFETTO: &str = "tfprof does not read it yet; open it at https://ui.perfetto.dev";
const RECORD: &str = "record a run with `jax.profiler.trace(\"DIR\")` or `tf.profiler.experimental.start(\"DIR\")`, then ask `tfprof info DIR`";
const WEIGHTS: &str = "it has tensors but no graph, and tfprof does not read it";
const CHECKPOINT: &str = "`tfprof checkpoint FILE` lists its tensors";
const OTHER: &str = "tfprof reads models, profiles and checkpoints (tfprof help inputs)";
const UNPACK: &str = "unpack it, and name what is in it";

/// All kinds, special before general: models, traces, weights, then everything else.
const KINDS: &[Kind] = &[
    kind(
        "a git-LFS pointer to a fileSIZE, not the file",
        "fetch it with `git lfs pull`",
        Test::Starts(&[b"version https://git-lfs.github.com/spec/"]),
    ),
    kind(
        "a message that TensorFlow split into chunks (.cpb)",
        "load it with TensorFlow and save it as one file",
        Test::Starts(&[&[0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f]]),
    ),
    ours(
        "a Keras model (.keras)",
        COST,
        Test::Zip(|zip| zip.has("config.json") && (zip.has("metadata.json") || zip.has("model.weights.h5"))),
    ),
    ours(
        "a weights file of Keras (.weights.h5), without the layers",
        CHECKPOINT,
        Test::Head(|head| content::is_hdf5(head) && !contains(head, b"model_config") && contains(head, b"\0vars\0")),
    ),
    ours("a Keras model (.h5)", COST, Test::Head(|head| content::is_hdf5(head) && contains(head, b"model_config"))),
    ours("an HDF5 file (.h5)", CHECKPOINT, Test::Head(content::is_hdf5)),
    kind("a Core ML model (.mlmodel)", FROM_TENSORFLOW, Test::Head(content::is_core_ml)),
    kind(
        "a TensorFlow.js model",
        FROM_TENSORFLOW,
        Test::Json(|head| contains(head, b"\"modelTopology\"") || contains(head, b"\"weightsManifest\"")),
    ),
    kind(
        "an OpenVINO model",
        FROM_TENSORFLOW,
        Test::Head(|head| content::is_xml(head) && contains(head, b"<net name")),
    ),
    kind("a PyTorch file", NO_TORCH, Test::Zip(content::is_torch)),
    kind("a PyTorch file", NO_TORCH, Test::Starts(&[TORCH_LEGACY])),
    ours("the layers of a Keras model as JSON", COST, Test::Json(content::is_keras_json)),
    kind("a llama.cpp model (GGUF)", WEIGHTS, Test::Starts(&[b"GGUF"])),
    kind("an XLA program (MLIR bytecode)", RECORD, Test::Starts(&[b"ML\xefR"])),
    kind("an XLA program (HLO as text)", RECORD, Test::Starts(&[b"HloModule "])),
    kind("an XLA program (MLIR as text)", RECORD, Test::Text(content::is_mlir)),
    kind("an XLA program (HloProto)", RECORD, Test::Name(&[".hlo_proto.pb", ".hlo.pb"])),
    // Traces and profiles.
    kind(
        "a memory timeline of PyTorch (export_memory_timeline)",
        "tfprof reads the trace itself: record with `profile_memory=True`, `prof.export_chrome_trace(\"trace.json\")`, then \
         ask `tfprof op trace.json -select bytes`",
        Test::Json(content::is_memory_timeline),
    ),
    kind(
        "an execution trace of PyTorch (ExecutionTraceObserver)",
        "it has no times; tfprof reads the trace that `prof.export_chrome_trace(\"trace.json\")` writes",
        Test::Json(|head| contains(head, b"\"schema\"") && contains(head, b"\"nodes\"")),
    ),
    kind(
        "a trace of rocprof",
        "tfprof does not read it; record with torch.profiler, and name the trace that it exports",
        Test::Json(|head| contains(head, b"\"rocprofiler-sdk-tool\"")),
    ),
    kind(
        "a speedscope profile",
        "open it at https://www.speedscope.app",
        Test::Json(|head| contains(head, b"speedscope.app/file-format-schema.json")),
    ),
    kind(
        "a pprof profile",
        "tfprof does not read it; open it with `go tool pprof -http=: FILE`",
        Test::Head(content::is_pprof),
    ),
    kind("a Perfetto trace", PERFETTO, Test::Name(&[".pftrace", ".perfetto-trace"])),
    kind(
        "a TensorBoard event file",
        "it has summaries, not times of ops; name the log directory if it also holds plugins/profile, else record a run with \
         `tf.profiler.experimental.start(\"DIR\")` and ask `tfprof info DIR`",
        Test::Head(content::is_event_file),
    ),
    kind(
        "a result that TensorBoard or XProf saved",
        "name the .xplane.pb beside it",
        Test::Name(&[
            ".op_stats.pb",
            ".overview_page.pb",
            ".input_pipeline.pb",
            ".tensorflow_stats.pb",
            ".kernel_stats.pb",
            ".memory_profile.json",
            ".pod_viewer.json",
        ]),
    ),
    kind(
        "a profile of NVIDIA Nsight",
        "tfprof does not read it; open it with Nsight",
        Test::Name(&[".nsys-rep", ".qdrep", ".ncu-rep"]),
    ),
    // Weights and other parts of models.
    ours("a safetensors file", CHECKPOINT, Test::Head(content::is_safetensors)),
    kind(
        "a part of an Orbax checkpoint",
        "tfprof does not read it; it reads checkpoints of TensorFlow",
        Test::Name(&["manifest.ocdbt", "_CHECKPOINT_METADATA", "_METADATA"]),
    ),
    kind(
        "a part of a SavedModel",
        "name its directory, which holds saved_model.pb",
        Test::Name(&["fingerprint.pb", "keras_metadata.pb"]),
    ),
    kind("a file of TFRecords", OTHER, Test::Name(&[".tfrecord", ".tfrecords"])),
    kind("an archive of NumPy arrays (.npz)", WEIGHTS, Test::Zip(|zip| zip.ends(".npy"))),
    kind("a NumPy array (.npy)", WEIGHTS, Test::Starts(&[b"\x93NUMPY"])),
    kind(
        "the settings of a Hugging Face model",
        "it has no graph; tfprof reads SavedModels, and no PyTorch or safetensors yet",
        Test::Json(|head| contains(head, b"\"architectures\"") && contains(head, b"\"model_type\"")),
    ),
    kind(
        "a Python pickle",
        "tfprof never loads pickles, which can run code; if it is a Keras model, `model.export(\"DIR\")` \
         makes a SavedModel",
        Test::Head(content::is_pickle),
    ),
    // Everything else.
    kind(
        "a Jupyter notebook",
        OTHER,
        Test::Json(|head| contains(head, b"\"cell_type\"") || contains(head, b"\"nbformat\"")),
    ),
    kind(
        "an answer of tfprof as JSON",
        "name the files that it was asked about",
        Test::Json(|head| head.starts_with(b"{\"version\":1,\"command\":")),
    ),
    kind("a JSON file", OTHER, Test::Json(|_| true)),
    kind(
        "a web page, perhaps an error page that was saved as the file",
        "download the file again, from the link of the file itself",
        Test::Head(content::is_html),
    ),
    kind("an SVG picture", OTHER, Test::Head(|head| content::is_xml(head) && contains(head, b"<svg"))),
    kind("an XML file", OTHER, Test::Head(content::is_xml)),
    kind("a PNG picture", OTHER, Test::Starts(&[b"\x89PNG\r\n\x1a\n"])),
    kind("a JPEG picture", OTHER, Test::Starts(&[b"\xff\xd8\xff"])),
    kind("a GIF picture", OTHER, Test::Starts(&[b"GIF87a", b"GIF89a"])),
    kind("a WebP picture", OTHER, Test::Head(|head| head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP"))),
    kind("a program or a library (ELF)", OTHER, Test::Starts(&[b"\x7fELF"])),
    kind(
        "a program or a library (Mach-O)",
        OTHER,
        Test::Starts(&[
            b"\xcf\xfa\xed\xfe",
            b"\xce\xfa\xed\xfe",
            b"\xfe\xed\xfa\xcf",
            b"\xfe\xed\xfa\xce",
            b"\xca\xfe\xba\xbe",
        ]),
    ),
    kind("a program or a library (PE)", OTHER, Test::Head(content::is_pe)),
    kind("compiled Python (.pyc)", OTHER, Test::Head(|head| head.get(1..4) == Some(b"\x0d\x0d\x0a"))),
    kind("a static library (.a)", OTHER, Test::Starts(&[b"!<arch>\n"])),
    kind("a PDF document", OTHER, Test::Starts(&[b"%PDF-"])),
    kind("a Parquet table", OTHER, Test::Starts(&[b"PAR1"])),
    kind("an Arrow table", OTHER, Test::Starts(&[b"ARROW1\0\0", b"FEA1"])),
    kind("an SQLite database", OTHER, Test::Starts(&[b"SQLite format 3\0"])),
    kind("a zip archive", UNPACK, Test::Starts(&[b"PK\x03\x04", b"PK\x05\x06"])),
    kind("a tar archive", UNPACK, Test::Head(content::is_tar)),
    kind("a 7z archive", UNPACK, Test::Starts(&[b"7z\xbc\xaf\x27\x1c"])),
    kind("a file that zstd compressed", UNPACK, Test::Starts(&[&[0x28, 0xb5, 0x2f, 0xfd]])),
    kind("a file that xz compressed", UNPACK, Test::Starts(&[b"\xfd7zXZ\0"])),
    kind(
        "a file that bzip2 compressed",
        UNPACK,
        Test::Head(|head| head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY")),
    ),
    kind("Python source code", OTHER, Test::TextName(&[".py"])),
    kind("a YAML file", OTHER, Test::TextName(&[".yaml", ".yml"])),
    kind("a CSV table", OTHER, Test::TextName(&[".csv", ".tsv"])),
    kind("Python source code", OTHER, Test::Text(content::is_python)),
    kind("a CSV table", OTHER, Test::Text(content::is_csv)),
    kind("plain text", OTHER, Test::Text(content::is_prose)),
];

/// The magic number at the start of a pickle that `torch.save` wrote before it used zip archives.
const TORCH_LEGACY: &[u8] = &[0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];

const fn kind(name: &'static str, next: &'static str, test: Test) -> Kind {
    Kind { name, next, test, ours: false }
}

/// A kind that tfprof reads, but not where it was given.
const fn ours(name: &'static str, next: &'static str, test: Test) -> Kind {
    Kind { ours: true, ..kind(name, next, test) }
}

/// The sentence about a file that starts with `head`, if no format of ours can start like this.
pub fn name(head: &[u8], file: &str) -> Option<String> {
    // Most files of ours start with the tag of a record, or with the name of a field: they need not go through the list.
    let ours = match head.first() {
        None => true,
        Some(0x0a) => !content::is_pprof(head),
        Some(byte) => byte.is_ascii_lowercase() && *byte != b'v' && !content::is_tar(head) && !is_named_text(file),
    };
    let found = if ours { None } else { find(head, file, true) };
    found.filter(|(_, kind)| !kind.ours).map(|(_, kind)| kind.sentence(head, file))
}

/// Whether the name is that of text which no message is stored as.
fn is_named_text(file: &str) -> bool {
    let endings =
        KINDS.iter().filter_map(|kind| if let Test::TextName(endings) = kind.test { Some(endings) } else { None });
    endings.flatten().any(|ending| has_ending(file, ending))
}

/// Whether the text of `model.to_json()` starts like this.
pub fn is_keras_json(head: &[u8]) -> bool {
    content::is_json(head) && content::is_keras_json(head)
}

/// The sentence about text that no flag can read.
pub fn text(head: &[u8]) -> Option<String> {
    is_readable(head).then(|| format!("this is plain text; {OTHER}"))
}

/// The sentence about a file that is none of ours, so that a guess will do, and its place among all kinds.
pub fn guess(head: &[u8], file: &str) -> Option<(usize, String)> {
    let trimmed = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let found = find(head, file, true).or_else(|| find(trimmed, file, false));
    found.map(|(at, kind)| (at, kind.sentence(trimmed, file)))
}

/// The same for a file, plain or gzipped.
pub fn of_path(path: &Path) -> Option<(usize, String)> {
    let (mut head, mut plain) = (Vec::new(), Vec::new());
    File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    if head.starts_with(&[0x1f, 0x8b]) {
        // The head ends within the compressed data.
        let _ = GzDecoder::new(&head[..]).take(HEAD).read_to_end(&mut plain);
        head = plain;
    }
    guess(&head, &path.display().to_string())
}

/// The number of bytes of a file that are examined.
const HEAD: u64 = 64 << 10;

/// The sentence about a file of raw data, if it only stands for that file.
pub fn pointer(path: &Path) -> Option<String> {
    let small = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() <= POINTER as u64);
    let bytes = if small { std::fs::read(path).ok()? } else { return None };
    let kind = KINDS.iter().take(2).find(|kind| kind.test.fits(&bytes, ""))?;
    Some(kind.sentence(&bytes, ""))
}

/// The size of the largest pointer.
const POINTER: usize = 256;

/// Whether a file starts like a trace in JSON, which tfprof reads.
pub fn is_trace(head: &[u8]) -> bool {
    content::is_trace(head)
}

fn find(head: &[u8], file: &str, sure: bool) -> Option<(usize, &'static Kind)> {
    if content::is_trace(head) {
        return None;
    }
    let file = file.strip_suffix(".gz").unwrap_or(file);
    KINDS.iter().enumerate().find(|(_, kind)| (kind.test.is_sure() || !sure) && kind.test.fits(head, file))
}

impl Kind {
    fn sentence(&self, head: &[u8], file: &str) -> String {
        let Kind { name, next, .. } = self;
        let name = name.replace("SIZE", &size_behind(head));
        // A path that needs no quotes in Python or in a shell is ready to paste.
        let is_plain = |c: char| c.is_alphanumeric() || "-_./=:@+".contains(c);
        let path = if file.chars().all(is_plain) && !file.is_empty() { file } else { "FILE" };
        format!("this is {name}; {}", next.replace("FILE", path))
    }
}

/// The size of the file that a pointer stands for: ` of 98765 bytes`.
fn size_behind(head: &[u8]) -> String {
    let text = String::from_utf8_lossy(&head[..head.len().min(POINTER)]);
    let size = text.lines().find_map(|line| line.strip_prefix("size ")?.trim().parse::<u64>().ok());
    size.map(|size| format!(" of {size} bytes")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
